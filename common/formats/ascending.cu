/*
 * ascending.cu - looks for a column that does not follow the one before it.
 */
#include "formats/ascending.h"

#include "device/cuda_try.h"
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
