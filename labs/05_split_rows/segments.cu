/*
 * segments.cu - the list of later segments, built on the GPU (count, scan, fill) and, to compare
 * with, on the host.
 */
#include "segments.h"

#include "device/cuda_try.h"
#include "device/scan.h"

#include <stdlib.h>

constexpr int THREADS = 256;

void segment_list_free(segment_list *later)
{
    cudaFree(later->d_row);
    cudaFree(later->d_start);
    *later = {};
}

static cudaError_t segment_list_alloc(segment_list *later, int count)
{
    later->count = count;
    if (count == 0) return cudaSuccess;
    CUDA_TRY(cudaMalloc((void **)&later->d_row, count * sizeof(int)));
    CUDA_TRY(cudaMalloc((void **)&later->d_start, count * sizeof(int)));
    return cudaSuccess;
}

/* ---- on the GPU ------------------------------------------------------------------------------ */

/* Counts each row's later segments, and leaves 0 at count[rows], where the scan puts the total. */
static __global__ void count_segments_kernel(int rows, const int *__restrict__ row_ptr, int split,
                                             int *count)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row > rows) return;
    count[row] = row < rows ? later_segments_of_row(row_ptr[row + 1] - row_ptr[row], split) : 0;
}

/* Lists each row's later segments. `first` is the scanned count: row r owns places first[r] ..
 * first[r+1]-1 of the list. */
static __global__ void fill_segments_kernel(int rows, const int *__restrict__ row_ptr, int split,
                                            const int *__restrict__ first, int *segment_row,
                                            int *segment_start)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int start = row_ptr[row];
    for (int i = first[row]; i < first[row + 1]; i++) {
        start += split;
        segment_row[i] = row;
        segment_start[i] = start;
    }
}

cudaError_t segment_list_build_on_gpu(const spmm_matrix *A, int split, segment_list *later)
{
    const int blocks = A->rows / THREADS + 1; /* rows + 1 counters */
    int *d_first = NULL, total;
    cudaError_t error;
    *later = {};
    CUDA_TRY(cudaMalloc((void **)&d_first, ((size_t)A->rows + 1) * sizeof(int)));
    count_segments_kernel<<<blocks, THREADS>>>(A->rows, A->d_row_ptr, split, d_first);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, device_exclusive_scan(d_first, A->rows + 1, 0));
    CUDA_TRY_GOTO(error, done,
                  cudaMemcpy(&total, d_first + A->rows, sizeof total, cudaMemcpyDeviceToHost));
    CUDA_TRY_GOTO(error, done, segment_list_alloc(later, total));
    if (total > 0) {
        fill_segments_kernel<<<blocks, THREADS>>>(A->rows, A->d_row_ptr, split, d_first,
                                                  later->d_row, later->d_start);
        CUDA_TRY_GOTO(error, done, cudaGetLastError());
    }
done:
    cudaFree(d_first);
    if (error != cudaSuccess) segment_list_free(later);
    return error;
}

/* ---- on the host ----------------------------------------------------------------------------- */

cudaError_t segment_list_build_on_host(const spmm_matrix *A, int split, segment_list *later)
{
    const int64_t *row_ptr = A->host->row_ptr;
    int count = 0;
    cudaError_t error = cudaErrorMemoryAllocation;
    *later = {};
    for (int row = 0; row < A->rows; row++)
        count += later_segments_of_row((int)(row_ptr[row + 1] - row_ptr[row]), split);
    int *rows = (int *)malloc((size_t)count * sizeof(int) + 1);
    int *starts = (int *)malloc((size_t)count * sizeof(int) + 1);
    if (!rows || !starts) goto done;
    for (int row = 0, i = 0; row < A->rows; row++)
        for (int64_t start = row_ptr[row] + split; start < row_ptr[row + 1]; start += split, i++) {
            rows[i] = row;
            starts[i] = (int)start;
        }
    CUDA_TRY_GOTO(error, done, segment_list_alloc(later, count));
    CUDA_TRY_GOTO(error, done,
                  cudaMemcpy(later->d_row, rows, count * sizeof(int), cudaMemcpyHostToDevice));
    CUDA_TRY_GOTO(error, done,
                  cudaMemcpy(later->d_start, starts, count * sizeof(int), cudaMemcpyHostToDevice));
done:
    free(rows);
    free(starts);
    if (error != cudaSuccess) segment_list_free(later);
    return error;
}
