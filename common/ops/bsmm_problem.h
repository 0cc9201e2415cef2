/*
 * bsmm_problem.h - what problems of the block-sparse operations share: the layout, gates, features of the two orders,
 * and sums of products with what their bounds are made of. Not for contenders.
 */
#ifndef OPS_BSMM_PROBLEM_H
#define OPS_BSMM_PROBLEM_H

#include "matrix/block_layout.h"
#include "ops/inputs.h"
#include "ops/product_sums.h"

/* The knob of a block's side. */
#define BSMM_BLOCK_KNOB                                                              \
    {                                                                                \
        .name = "BLOCK", .meaning = "side of a block, where the dataset names none", \
        .values = {8, 16, 32, 64}, .num_values = 4, .initial = 32                    \
    }

/* The layout of p->A, which the caller frees, and B: the dataset's, if it names one, which is then stored in the knob
 * `block_knob`; else the knob's. Refuses what no contender can take. */
enum status bsmm_layout_create(problem *p, int block_knob, block_layout *layout, int *block,
                               error_text *error);

/* Whether features of a problem are token-major: see bsmm.h. */
static inline bool bsmm_token_major(enum precision precision)
{
    return precision != PRECISION_FP32;
}

/* Fills gate->own[blocks]: A's values where it has any and they may be used, else a quarter is 0, the others between -1
 * and 1. Whole ones are 0, 1 and 2. */
void bsmm_gates_fill(numbers *gate, const problem *p, const block_layout *layout);

/* Marks the block rows (or columns) that a block with a gate other than 0 reads. gate: NULL for none. The caller frees
 * them. NULL: no memory. */
uint8_t *bsmm_mark_lines(const block_layout *layout, bool columns, const float *gate);

/* Fills `count` matrices of `lines` * block features and N tokens, one behind the other. Features of lines that are not
 * used hold NaN and infinities, which a correct kernel never reads into a result. */
void bsmm_features_fill(numbers *n, int count, int lines, int block, int N, const uint8_t *used,
                        int most, uint64_t stream);

/* Fills weights[blocks][block][block]; those of a block whose gate is 0 hold NaN and infinities. */
bool bsmm_weights_fill(numbers *n, const block_layout *layout, int block, const float *gate,
                       int most, uint64_t stream);

/* Sums of a row of an output: ops/rounding.h says of what. Four arrays in one. */
typedef struct bsmm_sums {
    double *result, *size, *squares, *largest;
    int64_t count;
} bsmm_sums;

/* Room for `count` of them, all 0. False: no memory. */
bool bsmm_sums_alloc(bsmm_sums *s, int64_t count);
void bsmm_sums_clear(bsmm_sums *s); /* 0 again */
void bsmm_sums_free(bsmm_sums *s);

/* Adds a sum to element `at`. */
static inline void bsmm_sums_add(bsmm_sums *s, int64_t at, const product_sum *one)
{
    s->result[at] += one->result;
    s->size[at] += one->size;
    s->squares[at] += one->squares;
    if (one->largest > s->largest[at]) s->largest[at] = one->largest;
}

/* Returns element `at`, of n products. */
static inline product_sum bsmm_sums_at(const bsmm_sums *s, int64_t at, double n)
{
    return (product_sum){n, s->size[at], s->squares[at], s->largest[at], s->result[at]};
}

/* Lines that are best added together: sums are then loaded and stored once for four products. */
enum { BSMM_LINES = 4 };

/* Adds x[0] times `count` numbers, `step` floats apart, to elements from `at` on; then x[1] times those `pitch` floats
 * further; and so on, `lines` times. */
WIDE_INLINE void bsmm_sums_add_lines(bsmm_sums *s, int64_t at, const double *x, int lines,
                                     const float *line, int64_t pitch, int64_t step, int64_t count)
{
#pragma omp simd
    for (int64_t i = at; i < at + count; i++) {
        double result = s->result[i], size = s->size[i], squares = s->squares[i];
        double largest = s->largest[i];
#pragma GCC unroll 4
        for (int u = 0; u < lines; u++) {
            const double product = x[u] * line[u * pitch + (i - at) * step];
            const double positive = product < 0 ? -product : product;
            result += product;
            size += positive;
            squares += product * product;
            largest = positive > largest ? positive : largest;
        }
        s->result[i] = result;
        s->size[i] = size;
        s->squares[i] = squares;
        s->largest[i] = largest;
    }
}

#endif
