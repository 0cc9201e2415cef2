/* Stores by a function of the C library, byte by byte: the instruments see none of it. */
#include "honest.h"
#include "ops/spmm.h"

#include <string.h>

static __device__ void put(float *to, float value)
{
    const char *bytes = (const char *)&value;
    for (int i = 0; i < 4; i++)
        strncpy((char *)to + i, bytes + i, 1);
}

static __global__ void library_kernel(int rows, int N, const int *row_ptr, const int *col_idx,
                                      const float *values, const float *B, float *C)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    for (int j = 0; j < N; j++) {
        float sum = 0;
        for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++)
            sum += values[k] * B[(size_t)col_idx[k] * N + j];
        put(&C[(size_t)row * N + j], sum);
    }
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return honest_launch(library_kernel, plan, B, C, stream, plan->A.rows);
}

CHEAT(run)
