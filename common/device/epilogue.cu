#include "device/epilogue.cuh"

#include "device/cuda_try.h"
#include "device/half.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

constexpr int ROWS = 8; /* of a block, a warp each */
constexpr unsigned MOST_SLICES = 65535;

/* A lane has V neighbouring columns, a warp 32 V of them, and then those of the next slices. */
template <class H, int V>
static __global__ void __launch_bounds__(ROWS *WARP_SIZE)
    epilogue_kernel(const row_epilogue e, int rows, int N, H *C)
{
    const int row = blockIdx.x * ROWS + threadIdx.y;
    if (row >= rows) return;
    for (int64_t j = ((int64_t)blockIdx.y * WARP_SIZE + threadIdx.x) * V; j < N;
         j += (int64_t)gridDim.y * WARP_SIZE * V) {
        H *const at = &C[(size_t)row * N + j];
        H c[V];
        float sum[V];
        load_vector_plain(c, at);
#pragma unroll
        for (int v = 0; v < V; v++)
            sum[v] = widen(c[v]);
        apply_epilogue(e, row, sum);
#pragma unroll
        for (int v = 0; v < V; v++)
            c[v] = narrow<H>(sum[v]);
        store_vector(at, c);
    }
}

template <class H>
static cudaError_t run(const row_epilogue &e, int rows, int N, void *C, cudaStream_t stream)
{
    constexpr int WIDE = 16 / sizeof(H);
    const int columns = WARP_SIZE * (N % WIDE ? 1 : WIDE);
    const unsigned slices = (unsigned)((N - 1) / columns + 1);
    const dim3 grid((rows - 1) / ROWS + 1, slices < MOST_SLICES ? slices : MOST_SLICES);
    const dim3 block(WARP_SIZE, ROWS);
    if (N % WIDE)
        epilogue_kernel<H, 1><<<grid, block, 0, stream>>>(e, rows, N, (H *)C);
    else
        epilogue_kernel<H, WIDE><<<grid, block, 0, stream>>>(e, rows, N, (H *)C);
    return cudaGetLastError();
}

cudaError_t epilogue_run(const row_epilogue *e, cudaDataType type, int rows, int N, void *C,
                         cudaStream_t stream)
{
    if (epilogue_is_none(e) || rows == 0 || N == 0) return cudaSuccess;
    switch (type) {
    case CUDA_R_16F:
        return run<__half>(*e, rows, N, C, stream);
    case CUDA_R_16BF:
        return run<__nv_bfloat16>(*e, rows, N, C, stream);
    default:
        return run<float>(*e, rows, N, C, stream);
    }
}
