/* Reads B by a function of the C library, out of the instruments' sight. */
#include "honest.h"
#include "ops/spmm.h"

#include <string.h>

static __device__ float get(const float *from)
{
    float value;
    for (int i = 0; i < 4; i++)
        strncpy((char *)&value + i, (const char *)from + i, 1);
    return value;
}

static __global__ void library_kernel(int rows, int N, const int *row_ptr, const int *col_idx,
                                      const float *values, const float *B, float *C)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    for (int j = 0; j < N; j++) {
        float sum = 0;
        for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++)
            sum += values[k] * get(&B[(size_t)col_idx[k] * N + j]);
        C[(size_t)row * N + j] = sum;
    }
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return honest_launch(library_kernel, plan, B, C, stream, plan->A.rows);
}

CHEAT(run)
