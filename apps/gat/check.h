/*
 * check.h - whether a network's gradient is the derivative of its loss: by differences of the loss in fp64, which
 * model.c computes another way.
 */
#ifndef GAT_CHECK_H
#define GAT_CHECK_H

#include "network.h"

#include <stdbool.h>

typedef struct verdict {
    bool passed;
    double loss, exact_loss;
    double worst;   /* the largest error as a share of its bound */
    int checked;    /* derivatives that were formed */
    char where[64]; /* that of the largest error: "W of layer 1, along a direction" */
} verdict;

/* How much to check: of each tensor some directions, in which all its elements move by +-h, and some elements alone. */
typedef struct amount {
    int directions, elements;
} amount;

/* Gives the network these parameters, makes its gradient and checks it. */
enum status check_gradient(network *net, const model *m, const graph *g, const float *parameters,
                           amount how_much, uint64_t seed, verdict *v, error_text *error);

#endif
