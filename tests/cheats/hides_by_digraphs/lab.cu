/* Digraphs for the brackets of an attribute that keeps a function from being looked into. */
/* clang-format off */
#include "honest.h"
#include "ops/spmm.h"

<:<: gnu :: __noipa__ :>:> static __global__ void quiet_kernel(int rows, int N, const int *row_ptr, const int *col_idx,
                                   const float *values, const float *B, float *C)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    for (int j = 0; j < N; j++) {
        float sum = 0;
        for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++)
            sum += values[k] * B[(size_t)col_idx[k] * N + j];
        C[(size_t)row * N + j] = sum;
    }
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    if (A.rows == 0) return cudaSuccess;
    quiet_kernel<<<(A.rows + 127) / 128, 128, 0, stream>>>(A.rows, plan->N, A.d_row_ptr, A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

CHEAT(run)
