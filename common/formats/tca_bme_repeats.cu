#include "formats/tca_bme_repeats.h"

#include "device/argsort.h"
#include "device/cuda_try.h"
#include "device/scan.h"
#include "device/warp.cuh"

constexpr int THREADS = 256;

static unsigned blocks_for(int64_t threads)
{
    return (unsigned)((threads + THREADS - 1) / THREADS);
}

/* A warp a row. */
static __global__ void row_of_kernel(int rows, const int *row_ptr, int *row_of)
{
    const int row = blockIdx.x * (THREADS / WARP_SIZE) + warp_id();
    if (row >= rows) return;
    for (int k = row_ptr[row] + lane_id(); k < row_ptr[row + 1]; k += WARP_SIZE)
        row_of[k] = row;
}

/* order[i]: the i-th nonzero by row, by column, by place in A. */
static __global__ void is_repeat_kernel(int nnz, const int *order, const int *row_of,
                                        const int *col_idx, int *is_repeat)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= nnz) return;
    const int k = order[i], before = i ? order[i - 1] : k;
    is_repeat[k] = i && row_of[before] == row_of[k] && col_idx[before] == col_idx[k];
}

cudaError_t tca_bme_find_repeats(const spmm_matrix *A, int **d_before)
{
    const int nnz = A->nnz;
    int *d_order = NULL, *d_row_of = NULL;
    cudaError_t error;
    CUDA_TRY_GOTO(error, done, cudaMalloc(d_before, ((size_t)nnz + 1) * sizeof(int)));
    CUDA_TRY_GOTO(error, done, cudaMalloc(&d_order, (size_t)nnz * sizeof(int)));
    CUDA_TRY_GOTO(error, done, cudaMalloc(&d_row_of, (size_t)nnz * sizeof(int)));
    row_of_kernel<<<blocks_for((int64_t)A->rows * WARP_SIZE), THREADS>>>(A->rows, A->d_row_ptr,
                                                                         d_row_of);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, device_identity(d_order, nnz, 0));
    CUDA_TRY_GOTO(error, done, device_argsort(A->d_col_idx, A->cols - 1, d_order, nnz, 0));
    CUDA_TRY_GOTO(error, done, device_argsort(d_row_of, A->rows - 1, d_order, nnz, 0));
    CUDA_TRY_GOTO(error, done, cudaMemset(*d_before, 0, ((size_t)nnz + 1) * sizeof(int)));
    is_repeat_kernel<<<blocks_for(nnz), THREADS>>>(nnz, d_order, d_row_of, A->d_col_idx, *d_before);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, device_exclusive_scan(*d_before, nnz + 1, 0));
done:
    cudaFree(d_order);
    cudaFree(d_row_of);
    return error;
}

/* A thread a nonzero. */
static __global__ void take_repeats_kernel(int nnz, const int *before, const int *col_idx,
                                           const uint16_t *values, int *repeat_col,
                                           uint16_t *repeat_value)
{
    const int k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= nnz || before[k + 1] == before[k]) return;
    repeat_col[before[k]] = col_idx[k];
    repeat_value[before[k]] = values[k];
}

/* A thread a row, and one for the end. */
static __global__ void repeat_ptr_kernel(int rows, const int *row_ptr, const int *before,
                                         int *repeat_ptr)
{
    const int row = blockIdx.x * THREADS + threadIdx.x;
    if (row <= rows) repeat_ptr[row] = before[row_ptr[row]];
}

cudaError_t tca_bme_take_repeats(const spmm_matrix *A, const int *d_before, tca_bme *m)
{
    int count;
    CUDA_TRY(cudaMemcpy(&count, &d_before[A->nnz], sizeof count, cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMalloc(&m->repeat_ptr, ((size_t)A->rows + 1) * sizeof *m->repeat_ptr));
    CUDA_TRY(cudaMalloc(&m->repeat_col, (size_t)count * sizeof *m->repeat_col));
    CUDA_TRY(cudaMalloc(&m->repeat_value, (size_t)count * sizeof *m->repeat_value));
    m->num_repeats = count;
    take_repeats_kernel<<<blocks_for(A->nnz), THREADS>>>(A->nnz, d_before, A->d_col_idx,
                                                         (const uint16_t *)A->d_values16,
                                                         m->repeat_col, m->repeat_value);
    CUDA_TRY(cudaGetLastError());
    repeat_ptr_kernel<<<blocks_for((int64_t)A->rows + 1), THREADS>>>(A->rows, A->d_row_ptr,
                                                                     d_before, m->repeat_ptr);
    CUDA_TRY(cudaGetLastError());
    return cudaSuccess;
}
