/*
 * split.h - cuts every row of A into segments by column: what a pass over a block of columns, or a
 * tile of B in shared memory, has to do with the row.
 *
 *   blocks of columns      segment 0 is what is left over, segment 1 + b what lies in block b:
 *                          columns b * block_cols .. (b + 1) * block_cols - 1
 *   tiles                  segment t has the columns t, t + tiles, t + 2 tiles, ...
 *
 * Segment k of a row is number k * rows + row of all. Inside a segment nonzeros keep their order.
 */
#ifndef LAB10_SPLIT_H
#define LAB10_SPLIT_H

#include "device/site.cuh"
#include "ops/spmm.h"

constexpr int MAX_SEGMENTS = 65; /* of a row */

typedef struct row_split {
    int segments;   /* of a row, at most */
    int block_cols; /* columns of a block; 0: tiles */
    int shortest;   /* a row's share of a block that is shorter is left over */
} row_split;

/* Block b of `blocks` blocks. */
row_split split_into_blocks(int cols, int blocks, int shortest);
row_split split_into_tiles(int tiles);

/* length[k * rows + row] of every segment. All arrays lie where `where` says, A's as they do. */
cudaError_t split_count(site where, const spmm_matrix *A, const row_split *split, int *length);

/* Copies every nonzero as (column, bits of the value) to pairs[place[segment] ...]. A segment with a
 * negative place does not exist: its nonzeros belong to segment 0. In tiles `column` becomes the byte
 * at which its row of B begins in the tile, row_bytes each. */
cudaError_t split_copy(site where, const spmm_matrix *A, const row_split *split,
                       const int64_t *place, int row_bytes, int2 *pairs);

#endif
