/*
 * Lab 53 - blocks on Hopper: block-sparse products at the rate of the copy engine and of wgmma.
 *
 * Idea      Two warps ask the copy engine for everything, eight warps only multiply: a warpgroup by a whole block of W
 *           in shared memory. In a cluster W comes from L2 once for two tiles of tokens.
 * Changed   Lab 52's warps fetch for themselves and meet at a barrier in every step. Here barriers in shared memory
 *           count bytes and warps, a stripe has 256 features, and thread blocks stay for many tiles.
 * Run       make lab53 && ./lab53 blocks:in=1024,block=64,density=0.3 256       ./lab53 --set PASS=bprop
 * Watch     Products run on while the next step's are started: a stage is given back one step late.
 * Paper     NVIDIA, PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"; S. Gray and others, 2017: nx_dsd.
 */
#include "ring.cuh"

#include "device/cuda_try.h"
#include "device/dynamic_shared.cuh"
#include "device/facts.h"
#include "device/mma.cuh"
#include "device/pdl.cuh"
#include "device/store_rows.cuh"
#include "device/wgmma.cuh"
#include "formats/block_walk.h"
#include "ops/bsmm.h"

#include <math.h>
#include <stdlib.h>

enum { TUNE_CLUSTER };

/* ---- a step ------------------------------------------------------------------------------------ */

/* Sums of a warpgroup's 64 tokens: FEATURES / B columns of blocks, a warp 16 of the tokens. */
template <int B> struct sums {
    float of[FEATURES / B][B / 8][4];
};

/* Starts part += x times a block, as a group of products. A block lies [input][output]: in fprop a row is a row of
 * wgmma's B; in bprop a column. */
template <class H, int B, bool TRANSPOSED>
__device__ __forceinline__ void start_block(uint64_t block, uint32_t (&x)[B / 16][4],
                                            float (&part)[B / 8][4])
{
    int next =
        0; /* from one product's part of the block to the next one's, in pieces of 16 bytes */
    /* BEGIN STUDENT: 16 rows of 2 B bytes, or 16 numbers of each row */
    next = TRANSPOSED ? 16 * 2 / 16 : 16 * 2 * B / 16;
    /* END STUDENT */
    wgmma_fence(x);
#pragma unroll
    for (int k = 0; k < B / 16; k++)
        wgmma_k16<H, !TRANSPOSED>(part, x[k], block + k * next);
    wgmma_commit();
}

/* A warp's place in its tile. */
struct progress {
    ring_turn turn;
    int page;    /* the next step's first one */
    int running; /* the stage whose products are still running, or -1 */
    int x;       /* where its lane reads in a tile of X, for the first product of a block */
    int rank;    /* of its thread block in the cluster */
};

/* The warp has read a stage: so it tells the warps that fetch, also those of the other thread block. */
template <class H, int B>
__device__ __forceinline__ void give_back(const walk_of &a, workplace<H, B> &w, int stage, int rank)
{
    __syncwarp(); /* one lane arrives for all that have read */
    if (lane_id() == 0) mbarrier_arrive(&w.empty[stage]);
    if (lane_id() == 1 && a.cluster == 2) mbarrier_arrive_in(&w.empty[stage], rank ^ 1);
}

/* Starts a step's products, then waits for those of the step before, whose operands are in `before`. Returns whether it
 * is the tile's last step. */
template <class H, int B, bool TRANSPOSED, bool GATED>
__device__ __forceinline__ bool multiply_add(const walk_of &a, workplace<H, B> &w, progress &p,
                                             sums<B> &sum, uint32_t (&x)[B / 16][4],
                                             uint32_t (&before)[B / 16][4])
{
    const int s = p.turn.number;
    const H *const X = w.tile(s);
    const uint64_t pages = wgmma_operand<2 * B>(w.page(a.ring, 0)); /* counts pieces of 16 bytes */
    mbarrier_wait(&w.full[s], p.turn.parity);
    /* One value for the warp, and the compiler is told: else it lets each product wait for the one before. */
    const unsigned note = __shfl_sync(~0u, w.note[s], 0), open = note & ~LAST_STEP;
    if (open) {
#pragma unroll
        for (int k = 0; k < B / 16; k++)
            ldmatrix_x4(x[k], X + (p.x ^ 16 * k)); /* two pieces on */
    }
#pragma unroll
    for (int j = 0; j < FEATURES / B; j++) {
        if (!(open >> j & 1)) continue;
        const uint64_t block = pages + p.page * (B * B * 2 / 16);
        p.page = a.ring.after(p.page, 1);
        if constexpr (GATED) {
            float part[B / 8][4] = {};
            start_block<H, B, TRANSPOSED>(block, x, part);
            wgmma_wait(part);
#pragma unroll
            for (int i = 0; i < B / 2; i++)
                sum.of[j][i / 4][i % 4] += w.gate[s][j] * part[i / 4][i % 4];
        } else
            start_block<H, B, TRANSPOSED>(block, x, sum.of[j]);
    }
    /* When one group at most is running, this step's last, the products of the step before are done: gives its stage back.
     * A step without blocks is the only one of its tile, unless there are gates. */
    wgmma_wait_but<GATED ? 0 : 1>(before);
    if (p.running >= 0) give_back(a, w, p.running, p.rank);
    p.running = s;
    p.turn.advance(a.ring.stages);
    return note & LAST_STEP;
}

/* ---- a thread block ---------------------------------------------------------------------------- */

/* A warp that multiplies: all tiles of this thread block. */
template <class H, int B, bool TRANSPOSED, bool GATED>
__device__ __forceinline__ void multiply_all(const walk_of &a, workplace<H, B> &w)
{
    const int rank = rank_in_register(), lane = lane_id();
    progress p = {{0, 0}, 0, -1, place<B>(warp_id() * 16 + lane % 16, lane / 16), rank};
    for (int job = first_job(a); job < a.jobs; job += clusters(a)) {
        const tile_of tile = tile_at(a, rank, job);
        sums<B> sum = {};
        uint32_t even[B / 16][4] = {}, odd[B / 16][4] = {};
        for (;;) {
            if (multiply_add<H, B, TRANSPOSED, GATED>(a, w, p, sum, even, odd)) break;
            if (multiply_add<H, B, TRANSPOSED, GATED>(a, w, p, sum, odd, even)) break;
        }
        float(&all)[FEATURES / 8][4] = reinterpret_cast<float(&)[FEATURES / 8][4]>(sum);
        wgmma_wait(all);
        give_back(a, w, p.running, rank);
        p.running = -1;
        const int token0 = tile.token0 + warp_id() * 16, feature0 = tile.group * FEATURES;
        store_rows(w.result[warp_id()], all, (H *)a.out + (size_t)token0 * a.outs + feature0,
                   a.outs, a.N - token0, a.outs - feature0, narrow<H>);
    }
}

template <class H, int B, bool TRANSPOSED, bool GATED>
static __global__ void __launch_bounds__(THREADS, 1)
    bsmm_wgmma_kernel(const __grid_constant__ walk_of a)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    workplace<H, B> &w = *shared_in_register(reinterpret_cast<workplace<H, B> *>(shared));
    if (threadIdx.x == 0) {
        mbarrier_init_ring(w.full, w.STAGES, 2, w.empty, WARPS * a.cluster);
        mbarrier_publish();
    }
    cluster_sync();
    if (warp_id() < WARPS) {
        warpgroup_take_registers<224>();
        multiply_all<H, B, TRANSPOSED, GATED>(a, w);
    } else {
        warpgroup_give_registers<56>();
        if (warp_id() == WARPS) fetch_X<H, B, GATED>(a, w);
        if (warp_id() == WARPS + 1) fetch_W<H, B, GATED>(a, w);
    }
    cluster_sync(); /* others may still send W here, or give stages back */
}

/* ---- plans ------------------------------------------------------------------------------------ */

typedef struct walk_state {
    block_walk *walk;
    int at_once; /* clusters that the device runs */
} walk_state;

static void release(bsmm_plan *plan)
{
    walk_state *s = (walk_state *)plan->state;
    if (!s) return;
    block_walk_free(s->walk);
    free(s);
    plan->state = NULL;
}

/* Asks how many clusters of that size run at once: all multiprocessors of one are neighbours, and some may be left over. */
static cudaError_t clusters_that_fit(int cluster, int *clusters)
{
    constexpr auto kernel = bsmm_wgmma_kernel<__half, 64, false, false>;
    const int bytes = sizeof(workplace<__half, 64>);
    CUDA_TRY(allow_shared<kernel>(bytes));
    return clusters_at_once(kernel, THREADS, (size_t)bytes, (unsigned)cluster, clusters);
}

static cudaError_t prepare(bsmm_plan *plan)
{
    const int cluster = plan->tuning[TUNE_CLUSTER];
    if (plan->block < 32) return cudaErrorNotSupported;
    walk_state *s = (walk_state *)calloc(1, sizeof *s);
    if (!s) return cudaErrorMemoryAllocation;
    plan->state = s;
    cudaError_t error = clusters_that_fit(cluster, &s->at_once);
    if (error == cudaSuccess && s->at_once == 0) error = cudaErrorNotSupported;
    if (error == cudaSuccess)
        error =
            block_walk_build(plan->layout, plan->transposed, FEATURES / plan->block, 1, &s->walk);
    if (error != cudaSuccess) release(plan);
    return error;
}

/* Chooses two thread blocks, half of whose W comes from the neighbour, unless they make one more round of tiles: where the
 * number of tiles is odd, or some multiprocessors have no partner. */
static void choose(const row_stats *stats, int block, int N, int *tuning)
{
    const int group = FEATURES / block;
    const int64_t groups = (stats->cols + group - 1) / group, tiles = (N + TOKENS - 1) / TOKENS;
    int64_t rounds[2];
    tuning[TUNE_CLUSTER] = 1;
    for (int cluster = 1; cluster <= 2; cluster++) {
        int at_once = 0;
        if (clusters_that_fit(cluster, &at_once) != cudaSuccess || at_once == 0) return;
        const int64_t jobs = groups * ((tiles + cluster - 1) / cluster);
        rounds[cluster - 1] = (jobs + at_once - 1) / at_once;
    }
    if (tiles > 1 && rounds[1] <= rounds[0]) tuning[TUNE_CLUSTER] = 2;
}

/* Divides the ring so that it holds as many steps of mean length as it can. Two full steps must have room: a step's pages
 * are given back after the next one has come. */
template <class H, int B> static void divide_ring(const bsmm_plan *plan, walk_of *a)
{
    typedef workplace<H, B> R;
    const block_walk *walk = ((const walk_state *)plan->state)->walk;
    const double mean = walk->entries ? (double)plan->layout->blocks / walk->entries : 0;
    const int most = (R::NUMBERS - 2 * R::GROUP * R::PAGE) / R::TILE;
    const double steps = R::NUMBERS / (R::TILE + mean * R::PAGE);
    a->ring.stages = (int)fmin(steps, most < R::STAGES ? most : R::STAGES);
    a->ring.pages = (R::NUMBERS - a->ring.stages * R::TILE) / R::PAGE;
}

/* Thread blocks that run at once are a round. With groups first it needs all of W and few tokens of X, else a few stripes of W and
 * all of X. So the smaller one is read in each round, and stays in L2; the other one comes from memory once. */
static bool groups_come_first(const bsmm_plan *plan)
{
    const int64_t W = (int64_t)plan->layout->blocks * plan->block,
                  X = (int64_t)bsmm_ins(plan) * plan->N; /* rows of a block */
    return W < X;
}

template <class H, int B, bool TRANSPOSED, bool GATED>
static cudaError_t start(const bsmm_plan *plan, const bsmm_inputs *in, void *out,
                         cudaStream_t stream)
{
    const walk_state *s = (const walk_state *)plan->state;
    const block_walk *walk = s->walk;
    const int cluster = plan->tuning[TUNE_CLUSTER];
    constexpr auto kernel = bsmm_wgmma_kernel<H, B, TRANSPOSED, GATED>;
    const int bytes = sizeof(workplace<H, B>), tokens = TOKENS * cluster;
    walk_of a = {};
    a.entry = walk->d_entry;
    a.start = walk->d_start;
    a.gate = in->gate;
    a.out = out;
    a.N = plan->N;
    a.outs = bsmm_outs(plan) * B;
    divide_ring<H, B>(plan, &a);
    a.across = (plan->N + tokens - 1) / tokens;
    a.groups = walk->groups;
    a.jobs = a.groups * a.across;
    a.groups_first = groups_come_first(plan);
    a.cluster = cluster;
    a.W_share = B / cluster;
    if (a.jobs == 0) return cudaSuccess;
    if (walk->entries) { /* without blocks there may be nothing to describe */
        const size_t ins = (size_t)bsmm_ins(plan) * B, rows = (size_t)plan->layout->blocks * B;
        CUDA_TRY(tensor_map_make(&a.X, in->in, (size_t)plan->N, ins, TOKENS, B));
        CUDA_TRY(tensor_map_make(&a.W, in->W, rows, B, a.W_share, B));
    }
    CUDA_TRY(allow_shared<kernel>(bytes));
    const int at_once = a.jobs < s->at_once ? a.jobs : s->at_once;
    return launch_in_clusters(kernel, (unsigned)(at_once * cluster), THREADS, (size_t)bytes, stream,
                              (unsigned)cluster, a);
}

template <class H, int B>
static cudaError_t launch(const bsmm_plan *plan, const bsmm_inputs *in, void *out,
                          cudaStream_t stream)
{
    if (plan->transposed)
        return in->gate ? start<H, B, true, true>(plan, in, out, stream)
                        : start<H, B, true, false>(plan, in, out, stream);
    return in->gate ? start<H, B, false, true>(plan, in, out, stream)
                    : start<H, B, false, false>(plan, in, out, stream);
}

template <class H>
static cudaError_t run(const bsmm_plan *plan, const bsmm_inputs *in, void *out, cudaStream_t stream)
{
    return plan->block == 64 ? launch<H, 64>(plan, in, out, stream)
                             : launch<H, 32>(plan, in, out, stream);
}

static size_t format_bytes(const bsmm_plan *plan)
{
    return block_walk_bytes(((const walk_state *)plan->state)->walk);
}

static const char *unsuited(const problem *p)
{
    bool compiled;
    if (problem_knob(p, BSMM_KNOB_BLOCK) < 32) return "blocks of 32 and 64 only (lab 52 has 16)";
    if (device_facts_get()->compute_capability != 90 ||
        compiled_for_90(bsmm_wgmma_kernel<__half, 64, false, false>, &compiled) != cudaSuccess ||
        !compiled)
        return "wgmma needs compute capability 9.0, and code for it (make ARCH=90); lab 52 runs "
               "elsewhere";
    return NULL;
}

#define BLOCK_WGMMA(title, kind, number)                                                   \
    static bsmm_contender title = {                                                        \
        .base = {.lab = 53,                                                                \
                 .after = 52,                                                              \
                 .name = #title,                                                           \
                 .summary = "Hopper: copy engine, wgmma, W for two thread blocks at once", \
                 .precision = kind,                                                        \
                 .min_compute_capability = 90,                                             \
                 .unit = UNIT_TENSOR_CORES,                                                \
                 .unsuited = unsuited,                                                     \
                 .tunables = {{"CLUSTER", "thread blocks that share W", {1, 2}, 2, 2}}},   \
        .choose = choose,                                                                  \
        .prepare = prepare,                                                                \
        .run = run<number>,                                                                \
        .format_bytes = format_bytes,                                                      \
        .workspace_bytes = format_bytes,                                                   \
        .release = release,                                                                \
    };                                                                                     \
    BSMM_REGISTER(title)

BLOCK_WGMMA(block_wgmma_fp16, PRECISION_FP16, __half)
BLOCK_WGMMA(block_wgmma_bf16, PRECISION_BF16, __nv_bfloat16)
