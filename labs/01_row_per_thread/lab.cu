/*
 * Lab 1 - row per thread: the reference every later lab is measured against.
 *
 * Idea      One thread computes one row of C: for each column of B it walks the row's nonzeros.
 * Run       make lab1 && ./lab1 arxiv 32
 * Watch     Neighbouring threads work on neighbouring rows, so in every step the 32 lanes of a warp
 *           touch 32 unrelated rows of B, and the warp is busy until its longest row is done.
 */
#include "ops/spmm.h"

constexpr int BLOCK = 128;

static __global__ void spmm_row_per_thread_kernel(int rows, int N, const int *__restrict__ row_ptr,
                                                  const int *__restrict__ col_idx,
                                                  const float *__restrict__ values,
                                                  const float *__restrict__ B,
                                                  float *__restrict__ C)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    /* BEGIN STUDENT: for each column of C, walk the row's nonzeros and store the sum */
    for (int j = 0; j < N; j++) {
        float sum = 0;
        for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++)
            sum += values[k] * B[(size_t)col_idx[k] * N + j];
        C[(size_t)row * N + j] = sum;
    }
    /* END STUDENT */
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    if (A.rows == 0) return cudaSuccess;
    const int blocks = (A.rows + BLOCK - 1) / BLOCK;
    spmm_row_per_thread_kernel<<<blocks, BLOCK, 0, stream>>>(A.rows, plan->N, A.d_row_ptr,
                                                             A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

static spmm_contender lab1 = {
    .base = {.lab = 1, .name = "row_per_thread", .summary = "the reference: one thread, one row"},
    .run = run,
};
SPMM_REGISTER(lab1)
