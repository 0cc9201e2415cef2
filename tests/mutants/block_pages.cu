/*
 * block_pages.cu - mutants of the ring of pages (lab 53): steps take as many as they have blocks, and a batch of steps is
 * addressed at once. A thread block four columns of blocks of 64 and 8 tokens: a thread a feature, and two warps that fetch.
 */
#include "mutant.h"

#include "device/dynamic_shared.cuh"
#include "device/half.cuh"
#include "device/mbarrier.cuh"
#include "device/swizzle.cuh"
#include "device/tensor_map.cuh"
#include "device/warp.cuh"
#include "formats/block_walk.cuh"
#include "formats/block_walk.h"
#include "ops/bsmm.h"

enum bug {
    HEALTHY_PAGES,
    PAGES_WRAP_ONCE,
    PAGES_WITHIN_A_STEP,
    PAGES_NOT_COUNTED_ON,
    PAGES_NOTE_BEHIND_ARRIVAL,
};

constexpr int B = 64, GROUP = 4, FEATURES = GROUP * B, TOKENS = 8, WARPS = FEATURES / WARP_SIZE;
constexpr int STAGES = 8, PAGES = 10, PAGE = B * B, TILE = TOKENS * B;
typedef walk_entries<GROUP> entries;

struct pages_args {
    tensor_map X, W;
    const int *entry, *start;
    __half *out;
    int N, outs;
};

struct work {
    __half X[STAGES][TILE], W[PAGES][PAGE];
    __half behind[PAGES][PAGE]; /* room for pages that a mutant takes and that there are not */
    mbarrier full[STAGES], empty[STAGES];
    unsigned note[STAGES];
};

template <bug BUG> static __device__ int page_after(int page, int many)
{
    page += many;
    if (page >= PAGES) page -= PAGES;
    return page < PAGES || BUG == PAGES_WRAP_ONCE ? page : page - PAGES;
}

template <bug BUG> static __device__ void fetch_X(const pages_args &a, work &w, int first, int end)
{
    ring_turn turn = {0, 1};
    for (int step = first; step < end; step += entries::STEPS) {
        const entries now = entries::at(a.entry, step, end);
        const unsigned open = __ballot_sync(FULL_MASK, now.block() >= 0);
        for (int i = 0; i < entries::STEPS && step + i < end; i++) {
            const int s = turn.number, input = now.input(i);
            const unsigned columns = entries::columns(open, i);
            mbarrier_wait(&w.empty[s], turn.parity);
            if (lane_id() == 0) {
                if (BUG != PAGES_NOTE_BEHIND_ARRIVAL) w.note[s] = columns;
                mbarrier_expect(&w.full[s], TILE * 2);
                tensor_copy(w.X[s], &a.X, (int)blockIdx.y * TOKENS, input * B, &w.full[s]);
            }
            /* The CPU backend runs a warp on until it waits: this one waits, so that it is late every time. */
            if (BUG == PAGES_NOTE_BEHIND_ARRIVAL) {
                mbarrier_wait(&w.full[s], turn.parity ^ 1);
                if (lane_id() == 0) w.note[s] = columns;
            }
            turn.advance(STAGES);
        }
    }
}

template <bug BUG> static __device__ void fetch_W(const pages_args &a, work &w, int first, int end)
{
    const int lane = lane_id(), own = lane / entries::INTS;
    ring_turn oldest = {0, 0};
    int stage = 0, steps = 0, page = 0, used = 0, held = 0; /* lane s: pages of stage s */
    for (int step = first; step < end; step += entries::STEPS) {
        const entries now = entries::at(a.entry, step, end);
        const unsigned open = __ballot_sync(FULL_MASK, now.block() >= 0);
        const unsigned lower = open & ((1u << lane) - 1);
        const int before =
            __popc(BUG == PAGES_WITHIN_A_STEP ? lower >> own * entries::INTS : lower);
        const int at = page_after<BUG>(page, before);
        __half *const box = at < PAGES ? w.W[at] : w.behind[at - PAGES];
        const int full = (stage + own) % STAGES;
        for (int i = 0; i < entries::STEPS && step + i < end; i++) {
            const int blocks = __popc(entries::columns(open, i));
            while (steps == STAGES || used + blocks > PAGES) {
                mbarrier_wait(&w.empty[oldest.number], oldest.parity);
                used -= __shfl_sync(FULL_MASK, held, oldest.number);
                steps--;
                oldest.advance(STAGES);
            }
            if (lane == 0) mbarrier_expect(&w.full[stage], blocks * PAGE * 2);
            __syncwarp();
            if (own == i && open >> lane & 1)
                tensor_copy(box, &a.W, now.block() * B, 0, &w.full[full]);
            if (lane == stage) held = blocks;
            used += blocks;
            stage = (stage + 1) % STAGES;
            steps++;
        }
        if (BUG != PAGES_NOT_COUNTED_ON) page = page_after<BUG>(page, __popc(open)) % PAGES;
    }
}

/* Sums of a thread's feature: of each step its column's block, if that is there. */
static __device__ void multiply_all(work &w, int steps, float (&sum)[TOKENS])
{
    const int j = threadIdx.x / B, o = threadIdx.x % B;
    ring_turn turn = {0, 0};
    int page = 0;
    for (int step = 0; step < steps; step++) {
        const int s = turn.number;
        mbarrier_wait(&w.full[s], turn.parity);
        const unsigned open = w.note[s];
        const __half *const W = w.W[(page + __popc(open & ((1u << j) - 1))) % PAGES];
        for (int i = 0; open >> j & 1 && i < B; i++) {
            const float x = widen(W[i * B + swizzled_piece<2 * B>(i, o / 8) * 8 + o % 8]);
            for (int t = 0; t < TOKENS; t++)
                sum[t] += x * widen(w.X[s][t * B + swizzled_piece<2 * B>(t, i / 8) * 8 + i % 8]);
        }
        page = (page + __popc(open)) % PAGES;
        __syncwarp();
        if (lane_id() == 0) mbarrier_arrive(&w.empty[s]);
        turn.advance(STAGES);
    }
}

template <bug BUG> static __global__ void pages_mutant_kernel(const __grid_constant__ pages_args a)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    work &w = *reinterpret_cast<work *>(shared);
    const int first = a.start[blockIdx.x], end = a.start[blockIdx.x + 1];
    if (threadIdx.x == 0) {
        mbarrier_init_ring(w.full, STAGES, 2, w.empty, WARPS);
        mbarrier_publish();
    }
    if (threadIdx.x < STAGES) w.note[threadIdx.x] = 0;
    __syncthreads();
    if (warp_id() == WARPS) fetch_X<BUG>(a, w, first, end);
    if (warp_id() == WARPS + 1) fetch_W<BUG>(a, w, first, end);
    if (warp_id() >= WARPS) return;
    float sum[TOKENS] = {};
    multiply_all(w, end - first, sum);
    const int feature = blockIdx.x * FEATURES + threadIdx.x, token0 = (int)blockIdx.y * TOKENS;
    for (int t = 0; t < TOKENS; t++)
        if (token0 + t < a.N && feature < a.outs)
            a.out[(size_t)(token0 + t) * a.outs + feature] = narrow<__half>(sum[t]);
}

static cudaError_t prepare(bsmm_plan *plan)
{
    return block_walk_build(plan->layout, plan->transposed, GROUP, 1, (block_walk **)&plan->state);
}

static void release(bsmm_plan *plan)
{
    block_walk_free((block_walk *)plan->state);
}

template <bug BUG>
static cudaError_t run16(const bsmm_plan *plan, const bsmm_inputs *in, void *out,
                         cudaStream_t stream)
{
    const block_walk *walk = (const block_walk *)plan->state;
    const size_t ins = (size_t)bsmm_ins(plan) * B, rows = (size_t)plan->layout->blocks * B;
    pages_args a = {};
    a.entry = walk->d_entry;
    a.start = walk->d_start;
    a.out = (__half *)out;
    a.N = plan->N;
    a.outs = bsmm_outs(plan) * B;
    cudaError_t error = tensor_map_make(&a.X, in->in, (size_t)a.N, ins, TOKENS, B);
    if (error == cudaSuccess) error = tensor_map_make(&a.W, in->W, rows, B, B, B);
    if (error == cudaSuccess) error = allow_shared<pages_mutant_kernel<BUG>>((int)sizeof(work));
    if (error != cudaSuccess) return error;
    pages_mutant_kernel<BUG><<<dim3(walk->groups, (a.N + TOKENS - 1) / TOKENS),
                               FEATURES + 2 * WARP_SIZE, sizeof(work), stream>>>(a);
    return cudaGetLastError();
}

/* Number of the knobs' combination: fprop without gates. The layout's blocks are of 64. */
enum { FORWARD = 3 };

#define PAGES_MUTANT(bug, shows, diagnosis) \
    BSMM_MUTANT(bug, ON_UNEVEN_BLOCKS + shows, FORWARD, diagnosis, .min_compute_capability = 90)

PAGES_MUTANT(HEALTHY_PAGES, SHOWS_ALWAYS, NULL)
PAGES_MUTANT(PAGES_WRAP_ONCE, SHOWS_ALWAYS, "wrong values")
PAGES_MUTANT(PAGES_WITHIN_A_STEP, SHOWS_ALWAYS, "wrong values")
PAGES_MUTANT(PAGES_NOT_COUNTED_ON, SHOWS_ALWAYS, "wrong values")
PAGES_MUTANT(PAGES_NOTE_BEHIND_ARRIVAL, SHOWS_ON_SIMT, "wrong values")
