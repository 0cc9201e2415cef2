/*
 * ascending.cu - looks for a column that does not follow the one before it, and sorts nonzeros.
 */
#include "formats/ascending.h"

#include "device/argsort.h"
#include "device/cuda_try.h"
#include "device/parallel_for.cuh"
#include "device/warp.cuh"

constexpr int THREADS = 256, THREAD_WARPS = THREADS / WARP_SIZE;

/* A warp for each row. */
static __global__ void find_descents_kernel(int rows, const int *__restrict__ row_ptr,
                                            const int *__restrict__ col_idx, int *found)
{
    const int row = blockIdx.x * THREAD_WARPS + (int)threadIdx.x / WARP_SIZE;
    if (row >= rows) return;
    for (int k = row_ptr[row] + 1 + lane_id(); k < row_ptr[row + 1]; k += WARP_SIZE)
        if (col_idx[k] <= col_idx[k - 1]) atomicOr(found, 1);
}

cudaError_t columns_ascend(const device_csr *A, bool *ascend)
{
    int *d_found = NULL, found = 0;
    cudaError_t error;
    *ascend = true;
    if (A->rows == 0) return cudaSuccess;
    CUDA_TRY(cudaMalloc((void **)&d_found, sizeof *d_found));
    CUDA_TRY_GOTO(error, done, cudaMemset(d_found, 0, sizeof *d_found));
    find_descents_kernel<<<(A->rows - 1) / THREAD_WARPS + 1, THREADS>>>(A->rows, A->d_row_ptr,
                                                                        A->d_col_idx, d_found);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, cudaMemcpy(&found, d_found, sizeof found, cudaMemcpyDeviceToHost));
    *ascend = !found;
done:
    cudaFree(d_found);
    return error;
}

bool columns_ascend_on_host(const csr_matrix *A)
{
    for (int64_t row = 0; row < A->rows; row++)
        for (int64_t k = A->row_ptr[row] + 1; k < A->row_ptr[row + 1]; k++)
            if (A->col_idx[k] <= A->col_idx[k - 1]) return false;
    return true;
}

/* A warp for each row. */
static __global__ void list_rows_kernel(int rows, const int *__restrict__ row_ptr, int *row_of)
{
    const int row = blockIdx.x * THREAD_WARPS + (int)threadIdx.x / WARP_SIZE;
    if (row >= rows) return;
    for (int z = row_ptr[row] + lane_id(); z < row_ptr[row + 1]; z += WARP_SIZE)
        row_of[z] = row;
}

struct sort_columns {
    const int *col_idx, *order;
    int *sorted;

    __device__ void operator()(int64_t i) const { sorted[i] = col_idx[order[i]]; }
};

/* By column, then by row: each sort leaves the order of equals alone. */
static cudaError_t sort_nonzeros(const device_csr *A, int *d_row, int *d_order, int *d_columns)
{
    CUDA_TRY(device_identity(d_order, A->nnz, 0));
    CUDA_TRY(device_argsort(A->d_col_idx, A->cols - 1, d_order, A->nnz, 0));
    list_rows_kernel<<<(A->rows - 1) / THREAD_WARPS + 1, THREADS>>>(A->rows, A->d_row_ptr, d_row);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(device_argsort(d_row, A->rows - 1, d_order, A->nnz, 0));
    return device_parallel_for(A->nnz, sort_columns{A->d_col_idx, d_order, d_columns}, 0);
}

cudaError_t nonzeros_sort_columns(const device_csr *A, int **d_order, int **d_columns)
{
    const size_t bytes = A->nnz * sizeof(int);
    int *d_row = NULL;
    bool ascend;
    cudaError_t error;
    *d_order = *d_columns = NULL;
    CUDA_TRY(columns_ascend(A, &ascend));
    if (ascend) return cudaSuccess;
    CUDA_TRY_GOTO(error, done, cudaMalloc(d_order, bytes));
    CUDA_TRY_GOTO(error, done, cudaMalloc(d_columns, bytes));
    CUDA_TRY_GOTO(error, done, cudaMalloc(&d_row, bytes));
    CUDA_TRY_GOTO(error, done, sort_nonzeros(A, d_row, *d_order, *d_columns));
    CUDA_TRY_GOTO(error, done, cudaDeviceSynchronize());
done:
    cudaFree(d_row);
    if (error == cudaSuccess) return error;
    cudaFree(*d_order);
    cudaFree(*d_columns);
    *d_order = *d_columns = NULL;
    return error;
}
