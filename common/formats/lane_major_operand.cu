/*
 * lane_major_operand.cu - brings B into the order of lane_major_operand.cuh.
 */
#include "formats/lane_major_operand.cuh"

#include "device/cuda_try.h"
#include "device/half.cuh"
#include "device/pdl.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

constexpr int X_THREADS = 128;

/* Orders X: a thread 16 bytes, a lane's share of a tile of half a quad; halves are numbered through. */
template <class H>
static __global__ void __launch_bounds__(X_THREADS)
    spmm_order_X_kernel(const __grid_constant__ x_order<H> p)
{
    pdl_launch_dependents();
    const int64_t i = (int64_t)blockIdx.x * X_THREADS + threadIdx.x;
    pdl_wait(); /* for whoever writes B, and for whoever still reads X */
    if (i >= (int64_t)p.quads * 2 * p.tiles * WARP_SIZE) return;
    const int lane = (int)(i % WARP_SIZE), part = (int)(i / WARP_SIZE);
    const int half = part / p.tiles, tile = part % p.tiles;
    const int first = half * 32 + lane % 4 * 8, column = p.column + 8 * tile + lane / 4;
    H x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const bool inside = first + k < p.rows && column < p.N;
        x[k] = inside ? p.B[(size_t)(first + k) * p.N + column] : narrow<H>(0.0f);
    }
    /* Loaded at the same time, not one after the other. */
    const uint64_t used = p.used[half / 2] >> first % 64;
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (!(used >> k & 1)) x[k] = narrow<H>(0.0f);
    store_vector((H *)&p.X[i], x);
}

cudaError_t lane_major_operand_prepare(void)
{
    bool is_built;
    CUDA_TRY(compiled_for_90(spmm_order_X_kernel<__half>, &is_built));
    if (!is_built) return cudaErrorNoKernelImageForDevice;
    /* A multiprocessor runs this kernel beside the next only if it need not divide its memory anew. */
    return cudaFuncSetAttribute(spmm_order_X_kernel<__half>,
                                cudaFuncAttributePreferredSharedMemoryCarveout,
                                cudaSharedmemCarveoutMaxShared);
}

cudaError_t lane_major_operand_order(const x_order<__half> *order, cudaStream_t stream)
{
    const int64_t threads = (int64_t)order->quads * 2 * order->tiles * WARP_SIZE;
    const unsigned blocks = (unsigned)((threads - 1) / X_THREADS + 1);
    return launch_with_pdl(spmm_order_X_kernel<__half>, blocks, X_THREADS, 0, stream, *order);
}
