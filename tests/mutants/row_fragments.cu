/*
 * row_fragments.cu - mutants of the format of lab 21: bits that say whether a lane's word is there, words that
 * follow each other, blocks that share a panel; and the ways to read another word or lose a share.
 */
#include "mutant.h"

#include "device/warp.cuh"

enum bug {
    HEALTHY_WORDS,
    BITS_IGNORED,
    WORDS_OF_THE_FIRST_CHUNK,
    LAST_SHARE_LOST,
};

constexpr int CHUNK = 32, SHARES = 2;

/* The entries of a row in one column, added up; *found: whether there is any. */
static __device__ float word(int row, int column, const int *row_ptr, const int *col_idx,
                             const float *values, bool *found)
{
    float sum = 0;
    for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++)
        if (col_idx[k] == column) {
            sum += values[k];
            *found = true;
        }
    return sum;
}

/* A warp for a row and a slice of 32 columns; a chunk of A's columns at a time: its words are listed, then read as
 * the bits say. */
template <bug BUG>
__global__ void spmm_words_mutant_kernel(int cols, int N, const int *row_ptr, const int *col_idx,
                                         const float *values, const float *B, float *C)
{
    __shared__ float words[CHUNK];
    const int row = blockIdx.x, lane = threadIdx.x, j = blockIdx.y * WARP_SIZE + lane;
    const int chunks = (cols + CHUNK - 1) / CHUNK;
    float total = 0;
    for (int share = 0; share < SHARES - (BUG == LAST_SHARE_LOST); share++) {
        float sum = 0;
        for (int c = chunks * share / SHARES; c < chunks * (share + 1) / SHARES; c++) {
            bool found = false;
            const int column = c * CHUNK + lane;
            const float x = word(row, column, row_ptr, col_idx, values, &found);
            const unsigned bits = __ballot_sync(FULL_MASK, found);
            const bool listed = found && (BUG != WORDS_OF_THE_FIRST_CHUNK || c == 0);
            if (listed) words[__popc(bits & ((1u << lane) - 1))] = x;
            __syncwarp();
            for (int i = 0, next = 0; i < CHUNK; i++) {
                if (!(bits & 1u << i)) {
                    if (BUG == BITS_IGNORED) next++; /* as if every column had a word */
                    continue;
                }
                if (j < N) sum += words[next % CHUNK] * B[(size_t)(c * CHUNK + i) * N + j];
                next++;
            }
            __syncwarp();
        }
        total += sum;
    }
    if (j < N) C[(size_t)row * N + j] = total;
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const dim3 grid(A.rows, (plan->N + WARP_SIZE - 1) / WARP_SIZE);
    spmm_words_mutant_kernel<BUG><<<grid, WARP_SIZE, 0, stream>>>(A.cols, plan->N, A.d_row_ptr,
                                                                  A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

MUTANT(HEALTHY_WORDS, NULL)
MUTANT(BITS_IGNORED, "in every row that is not empty")
MUTANT(WORDS_OF_THE_FIRST_CHUNK, "wrong values")
MUTANT(LAST_SHARE_LOST, "wrong values")
