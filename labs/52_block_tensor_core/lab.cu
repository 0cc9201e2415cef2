/*
 * Lab 52 - blocks on tensor cores: products with block-sparse weights in 16 bits, in both directions.
 *
 * Idea      Tensor cores multiply far faster than CUDA cores, so bytes decide. A thread block makes the outputs of
 *           128 neighbouring features: a tile of X that it fetches serves every block of W in that stripe.
 * Changed   Lab 50 gives a thread block one list, here it has the union of several (block_walk.h). Tokens are rows, sums
 *           are formed by mma.sync, and tiles come by asynchronous copies, some steps ahead.
 * Run       make lab52 && ./lab52 blocks:in=1024,block=32,density=0.3 128       ./lab52 --set PASS=bprop
 * Watch     A block that does not exist is neither copied nor multiplied: its place in the ring holds what was there.
 * Paper     S. Gray, A. Radford, D. P. Kingma: GPU Kernels for Block-Sparse Weights, 2017: nx_dsd.
 */
#include "tiles.cuh"

#include "device/cuda_try.h"
#include "device/dynamic_shared.cuh"
#include "device/facts.h"
#include "device/partial_sums.cuh"
#include "formats/block_walk.h"
#include "ops/bsmm.h"
#include "ops/plan_state.cuh"

#include <stdlib.h>

enum { TUNE_TOKENS, TUNE_PIECES };

/* ---- a step ------------------------------------------------------------------------------------ */

/* Which of a warp's two halves of 16 features have a block in this step, and its gate; 0: none, or a closed one. */
struct half_blocks {
    float gate[2];
};

template <int B, bool GATED>
__device__ __forceinline__ half_blocks look_up(const walk_of &a, const int *entry, int feature)
{
    half_blocks h;
#pragma unroll
    for (int p = 0; p < 2; p++) {
        const int block = entry[1 + (feature + 16 * p) / B];
        h.gate[p] = block < 0 ? 0 : GATED ? a.gate[block] : 1;
    }
    return h;
}

/* sum += X times the blocks of one step, for the warp's T / 2 tokens and 32 features. A gate multiplies the block's sums:
 * scaled weights would be rounded to 16 bits. */
template <class H, int B, int T, bool TRANSPOSED, bool GATED>
__device__ __forceinline__ void multiply_add(const H *X, const H *W, const half_blocks &blocks,
                                             int token, int feature, float (&sum)[T / 32][4][4])
{
    const int lane = lane_id();
    float part[GATED ? T / 32 : 1][4][4] = {};
#pragma unroll
    for (int k = 0; k < B / 16; k++) {
        /* Lanes 0 to 15 name rows of the left half; 16 to 31 those of the right one. */
        uint32_t x[T / 32][4];
#pragma unroll
        for (int m = 0; m < T / 32; m++)
            ldmatrix_x4(x[m], X + place<B>(token + 16 * m + lane % 16, 2 * k + lane / 16));
#pragma unroll
        for (int p = 0; p < 2; p++) {
            if (blocks.gate[p] == 0) continue;
            const int f = feature + 16 * p, inside = f % B;
            const H *block = W + f / B * B * B;
            /* w[0], w[1]: depths 0 to 7 and 8 to 15 of features 0 to 7; w[2], w[3]: of features 8 to 15. */
            uint32_t w[4] = {};
            /* A block lies [input][output]. In bprop its rows are what comes out, as mma's B wants it. */
            /* BEGIN STUDENT: w, for fprop transposed on the way */
            if (TRANSPOSED)
                ldmatrix_x4(
                    w, block + place<B>(inside + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
            else
                ldmatrix_x4_trans(w, block + place<B>(16 * k + lane % 16, inside / 8 + lane / 16));
                /* END STUDENT */
#pragma unroll
            for (int m = 0; m < T / 32; m++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const uint32_t b[2] = {w[2 * h], w[2 * h + 1]};
                    mma_m16n8k16<H>(GATED ? part[m % (GATED ? T / 32 : 1)][2 * p + h]
                                          : sum[m][2 * p + h],
                                    x[m], b);
                }
        }
    }
#pragma unroll
    for (int m = 0; GATED && m < T / 32; m++)
#pragma unroll
        for (int i = 0; i < 16; i++)
            if (blocks.gate[i / 8] != 0)
                sum[m][i / 4][i % 4] +=
                    blocks.gate[i / 8] * part[m % (GATED ? T / 32 : 1)][i / 4][i % 4];
}

/* Leaves the sums of a piece; true in the thread block that comes last, whose sums are then those of all, in order. */
template <int COUNT>
__device__ __forceinline__ bool add_pieces(const walk_of &a, float (&sum)[COUNT][4])
{
    const size_t tile = (size_t)blockIdx.y * gridDim.x + blockIdx.x;
    const auto number = [tile](int piece) { return tile * gridDim.z + piece; };
    return add_parts<THREADS>(a.parts, a.arrived + tile, blockIdx.z, 0, gridDim.z, number, sum);
}

/* A thread block: T tokens, FEATURES outputs, a piece of the group's list. */
template <class H, int B, int T, bool TRANSPOSED, bool GATED>
static __global__ void __launch_bounds__(THREADS) bsmm_tensor_core_kernel(const walk_of a)
{
    typedef ring<B, T> R;
    extern __shared__ __align__(16) unsigned char shared[];
    H *const stages = (H *)shared;
    const int warp = warp_id(), token0 = blockIdx.y * T;
    const int token = warp % 2 * (T / 2), feature = warp / 2 * 32;
    const int *start = a.start + blockIdx.x * gridDim.z + blockIdx.z;
    const int *entry = a.entry + (size_t)start[0] * a.stride;
    const int steps = start[1] - start[0];
    float sum[T / 32][4][4] = {};
    for (int s = 0; s < R::STAGES - 1; s++) {
        if (s < steps)
            fetch<H, B, T, GATED>(a, entry + s * a.stride, stages + s * R::STAGE, token0);
        async_commit(); /* an empty group keeps the count right */
    }
    for (int step = 0; step < steps; step++) {
        async_wait<R::STAGES - 2>();
        __syncthreads();
        const int ahead = step + R::STAGES - 1;
        if (ahead < steps)
            fetch<H, B, T, GATED>(a, entry + ahead * a.stride,
                                  stages + ahead % R::STAGES * R::STAGE, token0);
        async_commit();
        const half_blocks blocks = look_up<B, GATED>(a, entry + step * a.stride, feature);
        if (blocks.gate[0] == 0 && blocks.gate[1] == 0) continue; /* nothing for this warp */
        const H *X = stages + step % R::STAGES * R::STAGE;
        multiply_add<H, B, T, TRANSPOSED, GATED>(X, X + T * B, blocks, token, feature, sum);
    }
    async_wait<0>();
    __syncthreads(); /* the ring is free for results */
    if (gridDim.z > 1 && !add_pieces(a, reinterpret_cast<float(&)[T / 32 * 4][4]>(sum))) return;
    store_tile<H, T>(a, stages, sum, token0, token, feature);
}

/* ---- plans ------------------------------------------------------------------------------------ */

typedef struct walk_state {
    block_walk *walk;
    partial_sums parts;
    int tiles;
} walk_state;

static void release(bsmm_plan *plan)
{
    walk_state *s = (walk_state *)plan->state;
    block_walk_free(s->walk);
    partial_sums_free(&s->parts);
    free(s);
}

static cudaError_t fill(const bsmm_plan *plan, walk_state *s)
{
    const int T = plan->tuning[TUNE_TOKENS];
    CUDA_TRY(block_walk_build(plan->layout, plan->transposed, FEATURES / plan->block,
                              plan->tuning[TUNE_PIECES], &s->walk));
    s->tiles = (plan->N + T - 1) / T;
    const size_t tiles = (size_t)s->walk->groups * s->tiles, tile = (size_t)T * FEATURES;
    if (s->walk->pieces == 1) return cudaSuccess;
    return partial_sums_make(tile * tiles * s->walk->pieces, tiles, &s->parts);
}

static cudaError_t prepare(bsmm_plan *plan)
{
    const int MOST_TILES = 65535; /* of a grid's second dimension */
    if (plan->gated)
        plan->tuning[TUNE_TOKENS] = 64; /* sums of a block need registers of their own */
    if (plan->block < 16 || plan->N > MOST_TILES * 64) return cudaErrorNotSupported;
    return plan_state_make<walk_state>(plan, fill, release);
}

/* Tiles of 128 tokens where there are many; pieces until each multiprocessor has a thread block. */
static void choose(const row_stats *stats, int block, int N, int *tuning)
{
    const int sms = device_facts_get()->sms;
    const int64_t groups = (stats->cols * block + FEATURES - 1) / FEATURES;
    tuning[TUNE_TOKENS] = N >= 512 ? 128 : 64;
    const int64_t blocks = groups * ((N + tuning[TUNE_TOKENS] - 1) / tuning[TUNE_TOKENS]);
    int pieces = 1;
    while (pieces < 8 && blocks * pieces < sms)
        pieces *= 2;
    tuning[TUNE_PIECES] = pieces;
}

template <class H, int B, int T, bool TRANSPOSED, bool GATED>
static cudaError_t start(const bsmm_plan *plan, const walk_of &a, cudaStream_t stream)
{
    const walk_state *s = (const walk_state *)plan->state;
    constexpr auto kernel = bsmm_tensor_core_kernel<H, B, T, TRANSPOSED, GATED>;
    const int bytes = ring<B, T>::BYTES;
    CUDA_TRY(allow_shared<kernel>(bytes));
    kernel<<<dim3(s->walk->groups, s->tiles, s->walk->pieces), THREADS, bytes, stream>>>(a);
    return cudaGetLastError();
}

template <class H, int B, bool TRANSPOSED>
static cudaError_t launch(const bsmm_plan *plan, const walk_of &a, cudaStream_t stream)
{
    if (a.gate) return start<H, B, 64, TRANSPOSED, true>(plan, a, stream);
    if (plan->tuning[TUNE_TOKENS] == 128)
        return start<H, B, 128, TRANSPOSED, false>(plan, a, stream);
    return start<H, B, 64, TRANSPOSED, false>(plan, a, stream);
}

template <class H, int B>
static cudaError_t launch_pass(const bsmm_plan *plan, const walk_of &a, cudaStream_t stream)
{
    return plan->transposed ? launch<H, B, true>(plan, a, stream)
                            : launch<H, B, false>(plan, a, stream);
}

template <class H>
static cudaError_t run(const bsmm_plan *plan, const bsmm_inputs *in, void *out, cudaStream_t stream)
{
    const walk_state *s = (const walk_state *)plan->state;
    const walk_of a = {
        .entry = s->walk->d_entry,
        .start = s->walk->d_start,
        .W = in->W,
        .in = in->in,
        .gate = in->gate,
        .out = out,
        .N = plan->N,
        .ins = bsmm_ins(plan) * plan->block,
        .outs = bsmm_outs(plan) * plan->block,
        .stride = s->walk->stride,
        .parts = s->parts.d_sums,
        .arrived = s->parts.d_arrived,
    };
    if (s->walk->groups == 0) return cudaSuccess;
    if (plan->block == 16) return launch_pass<H, 16>(plan, a, stream);
    if (plan->block == 32) return launch_pass<H, 32>(plan, a, stream);
    return launch_pass<H, 64>(plan, a, stream);
}

static size_t format_bytes(const bsmm_plan *plan)
{
    return block_walk_bytes(((const walk_state *)plan->state)->walk);
}

static size_t workspace_bytes(const bsmm_plan *plan)
{
    const walk_state *s = (const walk_state *)plan->state;
    return block_walk_bytes(s->walk) + s->parts.bytes;
}

static const char *unsuited(const problem *p)
{
    return problem_knob(p, BSMM_KNOB_BLOCK) < 16 ? "an mma is 16 deep: blocks of 16 at least"
                                                 : NULL;
}

#define BLOCK_TENSOR_CORE(title, kind, number)                                                 \
    static bsmm_contender title = {                                                            \
        .base = {.lab = 52,                                                                    \
                 .after = 50,                                                                  \
                 .name = #title,                                                               \
                 .summary = "tensor cores; a tile of X for all blocks of 128 output features", \
                 .precision = kind,                                                            \
                 .min_compute_capability = 80,                                                 \
                 .unit = UNIT_TENSOR_CORES,                                                    \
                 .unsuited = unsuited,                                                         \
                 .tunables = {{"TOKENS", "of a thread block", {64, 128}, 2, 64},               \
                              {"PIECES", "thread blocks of one list", {1, 2, 4, 8}, 4, 1}}},   \
        .choose = choose,                                                                      \
        .prepare = prepare,                                                                    \
        .run = run<number>,                                                                    \
        .format_bytes = format_bytes,                                                          \
        .workspace_bytes = workspace_bytes,                                                    \
        .release = release,                                                                    \
    };                                                                                         \
    BSMM_REGISTER(title)

BLOCK_TENSOR_CORE(block_tensor_core_fp16, PRECISION_FP16, __half)
BLOCK_TENSOR_CORE(block_tensor_core_bf16, PRECISION_BF16, __nv_bfloat16)
