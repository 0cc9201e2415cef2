#include "baselines/dense.h"

#include "device/cuda_try.h"

/* A block a row. Atomics, because two threads may hold entries of the same place. */
static __global__ void dense_from_csr_kernel(const int *row_ptr, const int *col_idx,
                                             const float *values, int cols, float *dense)
{
    float *const row = dense + (size_t)blockIdx.x * cols;
    const int end = row_ptr[blockIdx.x + 1];
    for (int k = row_ptr[blockIdx.x] + threadIdx.x; k < end; k += blockDim.x)
        atomicAdd(&row[col_idx[k]], values[k]);
}

cudaError_t dense_from_csr(const spmm_matrix *A, float *d_dense)
{
    CUDA_TRY(cudaMemset(d_dense, 0, (size_t)A->rows * A->cols * sizeof *d_dense));
    dense_from_csr_kernel<<<A->rows, 128>>>(A->d_row_ptr, A->d_col_idx, A->d_values, A->cols,
                                            d_dense);
    CUDA_TRY(cudaGetLastError());
    return cudaSuccess;
}
