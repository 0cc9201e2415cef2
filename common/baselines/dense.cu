#include "baselines/dense.h"

#include "device/cuda_try.h"
#include "device/half.cuh"

/* Limits the bytes of A with its zeros. The largest of the recurrent layers in fp32, 32768 x 8192, takes half
 * of that. So does the largest of the language models in 16 bits, 49152 x 12288. */
constexpr double MOST_BYTES = 0x1p31;

/* B holds NaN and infinities where A's column is empty (ops/spmm.c). A sparse product never reads
 * them; a dense one multiplies them by zero, which gives NaN. */
const char *dense_unsuited(const problem *p)
{
    const csr_matrix *A = p->A;
    const double element = (double)precision_format(p->precision)->bytes;
    if ((double)A->rows * (double)A->cols * element > MOST_BYTES)
        return "too large to store densely (more than 2 GiB)";
    if (A->nnz == 0 || p->has_empty_column)
        return "A has empty columns, and B no numbers in their rows: a dense product would read "
               "them";
    return NULL;
}

/* A block a row. Atomics, because two threads may hold entries of the same place. */
template <class T>
static __global__ void dense_from_csr_kernel(const int *row_ptr, const int *col_idx,
                                             const T *values, int cols, T *dense)
{
    T *const row = dense + (size_t)blockIdx.x * cols;
    const int end = row_ptr[blockIdx.x + 1];
    for (int k = row_ptr[blockIdx.x] + threadIdx.x; k < end; k += blockDim.x)
        atomicAdd(&row[col_idx[k]], values[k]);
}

template <class T> static cudaError_t fill(const spmm_matrix *A, const void *values, void **d_dense)
{
    const size_t bytes = (size_t)A->rows * A->cols * sizeof(T);
    CUDA_TRY(cudaMalloc(d_dense, bytes));
    CUDA_TRY(cudaMemset(*d_dense, 0, bytes));
    dense_from_csr_kernel<<<A->rows, 128>>>(A->d_row_ptr, A->d_col_idx, (const T *)values, A->cols,
                                            (T *)*d_dense);
    CUDA_TRY(cudaGetLastError());
    return cudaSuccess;
}

cudaError_t dense_from_csr(const spmm_plan *plan, void **d_dense)
{
    const spmm_matrix *A = &plan->A;
    switch (plan->contender->base.precision) {
    case PRECISION_FP16:
        return fill<__half>(A, A->d_values16, d_dense);
    case PRECISION_BF16:
        return fill<__nv_bfloat16>(A, A->d_values16, d_dense);
    default:
        return fill<float>(A, A->d_values, d_dense);
    }
}

/* Copies bits, whatever number they make: a thread for each element of the copy at a time. */
template <class T>
static __global__ void by_columns_kernel(const T *from, int rows, int columns, T *to)
{
    const size_t count = (size_t)rows * columns, stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        to[i] = from[i % rows * columns + i / rows];
}

cudaError_t dense_by_columns(const spmm_plan *plan, const void *B, void **d_columns)
{
    constexpr int BLOCKS = 1024, THREADS = 256;
    const size_t element = precision_format(plan->contender->base.precision)->bytes;
    const int rows = plan->A.cols, columns = plan->N;
    if (!*d_columns) CUDA_TRY(cudaMalloc(d_columns, (size_t)rows * columns * element));
    if (element == sizeof(uint32_t))
        by_columns_kernel<<<BLOCKS, THREADS>>>((const uint32_t *)B, rows, columns,
                                               (uint32_t *)*d_columns);
    else
        by_columns_kernel<<<BLOCKS, THREADS>>>((const uint16_t *)B, rows, columns,
                                               (uint16_t *)*d_columns);
    return cudaGetLastError();
}
