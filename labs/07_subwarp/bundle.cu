/*
 * bundle.cu - rows of like length side by side, window by window.
 */
#include "bundle.h"

#include "device/cuda_try.h"
#include "matrix/row_order.h"

#include <stdlib.h>

constexpr int WINDOW = 4096;  /* rows */
constexpr int CLASSES = 1024; /* one for each length; the last for 1023 and more */

cudaError_t bundle_rows(const spmm_matrix *A, int **d_order)
{
    const size_t bytes = A->rows * sizeof(int);
    int *const order = (int *)malloc(bytes + 1);
    cudaError_t error = cudaErrorMemoryAllocation;
    *d_order = NULL;
    if (!order) return error;
    rows_by_length(A->host, WINDOW, 1, CLASSES, order);
    CUDA_TRY_GOTO(error, done, cudaMalloc((void **)d_order, bytes));
    CUDA_TRY_GOTO(error, done, cudaMemcpy(*d_order, order, bytes, cudaMemcpyHostToDevice));
done:
    free(order);
    if (error == cudaSuccess) return error;
    cudaFree(*d_order);
    *d_order = NULL;
    return error;
}
