/*
 * check.h - a layer against fp64: each part from the inputs that it really had.
 *
 * A part's inputs are what the device holds after the part before, so errors do not pile up. Each part has a bound of
 * its own that rounding explains. Exact numbers are formed here and in ops/attention_problem.c, never by kernels.
 * Rows are all of the sequence up to 256 tokens, else 64 of them, the first and the last among them; every column of
 * those is checked.
 */
#ifndef SPARSE_TRANSFORMER_CHECK_H
#define SPARSE_TRANSFORMER_CHECK_H

#include "model.h"

enum checked {
    CHECKED_NORM,
    CHECKED_QKV,
    CHECKED_ATTENTION,
    CHECKED_MASKED, /* dense attention with the sparse model's mask, on its inputs */
    CHECKED_PROJECTION,
    CHECKED_UP,
    CHECKED_BIAS,
    CHECKED_DOWN,
    NUM_CHECKED
};

const char *checked_name(enum checked what);

/* Largest error over its bound, a part: at most 1 where all is right, infinite where a number is none; -1: not
 * checked. */
typedef struct verdict {
    double worst[NUM_CHECKED];
    int row[NUM_CHECKED]; /* where that is */
    int first; /* enum checked: the first part, in the order of the layer, that is wrong; -1: none */
} verdict;

/* Runs the first layer of the model and checks it. `pattern`: which keys each query attends to. STATUS_WRONG, with the
 * part and the row in the message, where an error passes its bound; v is filled then, too. */
enum status check_layer(model *m, uint64_t seed, const csr_matrix *pattern, verdict *v,
                        error_text *error);

/* Largest error over its bound of O [rows][heads][d], attention of these host arrays by the pattern, formed in that
 * precision; *row is where it is. -1: no memory. Q, K and V are rounded to it first. */
double check_attention(const csr_matrix *pattern, enum precision precision, int heads, int d,
                       float *Q, float *K, float *V, const float *O, int *row);

#endif
