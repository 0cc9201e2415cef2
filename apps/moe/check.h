/*
 * check.h - a layer of experts on the device against fp64.
 *
 * First exact numbers: the arrangement is looked at entry by entry, and every number of every slot's row must be right to
 * the bit (numbers.h). Then random ones: of some tokens each part is formed again from what the part before has left on the
 * device. So errors do not add up, and a part may be off by what rounding explains.
 *
 *   logits       u (n + 4) sum |x| |w|                                             u = 2^-24, n products
 *   gates        u (experts + 24 + 4 range) of the gate: exp of differences that are rounded, a sum, a quotient
 *   rows         equal to x, or zeros
 *   hidden, y    the same as logits, and one rounding to fp16; cuBLAS may add up in fp16 (baselines/sums_rounded.h)
 *   out          u (chosen + 2) sum |gate| |y|, and one rounding to fp16; of all tokens
 */
#ifndef MOE_CHECK_H
#define MOE_CHECK_H

#include "layer.h"

enum checked { CHECKED_LOGITS, CHECKED_GATES, CHECKED_HIDDEN, CHECKED_Y, CHECKED_OUT, NUM_CHECKED };

const char *checked_name(enum checked c);

typedef struct layer_verdict {
    double worst[NUM_CHECKED]; /* largest error over its bound; NAN: not checked */
    int slots;                 /* whose hidden numbers and y were checked against fp64 */
    int largest,
        without;        /* rows of the fullest expert; experts without tokens: of random numbers */
    double padded_rows; /* of random numbers, those that fill up among them */
} layer_verdict;

/* Runs the layer with both kinds of numbers, and leaves it filled with random ones, all parts run. STATUS_WRONG: the text
 * says what. */
enum status layer_check(layer *l, layer_verdict *v, error_text *error);

/* The largest of worst. */
double verdict_worst(const layer_verdict *v);

/* The share of choices that layers drop whose experts take at most `factor` times the mean: by the counts of the last
 * run. */
double dropped_share(const layer *l, double factor);

#endif
