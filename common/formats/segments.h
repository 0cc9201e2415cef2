/*
 * segments.h - cuts every row of A into segments by column: the part of a row that a launch over a
 * column block, or a tile of B in shared memory, works on.
 *
 *   column blocks          segment 0 is the rest, segment 1 + b the columns of block b:
 *                          columns b * block_cols .. (b + 1) * block_cols - 1
 *   tiles                  segment t has the columns t, t + tiles, t + 2 tiles, ...
 *
 * Segment k of a row is number k * rows + row of all. Inside a segment nonzeros keep their order.
 */
#ifndef FORMATS_SEGMENTS_H
#define FORMATS_SEGMENTS_H

#include "device/exec_space.cuh"
#include "ops/spmm.h"

constexpr int MAX_SEGMENTS = 65; /* of a row */

typedef struct row_split {
    int segments;   /* of a row, at most */
    int block_cols; /* columns of a block; 0: tiles */
    int shortest;   /* a row's share of a block that is shorter is left over */
} row_split;

/* Block b of `blocks` blocks. */
row_split segments_of_column_blocks(int cols, int blocks, int shortest);
row_split segments_of_tiles(int tiles);

/* length[k * rows + row] of every segment. All arrays lie where `where` says, A's as they do. */
cudaError_t segments_count(exec_space where, const spmm_matrix *A, const row_split *split,
                           int *length);

/* Copies every nonzero as (column, bits of the value) to pairs[place[segment] ...]. A segment with a
 * negative place does not exist: its nonzeros belong to segment 0. In tiles `column` becomes the byte
 * at which its row of B begins in the tile, row_bytes each. */
cudaError_t segments_copy(exec_space where, const spmm_matrix *A, const row_split *split,
                          const int64_t *place, int row_bytes, int2 *pairs);

/* slot[z]: where segments_copy puts the value of nonzero z, in floats from the begin of `num_pairs` pairs. All arrays lie on
 * the device. Waits. cudaErrorNotSupported: an int does not count the slots. */
cudaError_t segments_slots(const spmm_matrix *A, const row_split *split, const int64_t *place,
                           int64_t num_pairs, int *slot);

#endif
