/*
 * check.h - a net on the device against fp64: every layer on its own inputs, and the scores of whole images.
 *
 * A layer may be off by what rounding explains: u (n + 5) (sum |w| |x| + |b|) for n products. Where its result is stored in
 * 16 bits, the rounding of that is added. ReLU makes no error larger.
 *
 * The net's scores may be off, in the relative Frobenius norm, by twice the root of the sum of squares of what the layers
 * add: u sqrt(n) of a sum's n roundings, which have random signs, and two roundings of each number stored in 16 bits. TF32
 * cuts operands toward zero, half a unit each on average, so that its layers add up. Weights scaled to keep the size of
 * activations keep that of errors, too.
 */
#ifndef MOBILENET_CHECK_H
#define MOBILENET_CHECK_H

#include "network.h"

typedef struct net_verdict {
    double worst; /* largest error of a layer over its bound */
    int worst_layer;
    double error, bound; /* of the scores */
    bool
        same_class; /* the highest score is of the same class, or of one that the bound cannot tell from it */
} net_verdict;

/* Runs layer after layer. scores: of model_exact, for the last image. STATUS_WRONG: an error above its bound, a number that is
 * not finite, another class; the text names where. */
enum status network_check(network *net, const double *scores, net_verdict *v, error_text *error);

/* The bound of the scores. */
double scores_bound(const model *m, const variant *v);

#endif
