#include "kernels.h"

#include "device/half.cuh"
#include "device/parallel_for.cuh"
#include "device/warp.cuh"

constexpr int COLORS = 3, TAPS = 9;
constexpr int STEM_THREADS = 128,
              STEM_CHANNELS = 8; /* of a block: pixels, and the channels of each */
constexpr int POOL_WARPS = 4;

static __device__ __forceinline__ float relu(float x)
{
    return x < 0 ? 0 : x; /* NaN stays NaN */
}

/* ---- the stem ---------------------------------------------------------------------------------- */

/* A thread keeps the 27 inputs of its pixel, and multiplies them by the weights of STEM_CHANNELS channels in turn. */
template <class H>
static __global__ void __launch_bounds__(STEM_THREADS) stem_kernel(const __grid_constant__ planes p)
{
    __shared__ float weights[STEM_CHANNELS][COLORS * TAPS];
    const int first = blockIdx.y * STEM_CHANNELS, channels = min(STEM_CHANNELS, p.out - first);
    const H *const from = (const H *)p.weights + (size_t)first * COLORS * TAPS;
    for (int i = threadIdx.x; i < channels * COLORS * TAPS; i += STEM_THREADS)
        weights[i / (COLORS * TAPS)][i % (COLORS * TAPS)] = widen(from[i]);
    __syncthreads();
    const int64_t of_image = (int64_t)p.out_side * p.out_side, columns = p.batch * of_image;
    const int64_t column = (int64_t)blockIdx.x * STEM_THREADS + threadIdx.x;
    if (column >= columns) return;
    const int image = (int)(column / of_image), pixel = (int)(column % of_image);
    const int row = pixel / p.out_side * p.stride - 1, at = pixel % p.out_side * p.stride - 1;
    const int64_t pixels = (int64_t)p.in_side * p.in_side;
    float x[COLORS][TAPS];
#pragma unroll
    for (int k = 0; k < COLORS; k++) {
        const H *const plane = (const H *)p.x + (k * p.batch + image) * pixels;
#pragma unroll
        for (int t = 0; t < TAPS; t++) {
            const int r = row + t / 3, c = at + t % 3;
            const bool inside = r >= 0 && r < p.in_side && c >= 0 && c < p.in_side;
            x[k][t] = inside ? widen(plane[r * p.in_side + c]) : 0;
        }
    }
    for (int i = 0; i < channels; i++) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < COLORS; k++)
#pragma unroll
            for (int t = 0; t < TAPS; t++)
                sum += weights[i][k * TAPS + t] * x[k][t];
        ((H *)p.y)[(first + i) * columns + column] = narrow<H>(relu(sum + p.bias[first + i]));
    }
}

cudaError_t stem_run(const planes *p, cudaStream_t stream)
{
    const int64_t columns = (int64_t)p->batch * p->out_side * p->out_side;
    const dim3 grid((unsigned)((columns - 1) / STEM_THREADS + 1), (p->out - 1) / STEM_CHANNELS + 1);
    if (p->precision == PRECISION_FP16)
        stem_kernel<__half><<<grid, STEM_THREADS, 0, stream>>>(*p);
    else
        stem_kernel<float><<<grid, STEM_THREADS, 0, stream>>>(*p);
    return cudaGetLastError();
}

/* ---- depthwise --------------------------------------------------------------------------------- */

/* A tile of TILE x TILE outputs of a plane is the work of TILE x ROWS threads, a column of TILE / ROWS outputs each. Small
 * images leave room for PLANES planes in a block. */
template <int TILE> struct tile_shape {
    static constexpr int ROWS = TILE < 32 ? TILE / 2 : 8, THREADS = TILE * ROWS;
    static constexpr int PLANES = THREADS < 256 ? 256 / THREADS : 1;
};

/* Fetches the inputs of a tile with their border into shared memory, zeros outside the image; then each thread sums. */
template <class H, int TILE, int STRIDE>
static __global__ void __launch_bounds__(256)
    depthwise_kernel(const __grid_constant__ planes p, int tiles)
{
    constexpr int ROWS = tile_shape<TILE>::ROWS, PLANES = tile_shape<TILE>::PLANES;
    constexpr int THREADS = tile_shape<TILE>::THREADS, SIDE = (TILE - 1) * STRIDE + 3;
    __shared__ float inputs[PLANES][SIDE][SIDE];
    const int tile = blockIdx.x % (tiles * tiles), group = blockIdx.x / (tiles * tiles);
    const int plane = group * PLANES + threadIdx.z, thread = threadIdx.y * TILE + threadIdx.x;
    const int row0 = tile / tiles * TILE, column0 = tile % tiles * TILE;
    const bool exists = plane < p.out * p.batch;
    const H *const x = (const H *)p.x + (int64_t)plane * p.in_side * p.in_side;
    for (int i = thread; i < SIDE * SIDE && exists; i += THREADS) {
        const int r = row0 * STRIDE - 1 + i / SIDE, c = column0 * STRIDE - 1 + i % SIDE;
        const bool inside = r >= 0 && r < p.in_side && c >= 0 && c < p.in_side;
        inputs[threadIdx.z][i / SIDE][i % SIDE] = inside ? widen(x[r * p.in_side + c]) : 0;
    }
    __syncthreads();
    if (!exists) return;
    const int channel = plane / p.batch, column = column0 + threadIdx.x;
    float weight[TAPS];
#pragma unroll
    for (int t = 0; t < TAPS; t++)
        weight[t] = widen(((const H *)p.weights)[channel * TAPS + t]);
    const float bias = p.bias[channel];
    H *const y = (H *)p.y + (int64_t)plane * p.out_side * p.out_side;
#pragma unroll
    for (int i = threadIdx.y; i < TILE; i += ROWS) {
        float sum = 0;
#pragma unroll
        for (int t = 0; t < TAPS; t++)
            sum +=
                weight[t] * inputs[threadIdx.z][i * STRIDE + t / 3][threadIdx.x * STRIDE + t % 3];
        if (row0 + i < p.out_side && column < p.out_side)
            y[(row0 + i) * p.out_side + column] = narrow<H>(relu(sum + bias));
    }
}

template <class H, int TILE> static cudaError_t launch_tiles(const planes *p, cudaStream_t stream)
{
    constexpr int PLANES = tile_shape<TILE>::PLANES;
    const int tiles = (p->out_side - 1) / TILE + 1, all = p->out * p->batch;
    const unsigned blocks = (unsigned)((all - 1) / PLANES + 1) * (tiles * tiles);
    const dim3 block(TILE, tile_shape<TILE>::ROWS, PLANES);
    if (p->stride == 1)
        depthwise_kernel<H, TILE, 1><<<blocks, block, 0, stream>>>(*p, tiles);
    else
        depthwise_kernel<H, TILE, 2><<<blocks, block, 0, stream>>>(*p, tiles);
    return cudaGetLastError();
}

/* The least tile that holds the image, up to 32. */
template <class H> static cudaError_t launch_depthwise(const planes *p, cudaStream_t stream)
{
    if (p->out_side > 16) return launch_tiles<H, 32>(p, stream);
    if (p->out_side > 8) return launch_tiles<H, 16>(p, stream);
    return launch_tiles<H, 8>(p, stream);
}

cudaError_t depthwise_run(const planes *p, cudaStream_t stream)
{
    return p->precision == PRECISION_FP16 ? launch_depthwise<__half>(p, stream)
                                          : launch_depthwise<float>(p, stream);
}

/* ---- the pool ---------------------------------------------------------------------------------- */

/* A warp a plane. */
template <class H>
static __global__ void __launch_bounds__(POOL_WARPS *WARP_SIZE)
    pool_kernel(const __grid_constant__ planes p)
{
    const int plane = blockIdx.x * POOL_WARPS + threadIdx.y, pixels = p.in_side * p.in_side;
    if (plane >= p.out * p.batch) return;
    const H *const x = (const H *)p.x + (int64_t)plane * pixels;
    float sum = 0;
    for (int i = threadIdx.x; i < pixels; i += WARP_SIZE)
        sum += widen(x[i]);
    sum = warp_sum(sum);
    if (threadIdx.x == 0) ((H *)p.y)[plane] = narrow<H>(sum / pixels);
}

cudaError_t pool_run(const planes *p, cudaStream_t stream)
{
    const int blocks = (p->out * p->batch - 1) / POOL_WARPS + 1;
    const dim3 block(WARP_SIZE, POOL_WARPS);
    if (p->precision == PRECISION_FP16)
        pool_kernel<__half><<<blocks, block, 0, stream>>>(*p);
    else
        pool_kernel<float><<<blocks, block, 0, stream>>>(*p);
    return cudaGetLastError();
}

struct nothing {
    __device__ void operator()(int64_t) const {}
};

cudaError_t nothing_run(cudaStream_t stream)
{
    return device_parallel_for(1, nothing{}, stream);
}
