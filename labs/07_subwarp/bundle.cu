/*
 * bundle.cu - rows of like length side by side: a counting sort of each window.
 */
#include "bundle.h"

#include "device/cuda_try.h"

#include <stdlib.h>

constexpr int WINDOW = 4096;     /* rows */
constexpr int MAX_LENGTH = 1023; /* rows this long and longer count as alike */

/* 0 for the longest rows. */
static int sort_key(const csr_matrix *A, int64_t row)
{
    const int64_t length = A->row_ptr[row + 1] - A->row_ptr[row];
    return MAX_LENGTH - (length < MAX_LENGTH ? (int)length : MAX_LENGTH);
}

/* Fills order[from .. to-1] with those numbers. */
static void sort_window(const csr_matrix *A, int64_t from, int64_t to, int *order)
{
    int64_t place[MAX_LENGTH + 2] = {from}; /* place[k]: where the rows of key k begin */
    for (int64_t row = from; row < to; row++)
        place[sort_key(A, row) + 1]++;
    for (int k = 0; k <= MAX_LENGTH; k++)
        place[k + 1] += place[k];
    for (int64_t row = from; row < to; row++)
        order[place[sort_key(A, row)]++] = (int)row;
}

cudaError_t bundle_rows(const spmm_matrix *A, int **d_order)
{
    const size_t bytes = A->rows * sizeof(int);
    int *const order = (int *)malloc(bytes + 1);
    cudaError_t error = cudaErrorMemoryAllocation;
    *d_order = NULL;
    if (!order) return error;
    for (int64_t from = 0; from < A->rows; from += WINDOW)
        sort_window(A->host, from, from + WINDOW < A->rows ? from + WINDOW : A->rows, order);
    CUDA_TRY_GOTO(error, done, cudaMalloc((void **)d_order, bytes));
    CUDA_TRY_GOTO(error, done, cudaMemcpy(*d_order, order, bytes, cudaMemcpyHostToDevice));
done:
    free(order);
    if (error == cudaSuccess) return error;
    cudaFree(*d_order);
    *d_order = NULL;
    return error;
}
