/*
 * block_wgmma.cu - mutants of blocks on Hopper (lab 53): the ring that the copy engine fills, and what a product is told of
 * its operands. A thread block a column of blocks of 64 and 64 tokens: a warpgroup that multiplies, a warp that fetches.
 */
#include "mutant.h"

#include "device/half.cuh"
#include "device/mma.cuh"
#include "device/tensor_map.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "device/wgmma.cuh"
#include "formats/block_walk.h"
#include "ops/bsmm.h"

enum bug {
    HEALTHY_WGMMA,
    WGMMA_WAITS_AFTER_USE,
    WGMMA_SUMS_READ_EARLY,
    WGMMA_STAGE_OF_THE_NEXT_STEP,
    WGMMA_DEPTH_OF_THE_OTHER_PASS,
    WGMMA_ROWS_OF_64_BYTES,
    WGMMA_BLOCK_TRANSPOSED,
    WGMMA_TOKENS_NOT_SWIZZLED,
    WGMMA_BOX_ONE_BLOCK_ON,
};

constexpr int B = 64, STAGES = 2, TILE = B * B;

struct wgmma_args {
    tensor_map X, W;
    const int *entry, *start;
    __half *out;
    int N, ins, outs, stride, blocks;
};

/* W comes first: a product that steps too far reads on in X. */
struct work {
    __half W[STAGES][TILE], X[STAGES][TILE];
    mbarrier full[STAGES], empty[STAGES];
};

template <bug BUG> static __device__ void fetch_all(const wgmma_args &a, work &w, int token0)
{
    const int first = a.start[blockIdx.x], steps = a.start[blockIdx.x + 1] - first;
    ring_turn turn = {0, 1};
    for (int step = 0; step < steps; step++) {
        const int *e = a.entry + (size_t)(first + step) * a.stride, s = turn.number;
        const int block = BUG == WGMMA_BOX_ONE_BLOCK_ON ? (e[1] + 1) % a.blocks : e[1];
        mbarrier_wait(&w.empty[s], turn.parity);
        mbarrier_expect(&w.full[s], 2 * TILE * 2);
        tensor_copy(w.X[s], &a.X, token0, e[0] * B, &w.full[s]);
        tensor_copy(w.W[s], &a.W, block * B, 0, &w.full[s]);
        turn.advance(STAGES);
    }
}

/* sum += a step. ACROSS: fprop. */
template <bug BUG, bool ACROSS>
static __device__ void multiply_add(work &w, ring_turn &turn, float (&sum)[8][4])
{
    const int s = turn.number, lane = lane_id();
    const int read = BUG == WGMMA_STAGE_OF_THE_NEXT_STEP ? (s + 1) % STAGES : s;
    if (BUG != WGMMA_WAITS_AFTER_USE) mbarrier_wait(&w.full[s], turn.parity);
    uint32_t x[B / 16][4];
    for (int k = 0; k < B / 16; k++) {
        const int r = warp_id() * 16 + lane % 16, c = 2 * k + lane / 16;
        ldmatrix_x4(x[k], w.X[s] + r * B + (BUG == WGMMA_TOKENS_NOT_SWIZZLED ? c : c ^ r % 8) * 8);
    }
    constexpr bool IS_ACROSS = ACROSS != (BUG == WGMMA_BLOCK_TRANSPOSED);
    constexpr bool BY_ROWS = IS_ACROSS != (BUG == WGMMA_DEPTH_OF_THE_OTHER_PASS);
    const uint64_t b = BUG == WGMMA_ROWS_OF_64_BYTES ? wgmma_operand<64>(w.W[read])
                                                     : wgmma_operand<128>(w.W[read]);
    wgmma_fence(x);
#pragma unroll
    for (int k = 0; k < B / 16; k++)
        wgmma_k16<__half, IS_ACROSS>(sum, x[k], b + k * (BY_ROWS ? 16 * 2 * B / 16 : 2));
    wgmma_commit();
    if (BUG != WGMMA_SUMS_READ_EARLY) wgmma_wait(sum);
    if (BUG == WGMMA_WAITS_AFTER_USE) mbarrier_wait(&w.full[s], turn.parity);
    if (BUG == WGMMA_SUMS_READ_EARLY) return;
    __syncwarp();
    if (lane == 0) mbarrier_arrive(&w.empty[s]);
    turn.advance(STAGES);
}

template <bug BUG, bool ACROSS>
static __global__ void wgmma_mutant_kernel(const __grid_constant__ wgmma_args a)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    work &w = *reinterpret_cast<work *>(shared);
    const int token0 = blockIdx.y * B, lane = lane_id();
    if (threadIdx.x == 0) {
        mbarrier_init_ring(w.full, STAGES, 1, w.empty, 4);
        mbarrier_publish();
    }
    __syncthreads();
    if (warp_id() == 4) {
        if (lane == 0) fetch_all<BUG>(a, w, token0);
        return;
    }
    float sum[8][4] = {}, kept[8][4] = {};
    ring_turn turn = {0, 0};
    for (int step = a.start[blockIdx.x]; step < a.start[blockIdx.x + 1]; step++) {
        multiply_add<BUG, ACROSS>(w, turn, sum);
        if (BUG == WGMMA_SUMS_READ_EARLY) {
            for (int i = 0; i < 32; i++) /* of the step before, if that */
                kept[i / 4][i % 4] = sum[i / 4][i % 4];
            wgmma_wait(sum);
            __syncwarp();
            if (lane == 0) mbarrier_arrive(&w.empty[turn.number]);
            turn.advance(STAGES);
        }
    }
    for (int i = 0; i < 32; i++) {
        const int r = warp_id() * 16 + lane / 4 + i % 4 / 2 * 8,
                  c = i / 4 * 8 + lane % 4 * 2 + i % 2;
        const float x = BUG == WGMMA_SUMS_READ_EARLY ? kept[i / 4][i % 4] : sum[i / 4][i % 4];
        if (token0 + r < a.N)
            a.out[(size_t)(token0 + r) * a.outs + blockIdx.x * B + c] = narrow<__half>(x);
    }
}

static cudaError_t prepare(bsmm_plan *plan)
{
    return block_walk_build(plan->layout, plan->transposed, 1, 1, (block_walk **)&plan->state);
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
    const auto kernel =
        plan->transposed ? wgmma_mutant_kernel<BUG, false> : wgmma_mutant_kernel<BUG, true>;
    wgmma_args a = {};
    a.entry = walk->d_entry;
    a.start = walk->d_start;
    a.out = (__half *)out;
    a.N = plan->N;
    a.ins = bsmm_ins(plan) * B;
    a.outs = bsmm_outs(plan) * B;
    a.stride = walk->stride;
    a.blocks = plan->layout->blocks;
    cudaError_t error = tensor_map_make(&a.X, in->in, (size_t)a.N, (size_t)a.ins, B, B);
    if (error == cudaSuccess) error = tensor_map_make(&a.W, in->W, (size_t)a.blocks * B, B, B, B);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(
            (const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(work));
    if (error != cudaSuccess) return error;
    kernel<<<dim3(walk->groups, (plan->N + B - 1) / B), 160, sizeof(work), stream>>>(a);
    return cudaGetLastError();
}

static const char *unsuited(const problem *p)
{
    int device, major = 0;
    (void)p;
    if (cudaGetDevice(&device) == cudaSuccess)
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    return major == 9 ? NULL : "wgmma needs compute capability 9.0";
}

/* Numbers of the knobs' combinations, with blocks of 64. */
enum { FORWARD = 3, BACKWARD = 7 };

#define WGMMA_MUTANT(bug, shows, knobs, diagnosis) \
    BSMM_MUTANT(bug, ON_FEW_BLOCKS + shows, knobs, diagnosis, .unsuited = unsuited)

WGMMA_MUTANT(HEALTHY_WGMMA, SHOWS_ALWAYS, FORWARD, NULL)
WGMMA_MUTANT(HEALTHY_WGMMA, SHOWS_ALWAYS, BACKWARD, NULL)
WGMMA_MUTANT(WGMMA_WAITS_AFTER_USE, SHOWS_ON_SIMT, FORWARD, "NaN or infinity computed")
WGMMA_MUTANT(WGMMA_SUMS_READ_EARLY, SHOWS_ON_SIMT, FORWARD, "wrong values")
WGMMA_MUTANT(WGMMA_STAGE_OF_THE_NEXT_STEP, SHOWS_ALWAYS, FORWARD, "wrong values")
WGMMA_MUTANT(WGMMA_DEPTH_OF_THE_OTHER_PASS, SHOWS_ALWAYS, BACKWARD, "wrong values")
WGMMA_MUTANT(WGMMA_DEPTH_OF_THE_OTHER_PASS, SHOWS_ALWAYS, FORWARD, "wrong values")
WGMMA_MUTANT(WGMMA_ROWS_OF_64_BYTES, SHOWS_ALWAYS, FORWARD, "wrong values")
WGMMA_MUTANT(WGMMA_BLOCK_TRANSPOSED, SHOWS_ALWAYS, FORWARD, "blocks were taken transposed")
WGMMA_MUTANT(WGMMA_TOKENS_NOT_SWIZZLED, SHOWS_ALWAYS, BACKWARD, "wrong values")
WGMMA_MUTANT(WGMMA_BOX_ONE_BLOCK_ON, SHOWS_ALWAYS, FORWARD, "wrong values")
