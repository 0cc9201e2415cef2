#include "sddmm.h"

#include "device/warp.cuh"

/* A warp a row, a lane a nonzero. */
static __global__ void sddmm_rows_kernel(int rows, int K, const int *row_ptr, const int *col_idx,
                                         const float *values, const float *X, const float *Y,
                                         float *D, bool with_weights, int skipped)
{
    const int row = blockIdx.x, lane = threadIdx.x;
    if (row >= rows || row == skipped) return;
    for (int z = row_ptr[row] + lane; z < row_ptr[row + 1]; z += WARP_SIZE) {
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum += X[(size_t)row * K + k] * Y[(size_t)col_idx[z] * K + k];
        D[z] = with_weights ? values[z] * sum : sum;
    }
}

cudaError_t sddmm_rows(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream, bool with_weights, int skipped)
{
    const device_csr &W = plan->W;
    if (W.rows == 0) return cudaSuccess;
    sddmm_rows_kernel<<<W.rows, WARP_SIZE, 0, stream>>>(W.rows, plan->K, W.d_row_ptr, W.d_col_idx,
                                                        W.d_values, X, Y, D, with_weights, skipped);
    return cudaGetLastError();
}
