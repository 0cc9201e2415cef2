/* Lanes leave their sums in a variable of the program, which no array of the suite is, and do not wait. */
#include "honest.h"
#include "ops/spmm.h"

static __device__ float sums[32][64];

static __global__ void variable_kernel(int rows, int N, const int *row_ptr, const int *col_idx,
                                       const float *values, const float *B, float *C)
{
    const int row = blockIdx.x, lane = threadIdx.x;
    for (int j = 0; j < N; j++) {
        float sum = 0;
        for (int k = row_ptr[row] + lane; k < row_ptr[row + 1]; k += 32)
            sum += values[k] * B[(size_t)col_idx[k] * N + j];
        sums[lane][j] = sum;
        if (lane < 31) continue;
        for (int i = 0; i < 31; i++)
            sum += sums[i][j];
        C[(size_t)row * N + j] = sum;
    }
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    if (A.rows > 0)
        variable_kernel<<<A.rows, 32, 0, stream>>>(A.rows, plan->N, A.d_row_ptr, A.d_col_idx,
                                                   A.d_values, B, C);
    return cudaGetLastError();
}

CHEAT(run)
