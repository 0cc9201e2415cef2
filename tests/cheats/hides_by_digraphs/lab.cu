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
    return honest_launch(quiet_kernel, plan, B, C, stream, plan->A.rows);
}

CHEAT(run)
