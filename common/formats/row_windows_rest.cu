/*
 * row_windows_rest.cu - the residual of row_windows.h: its rows times B, on CUDA cores.
 */
#include "device/cuda_try.h"
#include "device/vec.cuh"
#include "formats/row_windows.h"

constexpr int BLOCK = 128, LANES = 8, ROWS = BLOCK / LANES; /* lanes of a row; rows of a block */
constexpr int WIDTH = 32;                                   /* columns that a block takes of C */

struct rest_product {
    row_windows w;
    int N;
    const float *B;
    float *C;
};

/* Eight lanes take a row and 32 columns; V columns a load. */
template <int V>
static __global__ void __launch_bounds__(BLOCK)
    spmm_block_row_residual_kernel(const __grid_constant__ rest_product p, int row_blocks)
{
    const int i = (int)blockIdx.x % row_blocks * ROWS + (int)threadIdx.x / LANES;
    const int column = (int)blockIdx.x / row_blocks * WIDTH + (int)threadIdx.x % LANES * V;
    if (i >= p.w.rest_rows) return;
    constexpr int K = WIDTH / LANES / V, NEXT = LANES * V, IN_FLIGHT = 4;
    const int marked = p.w.d_rest_row[i], row = marked & ~RESIDUAL_ADDS;
    const int begin = p.w.d_rest_start[i], end = p.w.d_rest_start[i + 1];
    float sum[K][V] = {};
    float *const out = p.C + (size_t)row * p.N;
#pragma unroll
    for (int k = 0; k < K; k++)
        if ((marked & RESIDUAL_ADDS) && column + k * NEXT < p.N)
            load_vector_plain(sum[k], out + column + k * NEXT);
    for (int first = begin; first < end; first += IN_FLIGHT) {
        float b[IN_FLIGHT][K][V], value[IN_FLIGHT];
#pragma unroll
        for (int d = 0; d < IN_FLIGHT; d++) {
            if (first + d >= end) continue;
            const float *const from = p.B + (size_t)p.w.d_rest_column[first + d] * p.N;
            value[d] = p.w.d_rest_value[first + d];
#pragma unroll
            for (int k = 0; k < K; k++)
                load_vector(b[d][k], from + min(column + k * NEXT, p.N - V));
        }
#pragma unroll
        for (int d = 0; d < IN_FLIGHT; d++) {
            if (first + d >= end) continue;
#pragma unroll
            for (int k = 0; k < K; k++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    sum[k][v] += value[d] * b[d][k][v];
        }
    }
#pragma unroll
    for (int k = 0; k < K; k++)
        if (column + k * NEXT < p.N) store_vector_streaming(out + column + k * NEXT, sum[k]);
}

cudaError_t row_windows_multiply_rest(const row_windows *windows, int N, const float *B, float *C,
                                      cudaStream_t stream)
{
    if (windows->rest_rows == 0) return cudaSuccess;
    const int row_blocks = (windows->rest_rows + ROWS - 1) / ROWS, slices = (N + WIDTH - 1) / WIDTH;
    const rest_product p = {*windows, N, B, C};
    auto *const kernel =
        N % 4 ? spmm_block_row_residual_kernel<1> : spmm_block_row_residual_kernel<4>;
    kernel<<<row_blocks * slices, BLOCK, 0, stream>>>(p, row_blocks);
    return cudaGetLastError();
}
