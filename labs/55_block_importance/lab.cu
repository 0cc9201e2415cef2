/*
 * Lab 55 - block importance: which blocks of block-sparse weights to drop, and which absent ones to grow.
 *
 * Idea      The gradient of an absent block is a dense product that nobody wants to pay for. Reduce each token's features
 *           to one number a block first: what is left is a product B * B times smaller, and it bounds the gradient.
 * Changed   Lab 54 forms the gradient of blocks that exist. Here every block of W gets one number, from a product that is
 *           dense and small: reading X and dY once is nearly all of the work.
 * Run       make lab55 && ./lab55 blocks:in=1024,block=32,density=0.3 512     ./lab55 --set NORM=l2,PAIRS=8,SCALE=0.5
 * Watch     NaN: fmaxf(NaN, 1) is 1, and an infinity times 0 is NaN.
 * Paper     S. Gray, A. Radford, D. P. Kingma: GPU Kernels for Block-Sparse Weights, 2017: feature_reduce, hGemmTN.
 */
#include "device/async_copy.cuh"
#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/half.cuh"
#include "device/mma.cuh"
#include "device/partial_sums.cuh"
#include "device/pdl.cuh"
#include "device/swizzle.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "ops/block_importance.h"
#include "ops/plan_state.cuh"

#include <stdlib.h>

enum { TUNE_PIECES };

/* Threads of a reduction, and loads of 16 bytes that each of its lanes has in flight. */
constexpr int REDUCERS = 256, LOADS = 4;

/* The product: blocks of a tile's side, tokens of a step, steps that lie in shared memory, and threads. */
constexpr int SIDE = 64, TOKENS = 32, STAGES = 3, THREADS = 128;

/* One side of the product: features, and R of them, [tokens][pitch]. Rows and columns are filled up with zeros to whole
 * steps and tiles, which prepare writes once. */
struct reduced_side {
    const void *x;
    void *R;
    int lines; /* blocks of features */
    int pitch;
};

/* Arguments of the kernels. side: X and dY. */
struct importance_of {
    reduced_side side[2];
    int N, tokens; /* of a pair, of all */
    int steps;
    bool l2;
    float scale;
    const float *old;
    float *importance;
    float *parts;
    unsigned *arrived; /* of each tile */
};

/* The side of a thread block. An index that the compiler does not know would make it copy all arguments to local memory,
 * thread by thread: more bytes than the features. */
__device__ __forceinline__ const reduced_side &side_of(const importance_of &a)
{
    return blockIdx.z == 0 ? a.side[0] : a.side[1];
}

/* ---- norms ------------------------------------------------------------------------------------- */

/* The norm of two groups, before the root. */
__device__ __forceinline__ float join(float a, float b, bool l2)
{
    float both = a + b;
    /* BEGIN STUDENT: the larger of two, neither of them negative. A NaN must stay one, and fmaxf loses it */
    if (!l2) both = __uint_as_float(max(__float_as_uint(a), __float_as_uint(b)));
    /* END STUDENT */
    return both;
}

/* The largest |x| of numbers of 16 bits, by their bits as join does it, and two at once: half the instructions, and no number
 * is converted but the result. */
template <class H, int V> __device__ __forceinline__ float largest_of(const H (&x)[V])
{
    uint32_t pair[V / 2], largest = 0;
    memcpy(pair, x, sizeof pair);
#pragma unroll
    for (int i = 0; i < V / 2; i++)
        largest = __vmaxu2(largest, pair[i] & 0x7fff7fffu);
    const uint16_t bits = max(largest & 0xffffu, largest >> 16);
    H result;
    memcpy(static_cast<void *>(&result), &bits, sizeof result);
    return widen(result);
}

/* The norm of a lane's numbers, before the root. The largest |x| stays exactly that. */
template <class H, int V> __device__ __forceinline__ float norm_of(const H (&x)[V], bool l2)
{
    if constexpr (sizeof(H) == 2)
        if (!l2) return largest_of(x);
    float norm = 0;
#pragma unroll
    for (int i = 0; i < V; i++) {
        const float v = widen(x[i]);
        norm = join(norm, l2 ? v * v : fabsf(v), l2);
    }
    return norm;
}

/* Joins the norms of LANES neighbouring lanes, and takes the root. All lanes of the warp must be here. */
template <int LANES> __device__ __forceinline__ float join_lanes(float norm, bool l2)
{
#pragma unroll
    for (int d = LANES / 2; d > 0; d /= 2)
        norm = join(norm, __shfl_xor_sync(FULL_MASK, norm, d), l2);
    return l2 ? sqrtf(norm) : norm;
}

/* Counts NaN and infinities as 0. */
__device__ __forceinline__ float finite_or_0(float x)
{
    float counts = x;
    /* BEGIN STUDENT: NaN and both infinities become 0 */
    counts = fabsf(x) < INFINITY ? x : 0;
    /* END STUDENT */
    return counts;
}

/* A warp a block of W. Features are reduced meanwhile: none of the three kernels fills the device to its end. */
template <class H>
static __global__ void __launch_bounds__(REDUCERS)
    block_norm_kernel(const H *W, int blocks, int elements, bool l2, float *result)
{
    constexpr int V = 16 / sizeof(H);
    pdl_launch_dependents();
    const int block = blockIdx.x * (REDUCERS / 32) + warp_id();
    if (block >= blocks) return;
    float norm = 0;
#pragma unroll 8
    for (int i = lane_id() * V; i < elements; i += 32 * V) {
        H x[V];
        load_vector_streaming(x, W + (size_t)block * elements + i);
        norm = join(norm, norm_of(x, l2), l2);
    }
    norm = join_lanes<32>(norm, l2);
    if (lane_id() == 0) result[block] = finite_or_0(norm);
}

/* Features side by side: a warp takes a token and 1024 features. B / 8 neighbouring lanes have a block. In the end
 * they wait for the norms of W: so the product, which waits for them, comes after both. */
template <class H, int B>
static __global__ void __launch_bounds__(REDUCERS) feature_reduce_kernel(const importance_of a)
{
    constexpr int LANES = B / 8;
    const reduced_side side = side_of(a);
    const int token = blockIdx.x * (REDUCERS / 32) + warp_id(), pieces = side.lines * LANES;
    const int first = blockIdx.y * 32 * LOADS + lane_id();
    if (token >= a.tokens) return;
    pdl_launch_dependents();
    const H *from = (const H *)side.x + (size_t)token * pieces * 8;
    H x[LOADS][8] = {};
#pragma unroll
    for (int i = 0; i < LOADS; i++)
        if (first + 32 * i < pieces) load_vector_streaming(x[i], from + (first + 32 * i) * 8);
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        const int piece = first + 32 * i;
        const float norm = join_lanes<LANES>(norm_of(x[i], a.l2), a.l2);
        if (piece % LANES == 0 && piece < pieces)
            ((H *)side.R)[(size_t)token * side.pitch + piece / LANES] = narrow<H>(norm);
    }
    pdl_wait();
}

/* Tokens side by side: a thread takes a token and a block. */
template <int B>
static __global__ void __launch_bounds__(REDUCERS) feature_reduce_kernel(const importance_of a)
{
    const reduced_side side = side_of(a);
    const int token = blockIdx.x * REDUCERS + threadIdx.x;
    if (token >= a.tokens) return;
    pdl_launch_dependents();
    const int pair = token / a.N;
    for (int line = blockIdx.y; line < side.lines; line += gridDim.y) {
        const size_t feature = ((size_t)pair * side.lines + line) * B;
        const float *from = (const float *)side.x + feature * a.N + token % a.N;
        float norm = 0;
#pragma unroll 8
        for (int i = 0; i < B; i++) {
            const float x[1] = {__ldcs(from + (size_t)i * a.N)};
            norm = join(norm, norm_of(x, a.l2), a.l2);
        }
        ((float *)side.R)[(size_t)token * side.pitch + line] = a.l2 ? sqrtf(norm) : norm;
    }
    pdl_wait();
}

/* ---- the product: importance = R(X)^T R(dY) ------------------------------------------------------ */

/* A tile of one operand: TOKENS rows of SIDE numbers, in pieces of 16 bytes. */
template <class H> struct tile_of {
    static constexpr int V = 16 / sizeof(H), ROW = SIDE / V, SIZE = TOKENS * SIDE;

    /* Where piece `c` of row `r` lies. */
    static __device__ __forceinline__ int place(int r, int c)
    {
        return r * SIDE + swizzled_piece<SIDE * sizeof(H)>(r, c) * V;
    }
};

/* Starts the copies of a step: both tiles, which are whole. */
template <class H>
__device__ __forceinline__ void fetch(const importance_of &a, int2 corner, int step, H *stage)
{
    typedef tile_of<H> T;
#pragma unroll
    for (int side = 0; side < 2; side++) {
        const int pitch = a.side[side].pitch;
        const H *from = (const H *)a.side[side].R + (size_t)step * TOKENS * pitch +
                        (side == 0 ? corner.x : corner.y);
#pragma unroll
        for (unsigned i = threadIdx.x; i < TOKENS * T::ROW; i += THREADS)
            async_copy<16>(stage + side * T::SIZE + T::place(i / T::ROW, i % T::ROW),
                           from + (size_t)(i / T::ROW) * pitch + i % T::ROW * T::V);
    }
}

/* A thread's sums of a tile. In 16 bits a warp has 32 x 32 of it: sum[4 m + n] is of the mma of 16 x 8 at (16 m, 8 n). */
template <class H>
__device__ __forceinline__ void multiply_add(const H *X, const H *dY, float (&sum)[8][4])
{
    typedef tile_of<H> T;
    const int lane = lane_id(), input = warp_id() % 2 * 32, output = warp_id() / 2 * 32;
#pragma unroll
    for (int k = 0; k < TOKENS; k += 16) {
        uint32_t y[2][4];
#pragma unroll
        for (int n = 0; n < 2; n++)
            ldmatrix_x4_trans(y[n], dY + T::place(k + lane % 16, output / 8 + 2 * n + lane / 16));
#pragma unroll
        for (int m = 0; m < 2; m++) {
            uint32_t x[4] = {};
            /* BEGIN STUDENT: x, transposed on the way: mma's A has a block of X a row, and tokens by columns */
            ldmatrix_x4_trans(
                x, X + T::place(k + lane / 16 * 8 + lane % 8, input / 8 + 2 * m + lane / 8 % 2));
            /* END STUDENT */
#pragma unroll
            for (int n = 0; n < 4; n++) {
                const uint32_t b[2] = {y[n / 2][n % 2 * 2], y[n / 2][n % 2 * 2 + 1]};
                mma_m16n8k16<H>(sum[4 * m + n], x, b);
            }
        }
    }
}

/* In fp32 a thread has 4 x 4 at (4 r, 4 c), sum[2 i], and at (4 r, 4 c + 32), sum[2 i + 1]. */
__device__ __forceinline__ void multiply_add(const float *X, const float *dY, float (&sum)[8][4])
{
    typedef tile_of<float> T;
    const int r = threadIdx.x / 8, c = threadIdx.x % 8;
#pragma unroll 4
    for (int k = 0; k < TOKENS; k++) {
        float x[4], y[2][4];
        load_vector_plain(x, X + T::place(k, r));
        load_vector_plain(y[0], dY + T::place(k, c));
        load_vector_plain(y[1], dY + T::place(k, c + 8));
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum[i][j] += x[i / 2] * y[i % 2][j];
    }
}

/* The row and column of sum[i][j] in the tile. */
template <class H> __device__ __forceinline__ int2 position(int i, int j)
{
    const int lane = lane_id(), warp = warp_id();
    if constexpr (sizeof(H) == 4)
        return make_int2(threadIdx.x / 8 * 4 + i / 2, threadIdx.x % 8 * 4 + i % 2 * 32 + j);
    else
        return make_int2(warp % 2 * 32 + i / 4 * 16 + lane / 4 + j / 2 * 8,
                         warp / 2 * 32 + i % 4 * 8 + lane % 4 * 2 + j % 2);
}

/* A thread block: a tile of SIDE x SIDE blocks, and piece blockIdx.z of gridDim.z of the steps. */
template <class H>
static __global__ void __launch_bounds__(THREADS) importance_product_kernel(const importance_of a)
{
    constexpr int SIZE = tile_of<H>::SIZE;
    __shared__ __align__(16) H stages[STAGES * 2 * SIZE];
    const int2 corner = make_int2(blockIdx.y * SIDE, blockIdx.x * SIDE);
    const int first = (int)((int64_t)a.steps * blockIdx.z / gridDim.z);
    const int end = (int)((int64_t)a.steps * (blockIdx.z + 1) / gridDim.z);
    float sum[8][4] = {};
    pdl_wait(); /* for R */
    for (int step = first; step < first + STAGES - 1; step++) {
        if (step < end) fetch(a, corner, step, stages + (step - first) * 2 * SIZE);
        async_commit(); /* an empty group keeps the count right */
    }
    for (int step = first; step < end; step++) {
        async_wait<STAGES - 2>();
        __syncthreads();
        const int ahead = step + STAGES - 1;
        if (ahead < end) fetch(a, corner, ahead, stages + (ahead - first) % STAGES * 2 * SIZE);
        async_commit();
        const H *X = stages + (step - first) % STAGES * 2 * SIZE;
        multiply_add(X, X + SIZE, sum);
    }
    const unsigned tile = blockIdx.y * gridDim.x + blockIdx.x;
    const auto number = [=](int piece) { return (size_t)tile * gridDim.z + piece; };
    if (gridDim.z > 1 &&
        !add_parts<THREADS>(a.parts, a.arrived + tile, blockIdx.z, 0, gridDim.z, number, sum))
        return;
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int2 at = position<H>(i, j);
            const int c = corner.x + at.x, k = corner.y + at.y;
            if (c >= a.side[0].lines || k >= a.side[1].lines) continue;
            const size_t to = (size_t)c * a.side[1].lines + k;
            a.importance[to] = finite_or_0(a.scale * sum[i][j]) + (a.old ? a.old[to] : 0);
        }
}

/* ---- plans ------------------------------------------------------------------------------------ */

typedef struct importance_state {
    void *d_R[2];
    partial_sums parts;
    bool
        early; /* kernels wait where they say so, and may start before the one before them has ended */
} importance_state;

static int up(int64_t x, int unit)
{
    return (int)((x + unit - 1) / unit);
}

static int64_t all_tokens(const block_importance_plan *plan)
{
    return (int64_t)plan->pairs * plan->N;
}

static size_t tiles_of(const block_importance_plan *plan)
{
    return (size_t)up(plan->layout->rows, SIDE) * up(plan->layout->cols, SIDE);
}

static size_t reduced_bytes(const block_importance_plan *plan, int lines)
{
    return (size_t)up(all_tokens(plan), TOKENS) * TOKENS * up(lines, SIDE) * SIDE *
           precision_format(plan->contender->base.precision)->bytes;
}

static void release(block_importance_plan *plan)
{
    importance_state *s = (importance_state *)plan->state;
    for (int i = 0; i < 2; i++)
        cudaFree(s->d_R[i]);
    partial_sums_free(&s->parts);
    free(s);
}

static cudaError_t fill(const block_importance_plan *plan, importance_state *s)
{
    CUDA_TRY(compiled_for_90(importance_product_kernel<float>, &s->early));
    for (int i = 0; i < 2; i++) {
        const size_t bytes = reduced_bytes(plan, i == 0 ? plan->layout->rows : plan->layout->cols);
        CUDA_TRY(cudaMalloc(&s->d_R[i], bytes + 1));
        CUDA_TRY(cudaMemset(s->d_R[i], 0, bytes));
    }
    const size_t tiles = tiles_of(plan), pieces = plan->tuning[TUNE_PIECES];
    if (pieces == 1) return cudaSuccess;
    return partial_sums_make(tiles * pieces * SIDE * SIDE, tiles, &s->parts);
}

static cudaError_t prepare(block_importance_plan *plan)
{
    if (all_tokens(plan) > INT32_MAX - TOKENS) return cudaErrorNotSupported;
    return plan_state_make<importance_state>(plan, fill, release);
}

/* Pieces until each multiprocessor has two thread blocks, as long as a piece fills the ring twice. */
static void choose(int64_t rows, int64_t cols, int64_t tokens, int *tuning)
{
    const int64_t tiles = (int64_t)up(rows, SIDE) * up(cols, SIDE);
    int pieces = 1;
    while (pieces < 32 && tiles * pieces < 2 * device_facts_get()->sms &&
           tokens >= 2 * pieces * STAGES * TOKENS)
        pieces *= 2;
    tuning[TUNE_PIECES] = pieces;
}

static bool early(const block_importance_plan *plan)
{
    return ((const importance_state *)plan->state)->early;
}

template <class H, int B>
static cudaError_t reduce_features(const block_importance_plan *plan, const importance_of &a,
                                   cudaStream_t stream)
{
    const int lines = max(plan->layout->rows, plan->layout->cols);
    if constexpr (sizeof(H) == 4) {
        const dim3 grid(up(a.tokens, REDUCERS), min(lines, 65535), 2);
        return launch_with_pdl(feature_reduce_kernel<B>, grid, REDUCERS, 0, stream, a, early(plan));
    } else {
        const dim3 grid(up(a.tokens, REDUCERS / 32), up((int64_t)lines * B, 32 * LOADS * 8), 2);
        return launch_with_pdl(feature_reduce_kernel<H, B>, grid, REDUCERS, 0, stream, a,
                               early(plan));
    }
}

/* R of both sides, then their product. A scale of 0 leaves what there was, or zeros. */
template <class H>
static cudaError_t run_importance(const block_importance_plan *plan, const importance_of &a,
                                  cudaStream_t stream)
{
    const size_t bytes = (size_t)plan->layout->rows * plan->layout->cols * sizeof(float);
    if (bytes == 0) return cudaSuccess;
    if (plan->scale == 0)
        return a.old ? cudaMemcpyAsync(a.importance, a.old, bytes, cudaMemcpyDeviceToDevice, stream)
                     : cudaMemsetAsync(a.importance, 0, bytes, stream);
    if (plan->block == 8)
        CUDA_TRY((reduce_features<H, 8>(plan, a, stream)));
    else if (plan->block == 16)
        CUDA_TRY((reduce_features<H, 16>(plan, a, stream)));
    else if (plan->block == 32)
        CUDA_TRY((reduce_features<H, 32>(plan, a, stream)));
    else
        CUDA_TRY((reduce_features<H, 64>(plan, a, stream)));
    const dim3 grid(up(plan->layout->cols, SIDE), up(plan->layout->rows, SIDE),
                    plan->tuning[TUNE_PIECES]);
    return launch_with_pdl(importance_product_kernel<H>, grid, THREADS, 0, stream, a, early(plan));
}

template <class H>
static cudaError_t run(const block_importance_plan *plan, const importance_inputs *in,
                       float *importance, float *norm, cudaStream_t stream)
{
    const importance_state *s = (const importance_state *)plan->state;
    const block_layout *l = plan->layout;
    const importance_of a = {
        .side = {{in->X, s->d_R[0], l->rows, up(l->rows, SIDE) * SIDE},
                 {in->dY, s->d_R[1], l->cols, up(l->cols, SIDE) * SIDE}},
        .N = plan->N,
        .tokens = (int)all_tokens(plan),
        .steps = up(all_tokens(plan), TOKENS),
        .l2 = plan->norm == IMPORTANCE_L2,
        .scale = plan->scale,
        .old = in->old,
        .importance = importance,
        .parts = s->parts.d_sums,
        .arrived = s->parts.d_arrived,
    };
    /* Launched without blocks, too: what comes next may start early behind a kernel of ours alone. */
    block_norm_kernel<H><<<max(up(l->blocks, REDUCERS / 32), 1), REDUCERS, 0, stream>>>(
        (const H *)in->W, l->blocks, plan->block * plan->block, a.l2, norm);
    CUDA_TRY(cudaGetLastError());
    return run_importance<H>(plan, a, stream);
}

static size_t workspace_bytes(const block_importance_plan *plan)
{
    const importance_state *s = (const importance_state *)plan->state;
    return reduced_bytes(plan, plan->layout->rows) + reduced_bytes(plan, plan->layout->cols) +
           s->parts.bytes;
}

#define BLOCK_IMPORTANCE(title, kind, number, where)                                             \
    static block_importance_contender title = {                                                  \
        .base =                                                                                  \
            {.lab = 55,                                                                          \
             .name = #title,                                                                     \
             .summary = "features reduced by blocks, then a small dense product of all blocks",  \
             .precision = kind,                                                                  \
             .min_compute_capability = kind == PRECISION_FP32 ? 0 : 80,                          \
             .unit = where,                                                                      \
             .tunables = {{"PIECES", "thread blocks of one tile", {1, 2, 4, 8, 16, 32}, 6, 1}}}, \
        .choose = choose,                                                                        \
        .prepare = prepare,                                                                      \
        .run = run<number>,                                                                      \
        .workspace_bytes = workspace_bytes,                                                      \
        .release = release,                                                                      \
    };                                                                                           \
    BLOCK_IMPORTANCE_REGISTER(title)

BLOCK_IMPORTANCE(block_importance, PRECISION_FP32, float, UNIT_CUDA_CORES)
BLOCK_IMPORTANCE(block_importance_fp16, PRECISION_FP16, __half, UNIT_TENSOR_CORES)
BLOCK_IMPORTANCE(block_importance_bf16, PRECISION_BF16, __nv_bfloat16, UNIT_TENSOR_CORES)
