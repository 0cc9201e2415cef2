/*
 * product_wgmma.cu - products of rows on Hopper: tiles of 256 x 256 for a cluster of two thread
 * blocks, 128 rows each. The copy engine fills a ring of four steps. Two warpgroups of a block
 * multiply 64 rows each, with the rows in registers and W in shared memory. Each block fetches its
 * rows and half of W, which it sends to both: W comes from L2 once. The ring is that of lab 53.
 *
 * Maps of the copy engine hold addresses and sizes, and neither changes from step to step: rows have room for any routing,
 * and the expert is a part of the coordinates. So the host makes them without knowing where a token went.
 */
#include "tiles.cuh"

#include "device/cluster.cuh"
#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/mbarrier.cuh"
#include "device/mma.cuh"
#include "device/pdl.cuh"
#include "device/store_rows.cuh"
#include "device/tensor_map.cuh"
#include "device/wgmma.cuh"

constexpr int CLUSTER = 2, ROWS = TILE_ROWS / CLUSTER, COLUMNS = 256, STAGES = 4;
constexpr int WARPS = ROWS / 16, THREADS = WARPS * 32 + 128;
constexpr int HALF_ROWS = 64, SQUARE = DEEP * 64, SQUARES = COLUMNS / 64;

/* Arguments of the kernel. Boxes of both maps are 64 x 64. */
struct work {
    tensor_map rows, W;
    product p;
    int stripes;
};

/* Contents of shared memory. A step: two squares of rows, then four of W, side by side in the result. */
struct workplace {
    __half stage[STAGES][(ROWS + COLUMNS) * DEEP];
    __half result[WARPS][16 * 64];
    mbarrier full[STAGES], empty[STAGES];
};

/* This thread block's rows of a tile, in halves of 64: both blocks have as many, or the first one more. */
static __device__ __forceinline__ job job_of(const work &w, int i)
{
    job j = job_at(w.p.tile, w.stripes, COLUMNS, i);
    const int halves = (j.rows.rows + HALF_ROWS - 1) / HALF_ROWS;
    const int first = min((halves + 1) / 2 * HALF_ROWS, j.rows.rows);
    j.rows.row += cluster_rank() ? first : 0;
    j.rows.rows = cluster_rank() ? j.rows.rows - first : first;
    return j;
}

/* ---- the thread that fetches ------------------------------------------------------------------- */

static __device__ __forceinline__ void fetch_all(const work &w, workplace &place_of)
{
    constexpr int SHARE = SQUARES / CLUSTER, BOTH = (1 << CLUSTER) - 1;
    const int jobs = *w.p.tiles * w.stripes, steps = w.p.deep / DEEP;
    ring_turn turn = {0, 1};
    for (int i = blockIdx.x / CLUSTER; i < jobs; i += gridDim.x / CLUSTER) {
        const job j = job_of(w, i);
        const int halves = (j.rows.rows + HALF_ROWS - 1) / HALF_ROWS; /* 0: the other has all */
        for (int s = 0; s < steps; s++) {
            __half *const stage = place_of.stage[turn.number];
            mbarrier *const full = &place_of.full[turn.number];
            mbarrier_wait(&place_of.empty[turn.number], turn.parity);
            mbarrier_expect(full, (halves + SQUARES) * SQUARE * 2);
            for (int h = 0; h < halves; h++)
                tensor_copy(stage + h * SQUARE, &w.rows, j.rows.row + h * HALF_ROWS, s * DEEP,
                            full);
#pragma unroll
            for (int i = 0; i < SHARE; i++) {
                const int q = cluster_rank() * SHARE + i;
                tensor_copy_multicast(stage + (2 + q) * SQUARE, &w.W,
                                      j.rows.expert * w.p.deep + s * DEEP, j.column + q * 64, full,
                                      BOTH);
            }
            turn.advance(STAGES);
        }
    }
}

/* ---- warps that multiply ----------------------------------------------------------------------- */

/* The warp has read a stage: so it tells the threads that fetch in both blocks, which write to it. */
static __device__ __forceinline__ void give_back(workplace &w, int stage)
{
    __syncwarp(); /* one lane arrives for all that have read */
    if (lane_id() < CLUSTER) mbarrier_arrive_in(&w.empty[stage], lane_id());
}

/* A warp's place in the ring, and the stage whose products are still running, or -1. */
struct progress {
    ring_turn turn;
    int running;
};

/* Starts a step's products, then waits for those of the step before, whose operands are in `before`. */
static __device__ __forceinline__ void multiply_add(workplace &w, progress &at,
                                                    float (&sum)[SQUARES][8][4],
                                                    uint32_t (&x)[DEEP / 16][4],
                                                    uint32_t (&before)[DEEP / 16][4])
{
    constexpr int NEXT = 16 * DEEP * 2 / 16; /* 16 rows of W, in pieces of 16 bytes */
    const int s = at.turn.number, lane = lane_id();
    const __half *const rows = w.stage[s], *const W = rows + 2 * SQUARE;
    mbarrier_wait(&w.full[s], at.turn.parity);
#pragma unroll
    for (int k = 0; k < DEEP / 16; k++)
        ldmatrix_x4(x[k], rows + place(warp_id() * 16 + lane % 16, 2 * k + lane / 16));
    wgmma_fence(x);
#pragma unroll
    for (int q = 0; q < SQUARES; q++) {
        const uint64_t square = wgmma_operand<2 * DEEP>(W + q * SQUARE);
#pragma unroll
        for (int k = 0; k < DEEP / 16; k++)
            wgmma_k16<__half, true>(sum[q], x[k], square + k * NEXT);
    }
    wgmma_commit();
    wgmma_wait_but<1>(before);
    if (at.running >= 0) give_back(w, at.running);
    at.running = s;
    at.turn.advance(STAGES);
}

/* The 64 rows of this warpgroup are no rows of the tile: lets its steps pass. */
static __device__ __forceinline__ void pass_by(workplace &w, progress &at, int steps)
{
    for (int s = 0; s < steps; s++) {
        mbarrier_wait(&w.full[at.turn.number], at.turn.parity);
        give_back(w, at.turn.number);
        at.turn.advance(STAGES);
    }
}

static __device__ __forceinline__ void multiply_all(const work &w, workplace &place_of)
{
    const int jobs = *w.p.tiles * w.stripes, steps = w.p.deep / DEEP;
    progress at = {{0, 0}, -1};
    for (int i = blockIdx.x / CLUSTER; i < jobs; i += gridDim.x / CLUSTER) {
        const job j = job_of(w, i);
        /* One value for the warp, and the compiler is told: see lab 53. */
        if (__shfl_sync(FULL_MASK, j.rows.rows, 0) <= warp_id() / 4 * HALF_ROWS) {
            pass_by(place_of, at, steps);
            continue;
        }
        float sum[SQUARES][8][4] = {};
        uint32_t even[DEEP / 16][4] = {}, odd[DEEP / 16][4] = {};
        for (int s = 0; s < steps; s += 2) {
            multiply_add(place_of, at, sum, even, odd);
            if (s + 1 < steps) multiply_add(place_of, at, sum, odd, even);
        }
        float(&all)[COLUMNS / 8][4] = reinterpret_cast<float(&)[COLUMNS / 8][4]>(sum);
        wgmma_wait(all);
        give_back(place_of, at.running);
        at.running = -1;
        const int row0 = warp_id() * 16;
        store_rows(place_of.result[warp_id()], all,
                   (__half *)w.p.out + (size_t)(j.rows.row + row0) * w.p.outs + j.column, w.p.outs,
                   j.rows.rows - row0, w.p.outs - j.column,
                   [&](float x) { return finish(x, w.p.relu); });
    }
}

static __global__ void __launch_bounds__(THREADS, 1)
    product_wgmma_kernel(const __grid_constant__ work w)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    workplace &place_of = *reinterpret_cast<workplace *>(shared);
    if (threadIdx.x == 0) {
        mbarrier_init_ring(place_of.full, STAGES, 1, place_of.empty, WARPS * CLUSTER);
        mbarrier_publish();
    }
    cluster_sync();
    if (warp_id() < WARPS) {
        warpgroup_take_registers<232>();
        multiply_all(w, place_of);
    } else {
        warpgroup_give_registers<40>();
        if (threadIdx.x == WARPS * 32) fetch_all(w, place_of);
        __syncwarp();
    }
    cluster_sync(); /* the other may still send W here, or give stages back */
}

bool product_wgmma_is_built(void)
{
    bool is;
    return compiled_for_90(product_wgmma_kernel, &is) == cudaSuccess && is;
}

cudaError_t product_run_wgmma(const product *p, cudaStream_t stream)
{
    work w = {};
    w.p = *p;
    w.stripes = (p->outs + COLUMNS - 1) / COLUMNS;
    CUDA_TRY(
        tensor_map_make(&w.rows, p->rows, (size_t)p->most_rows, (size_t)p->deep, HALF_ROWS, DEEP));
    CUDA_TRY(tensor_map_make(&w.W, p->W, (size_t)p->experts * p->deep, (size_t)p->outs, DEEP, 64));
    CUDA_TRY(cudaFuncSetAttribute((const void *)product_wgmma_kernel,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)sizeof(workplace)));
    const unsigned clusters = (unsigned)(device_facts_get()->sms / CLUSTER);
    return launch_in_clusters(product_wgmma_kernel, clusters * CLUSTER, THREADS, sizeof(workplace),
                              stream, CLUSTER, w);
}
