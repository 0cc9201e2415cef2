/*
 * kernels.h - softmax of rows of blocks, and attention in one pass over them.
 *
 * A head has L queries and keys in blocks of B. Rows are counted over all heads: row h * L + i is query i of head h. All
 * calls are enqueued on the default stream.
 */
#ifndef BLOCK_ATTENTION_KERNELS_H
#define BLOCK_ATTENTION_KERNELS_H

#include "ops/precision.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Scores of all heads, which become shares in place. */
typedef struct scores {
    enum precision precision;
    int rows;    /* of all heads */
    int length;  /* L, a multiple of block */
    int block;   /* B, a multiple of 32 */
    float scale; /* of the scores, positive */
    /* Blocks [number][B][B]: those of block row r are of_row[row_ptr[r]] to of_row[row_ptr[r + 1] - 1], the one on the
     * diagonal last. NULL: scores are a matrix [rows][L] of all pairs, and a query attends to all keys up to itself. */
    const int *row_ptr, *of_row;
    void *S;
} scores;

/* Replaces each row of scores by its softmax. A query's keys behind itself have a share of exactly 0, and in a dense matrix
 * they become 0. Sums and exponentials are fp32. */
cudaError_t softmax_rows(const scores *s);

/* Units that multiply in one pass: a warpgroup of Hopper, 64 queries by a block; a warp, 16 or 32 queries. */
enum one_pass_unit { ONE_PASS_WGMMA, ONE_PASS_MMA16, ONE_PASS_MMA32, NUM_ONE_PASS_UNITS };

/* "wgmma", "mma16", "mma32". */
const char *one_pass_name(enum one_pass_unit unit);

/* Attention in one pass. Q, K, V and O are [heads][L][d], 256-byte aligned, in fp16 or bf16. All heads have one layout: block
 * row r has the block columns col[row_ptr[r]] to col[row_ptr[r + 1] - 1], ascending, the one on the diagonal last. */
typedef struct one_pass {
    enum one_pass_unit unit;
    enum precision precision;
    int heads, length, d, block;
    float scale;
    const int *row_ptr, *col;
    const void *Q, *K, *V;
    void *O;
} one_pass;

/* Says why there is no kernel of this unit for these sizes on the current device. NULL: there is one. */
const char *one_pass_unsuited(enum one_pass_unit unit, enum precision precision, int block, int d);

/* O = softmax(scale Q K^T at the blocks, up to the diagonal) V. Neither scores nor shares are stored: a share is rounded to 16
 * bits on its way to the product with V. Source: T. Dao, FlashAttention-2, 2023. */
cudaError_t one_pass_run(const one_pass *a);

#ifdef __cplusplus
}
#endif
#endif
