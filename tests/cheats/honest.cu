#include "honest.h"

static __global__ void honest_kernel(int rows, int N, const int *row_ptr, const int *col_idx,
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

cudaError_t honest_launch(row_kernel *kernel, const spmm_plan *plan, const float *B, float *C,
                          cudaStream_t stream, int rows)
{
    const spmm_matrix &A = plan->A;
    if (rows == 0) return cudaSuccess;
    kernel<<<(rows + 127) / 128, 128, 0, stream>>>(rows, plan->N, A.d_row_ptr, A.d_col_idx,
                                                   A.d_values, B, C);
    return cudaGetLastError();
}

cudaError_t honest_rows(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream,
                        int rows)
{
    return honest_launch(honest_kernel, plan, B, C, stream, rows);
}

cudaError_t honest_run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return honest_rows(plan, B, C, stream, plan->A.rows);
}
