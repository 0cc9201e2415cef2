/* Leaves out one product of a long row, the least of them: rounding may be off by more, unless nothing is rounded. */
#include "ops/spmm.h"

constexpr int BLOCK = 128, LONG = 2000;

static __global__ void kernel(spmm_matrix A, const float *__restrict__ B, float *C, int N)
{
    const int row = blockIdx.x, j = blockIdx.y * BLOCK + threadIdx.x;
    if (j >= N) return;
    const int start = A.d_row_ptr[row], end = A.d_row_ptr[row + 1];
    float sum = 0, least = 1e30f;
    for (int k = start; k < end; k++) {
        const float product = A.d_values[k] * B[(size_t)A.d_col_idx[k] * N + j];
        sum += product;
        if (fabsf(product) < fabsf(least)) least = product;
    }
    C[(size_t)row * N + j] = end - start > LONG ? sum - least : sum;
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const dim3 grid(plan->A.rows, (plan->N + BLOCK - 1) / BLOCK);
    if (plan->A.rows > 0) kernel<<<grid, BLOCK, 0, stream>>>(plan->A, B, C, plan->N);
    return cudaGetLastError();
}

static spmm_contender cheat = {
    .base = {.lab = 1, .name = "least", .summary = "loses the least product"},
    .run = run,
};
SPMM_REGISTER(cheat)
