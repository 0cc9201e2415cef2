/*
 * row_order.cu - rows by length, on the GPU: an argsort by (window, -length); and rows by their first column.
 */
#include "formats/row_order.h"

#include "device/argsort.h"
#include "device/parallel_for.cuh"

constexpr int THREADS = 256;

static __global__ void length_keys_kernel(int rows, const int *__restrict__ row_ptr, int longest,
                                          int *key)
{
    const int row = blockIdx.x * THREADS + threadIdx.x;
    if (row < rows) key[row] = longest - (row_ptr[row + 1] - row_ptr[row]);
}

static __global__ void window_keys_kernel(int rows, int window, int *key)
{
    const int row = blockIdx.x * THREADS + threadIdx.x;
    if (row < rows) key[row] = row / window;
}

cudaError_t row_order_by_length(const spmm_matrix *A, int window, int *d_order)
{
    const int rows = A->rows, longest = (int)A->stats->max;
    const int blocks = (rows + THREADS - 1) / THREADS;
    int *d_key = NULL;
    cudaError_t error;
    if (rows == 0) return cudaSuccess;
    CUDA_TRY(cudaMalloc((void **)&d_key, (size_t)rows * sizeof(int)));
    CUDA_TRY_GOTO(error, done, device_identity(d_order, rows, 0));
    length_keys_kernel<<<blocks, THREADS>>>(rows, A->d_row_ptr, longest, d_key);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, device_argsort(d_key, longest, d_order, rows, 0));
    if (window > 0 && window < rows) { /* the sort is stable: inside a window lengths descend */
        window_keys_kernel<<<blocks, THREADS>>>(rows, window, d_key);
        CUDA_TRY_GOTO(error, done, cudaGetLastError());
        CUDA_TRY_GOTO(error, done, device_argsort(d_key, (rows - 1) / window, d_order, rows, 0));
    }
    CUDA_TRY_GOTO(error, done, cudaDeviceSynchronize());
done:
    cudaFree(d_key);
    return error;
}

cudaError_t row_order_make(const spmm_matrix *A, int window, int **d_order)
{
    cudaError_t error;
    *d_order = NULL;
    CUDA_TRY(cudaMalloc((void **)d_order, ((size_t)A->rows + 1) * sizeof **d_order));
    CUDA_TRY_GOTO(error, failed, row_order_by_length(A, window, *d_order));
    return cudaSuccess;
failed:
    cudaFree(*d_order);
    *d_order = NULL;
    return error;
}

struct take_first_columns {
    const int *row_ptr, *col_idx;
    int cols, *key;

    __device__ void operator()(int64_t row) const
    {
        key[row] = row_ptr[row] < row_ptr[row + 1] ? col_idx[row_ptr[row]] : cols;
    }
};

static cudaError_t make_by_first_column(const spmm_matrix *A, int **d_order)
{
    const size_t bytes = ((size_t)A->rows + 1) * sizeof(int);
    int *d_key = NULL;
    cudaError_t error = cudaSuccess;
    *d_order = NULL;
    CUDA_TRY(cudaMalloc((void **)d_order, bytes));
    CUDA_TRY_GOTO(error, done, cudaMalloc((void **)&d_key, bytes));
    CUDA_TRY_GOTO(error, done,
                  device_parallel_for(
                      A->rows, take_first_columns{A->d_row_ptr, A->d_col_idx, A->cols, d_key}, 0));
    CUDA_TRY_GOTO(error, done, device_identity(*d_order, A->rows, 0));
    CUDA_TRY_GOTO(error, done, device_argsort(d_key, A->cols, *d_order, A->rows, 0));
done:
    cudaFree(d_key);
    if (error == cudaSuccess) return error;
    cudaFree(*d_order);
    *d_order = NULL;
    return error;
}

cudaError_t row_order_make_of(const spmm_matrix *A, enum row_order_kind kind, int **d_order)
{
    *d_order = NULL;
    if (kind == ROWS_BY_LENGTH) return row_order_make(A, 0, d_order);
    if (kind == ROWS_BY_FIRST_COLUMN) return make_by_first_column(A, d_order);
    return cudaSuccess;
}
