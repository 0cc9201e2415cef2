/*
 * column_blocks.cu - mutants of labs 11 and 13: packs with holes, and launches over column blocks
 * of which a row's first stores and the others add; and the ways to get each of them wrong.
 */
#include "mutant.h"

enum bug {
    HEALTHY_BLOCKS,
    HOLE_COUNTED,
    BLOCK_TWICE,
    LEFT_OVER_LOST,
    FIRST_BLOCK_ADDS,
    LATER_BLOCK_STORES,
    C_COUNTED_TWICE,
};

constexpr int BLOCKS = 4, THREADS = 32, SHORTEST = 4, PACK_SLOTS = 16;

/* Nonzeros of the row in the block that begins at column `first`. */
static __device__ int count_in_block(const int *row_ptr, const int *col_idx, int row, int first,
                                     int width)
{
    int count = 0;
    for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++)
        count += col_idx[k] >= first && col_idx[k] < first + width;
    return count;
}

/* One block a row and a slice, one thread a column. Column block 0 has the rows of at most 16
 * nonzeros and the rest of others, column block 1 + b the columns of block b. */
template <bug BUG>
__global__ void spmm_block_mutant_kernel(int block, int width, int N, const int *row_ptr,
                                         const int *col_idx, const float *values, const float *B,
                                         float *C)
{
    const int row = blockIdx.x, j = blockIdx.y * THREADS + threadIdx.x;
    const int start = row_ptr[row], length = row_ptr[row + 1] - start;
    const bool packed = length <= PACK_SLOTS;
    int slots = 1;
    while (slots < length)
        slots *= 2;
    float sum = 0;
    if (j >= N || (packed && block > 0)) return;
    if (packed && length > 0) {
        /* A hole names the last column again, and has the last value. */
        for (int s = 0; s < slots; s++) {
            const int k = start + min(s, length - 1);
            if (s < length || BUG == HOLE_COUNTED) sum += values[k] * B[(size_t)col_idx[k] * N + j];
        }
    } else {
        for (int b = 0; b < BLOCKS; b++) {
            const int count = count_in_block(row_ptr, col_idx, row, b * width, width);
            const bool left_over = count < SHORTEST;
            if (BUG == LEFT_OVER_LOST && left_over) continue;
            if (block != (left_over ? 0 : 1 + b)) continue;
            for (int k = start; k < start + length; k++)
                if (col_idx[k] / width == b) sum += values[k] * B[(size_t)col_idx[k] * N + j];
        }
    }
    float *const out = &C[(size_t)row * N + j];
    const bool stores =
        block == 0 ? BUG != FIRST_BLOCK_ADDS : BUG == LATER_BLOCK_STORES && sum != 0;
    /* Where the sum began already, and again at the end. */
    if (BUG == C_COUNTED_TWICE && block > 0) sum += *out;
    *out = stores ? sum : *out + sum;
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const int width = (A.cols + BLOCKS - 1) / BLOCKS;
    const dim3 grid(A.rows, (plan->N + THREADS - 1) / THREADS);
    for (int block = 0; block <= BLOCKS; block++)
        for (int again = 0; again <= (BUG == BLOCK_TWICE && block == 2); again++)
            spmm_block_mutant_kernel<BUG><<<grid, THREADS, 0, stream>>>(
                block, width, plan->N, A.d_row_ptr, A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

MUTANT(HEALTHY_BLOCKS, NULL)
MUTANT(HOLE_COUNTED, "only in rows of 5 or more nonzeros, though not in all of them")
MUTANT(BLOCK_TWICE, "only rows longer than 5 nonzeros")
MUTANT(LEFT_OVER_LOST, "only in rows of 31 or more nonzeros, though not in all of them")
MUTANT(FIRST_BLOCK_ADDS, "adds to what it held before")
MUTANT(LATER_BLOCK_STORES, "only rows longer than 5 nonzeros")
MUTANT(C_COUNTED_TWICE, "only rows longer than 5 nonzeros")
