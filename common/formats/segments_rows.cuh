/*
 * segments_rows.cuh - who takes which row when segments are counted and copied on the GPU: a warp a row, and a block a
 * long one.
 */
#ifndef FORMATS_SEGMENTS_ROWS_CUH
#define FORMATS_SEGMENTS_ROWS_CUH

#include "formats/segments.h"

#include "device/warp.cuh"

constexpr int WARPS = 8, BLOCK = WARPS * WARP_SIZE;

/* Rows longer than this have kernels of their own, with a block a row: one warp would walk the longest of am, of
 * 154,828 nonzeros, for 3 ms. */
constexpr int ALONE = 2048, LONG_WARPS = 32, LONG_BLOCK = LONG_WARPS * WARP_SIZE;

static inline int blocks_of(int rows, int of_a_block)
{
    return (rows - 1) / of_a_block + 1;
}

static inline __host__ __device__ int segment_of(const row_split &split, int column)
{
    if (split.segments == 1) return 0;
    return split.block_cols ? 1 + column / split.block_cols : column % split.segments;
}

/* Finds the long rows of which this block is to take care: every thread looks at one row, the block's number and
 * then each gridDim.x-th, for long rows may be neighbours. Once a kernel. Returns how many; found: room for LONG_BLOCK,
 * in any order. */
static inline __device__ int find_long_rows(int rows, const int *__restrict__ row_ptr, int *found)
{
    __shared__ int count;
    const int64_t row = blockIdx.x + (int64_t)threadIdx.x * gridDim.x;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (row < rows && row_ptr[row + 1] - row_ptr[row] > ALONE)
        found[atomicAdd(&count, 1)] = (int)row;
    __syncthreads();
    return count;
}

#endif
