/*
 * Lab 2 - warp per row: one warp computes 32 neighbouring columns of one row of C.
 *
 * Idea      Lane l owns column 32 * blockIdx.y + l. For each nonzero (column c of A) the 32 lanes
 *           read 32 neighbouring floats of row c of B: one 128-byte line instead of 32 of them.
 * Changed   Lab 1's thread walked all columns; here the columns are spread over the lanes, so the
 *           loop over j is gone and a warp is busy for one row only.
 * Run       make lab2 && ./lab2 arxiv 32
 * Watch     All lanes load the same col_idx[k] and values[k]: 32 lanes, 4 useful bytes.
 */
#include "device/warp.cuh"
#include "ops/spmm.h"

/* An SM holds at most 32 blocks but 64 warps: one-warp blocks would leave half of it empty. */
constexpr int WARPS = 4;

static __global__ void spmm_warp_per_row_kernel(int rows, int N, const int *__restrict__ row_ptr,
                                                const int *__restrict__ col_idx,
                                                const float *__restrict__ values,
                                                const float *__restrict__ B, float *__restrict__ C)
{
    const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    const int row = blockIdx.x * WARPS + warp;
    const int j = blockIdx.y * WARP_SIZE + lane;
    if (row >= rows || j >= N) return;
    /* BEGIN STUDENT: walk the row's nonzeros for column j alone; store one element of C */
    float sum = 0;
    for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++)
        sum += values[k] * B[(size_t)col_idx[k] * N + j];
    C[(size_t)row * N + j] = sum;
    /* END STUDENT */
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    if (A.rows == 0) return cudaSuccess;
    const dim3 grid((A.rows + WARPS - 1) / WARPS, (plan->N + WARP_SIZE - 1) / WARP_SIZE);
    spmm_warp_per_row_kernel<<<grid, WARPS * WARP_SIZE, 0, stream>>>(A.rows, plan->N, A.d_row_ptr,
                                                                     A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

static spmm_contender lab2 = {
    .base = {.lab = 2,
             .after = 1,
             .name = "warp_per_row",
             .summary = "one warp, one row; lanes over columns"},
    .run = run,
};
SPMM_REGISTER(lab2)
