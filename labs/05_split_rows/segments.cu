/*
 * segments.cu - the list of tails, built on the GPU (count, scan, fill) and, to compare with, on
 * the host.
 */
#include "segments.h"

#include "device/cuda_try.h"
#include "device/scan.h"

#include <stdlib.h>

constexpr int THREADS = 256;

void tails_free(tail_list *tails)
{
    cudaFree(tails->d_row);
    cudaFree(tails->d_start);
    *tails = {};
}

static cudaError_t tails_alloc(tail_list *tails, int count)
{
    tails->count = count;
    if (count == 0) return cudaSuccess;
    CUDA_TRY(cudaMalloc((void **)&tails->d_row, count * sizeof(int)));
    CUDA_TRY(cudaMalloc((void **)&tails->d_start, count * sizeof(int)));
    return cudaSuccess;
}

/* ---- on the GPU ------------------------------------------------------------------------------ */

/* tails[row] for each row, and 0 at tails[rows], where the scan will leave the total. */
static __global__ void count_tails_kernel(int rows, const int *__restrict__ row_ptr, int split,
                                          int *tails)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row > rows) return;
    tails[row] = row < rows ? tails_of_row(row_ptr[row + 1] - row_ptr[row], split) : 0;
}

/* `first` is the scanned count: row r owns places first[r] .. first[r+1]-1 of the list. */
static __global__ void fill_tails_kernel(int rows, const int *__restrict__ row_ptr, int split,
                                         const int *__restrict__ first, int *tail_row,
                                         int *tail_start)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int start = row_ptr[row];
    for (int i = first[row]; i < first[row + 1]; i++) {
        start += split;
        tail_row[i] = row;
        tail_start[i] = start;
    }
}

cudaError_t tails_build_on_gpu(const spmm_matrix *A, int split, tail_list *tails)
{
    const int blocks = A->rows / THREADS + 1; /* rows + 1 counters */
    int *d_first = NULL, total;
    cudaError_t error;
    *tails = {};
    CUDA_TRY(cudaMalloc((void **)&d_first, ((size_t)A->rows + 1) * sizeof(int)));
    count_tails_kernel<<<blocks, THREADS>>>(A->rows, A->d_row_ptr, split, d_first);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, device_exclusive_scan(d_first, A->rows + 1, 0));
    CUDA_TRY_GOTO(error, done,
                  cudaMemcpy(&total, d_first + A->rows, sizeof total, cudaMemcpyDeviceToHost));
    CUDA_TRY_GOTO(error, done, tails_alloc(tails, total));
    if (total > 0) {
        fill_tails_kernel<<<blocks, THREADS>>>(A->rows, A->d_row_ptr, split, d_first, tails->d_row,
                                               tails->d_start);
        CUDA_TRY_GOTO(error, done, cudaGetLastError());
    }
done:
    cudaFree(d_first);
    if (error != cudaSuccess) tails_free(tails);
    return error;
}

/* ---- on the host ----------------------------------------------------------------------------- */

cudaError_t tails_build_on_host(const spmm_matrix *A, int split, tail_list *tails)
{
    const int64_t *row_ptr = A->host->row_ptr;
    int count = 0;
    cudaError_t error = cudaErrorMemoryAllocation;
    *tails = {};
    for (int row = 0; row < A->rows; row++)
        count += tails_of_row((int)(row_ptr[row + 1] - row_ptr[row]), split);
    int *rows = (int *)malloc((size_t)count * sizeof(int) + 1);
    int *starts = (int *)malloc((size_t)count * sizeof(int) + 1);
    if (!rows || !starts) goto done;
    for (int row = 0, i = 0; row < A->rows; row++)
        for (int64_t start = row_ptr[row] + split; start < row_ptr[row + 1]; start += split, i++) {
            rows[i] = row;
            starts[i] = (int)start;
        }
    CUDA_TRY_GOTO(error, done, tails_alloc(tails, count));
    CUDA_TRY_GOTO(error, done,
                  cudaMemcpy(tails->d_row, rows, count * sizeof(int), cudaMemcpyHostToDevice));
    CUDA_TRY_GOTO(error, done,
                  cudaMemcpy(tails->d_start, starts, count * sizeof(int), cudaMemcpyHostToDevice));
done:
    free(rows);
    free(starts);
    if (error != cudaSuccess) tails_free(tails);
    return error;
}
