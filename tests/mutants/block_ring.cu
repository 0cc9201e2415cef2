/*
 * block_ring.cu - mutants of the ring of steps that asynchronous copies fill (lab 52). A thread block a group of 128
 * features and 8 tokens, a thread a feature; three steps in shared memory.
 */
#include "mutant.h"

#include "device/async_copy.cuh"
#include "device/half.cuh"
#include "formats/block_walk.h"
#include "ops/bsmm.h"

enum bug {
    HEALTHY_RING,
    RING_GROUP_TOO_FEW,
    RING_OF_OWN_COPIES,
    RING_EMPTY_GROUP_LEFT_OUT,
    RING_STAGE_OF_THE_NEXT_STEP,
    RING_ABSENT_BLOCK_IN_STAGE,
    RING_SWIZZLED_ONCE,
    RING_BLOCKS_ONE_ON,
};

constexpr int FEATURES = 128, TOKENS = 8, STAGES = 3, B = 16, PIECES = B / 8;
constexpr int STAGE = (TOKENS + FEATURES) * B; /* numbers */

struct ring_args {
    const int *entry, *start;
    const __half *W, *in;
    __half *out;
    int N, ins, outs, stride;
    bool transposed;
};

/* Where piece c of row r lies: rows of 32 bytes, four to 32 banks. */
static __device__ __forceinline__ int place(int r, int c)
{
    return r * B + (c ^ r / 4 % 2) * 8;
}

static __device__ void fetch(const ring_args &a, const int *entry, __half *stage, int token0)
{
    for (int i = threadIdx.x; i < TOKENS * PIECES; i += FEATURES) {
        const int r = i / PIECES, c = i % PIECES, token = token0 + r;
        const bool is_there = token < a.N;
        async_copy_zfill<16>(stage + place(r, c),
                             a.in + (size_t)(is_there ? token : 0) * a.ins + entry[0] * B + c * 8,
                             is_there ? 16 : 0);
    }
    for (int i = threadIdx.x; i < FEATURES * PIECES; i += FEATURES) {
        const int r = i / PIECES, c = i % PIECES, block = entry[1 + r / B];
        if (block < 0) continue;
        async_copy<16>(stage + TOKENS * B + r / B * B * B + place(r % B, c),
                       a.W + ((size_t)block * B + r % B) * B + c * 8);
    }
}

template <bug BUG> static __global__ void ring_mutant_kernel(const ring_args a)
{
    __shared__ __align__(16) __half stages[STAGES * STAGE];
    const int token0 = blockIdx.y * TOKENS, j = threadIdx.x / B, o = threadIdx.x % B;
    const int *entry = a.entry + (size_t)a.start[blockIdx.x] * a.stride;
    const int steps = a.start[blockIdx.x + 1] - a.start[blockIdx.x];
    float sum[TOKENS] = {};
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps) fetch(a, entry + s * a.stride, stages + s * STAGE, token0);
        async_commit();
    }
    for (int step = 0; step < steps; step++) {
        async_wait<STAGES - 2 + (BUG == RING_GROUP_TOO_FEW)>();
        if (BUG != RING_OF_OWN_COPIES) __syncthreads();
        const int ahead = step + STAGES - 1, read = step + (BUG == RING_STAGE_OF_THE_NEXT_STEP);
        if (ahead < steps)
            fetch(a, entry + ahead * a.stride, stages + ahead % STAGES * STAGE, token0);
        if (ahead < steps || BUG != RING_EMPTY_GROUP_LEFT_OUT) async_commit();
        const __half *X = stages + read % STAGES * STAGE, *W = X + TOKENS * B;
        if (entry[step * a.stride + 1 + j] < 0 && BUG != RING_ABSENT_BLOCK_IN_STAGE) continue;
        W += (BUG == RING_BLOCKS_ONE_ON ? (j + 1) % (FEATURES / B) : j) * B * B;
        for (int i = 0; i < B; i++) {
            const int r = a.transposed ? o : i, n = a.transposed ? i : o;
            const int at = BUG == RING_SWIZZLED_ONCE ? r * B + n : place(r, n / 8) + n % 8;
            for (int t = 0; t < TOKENS; t++)
                sum[t] += widen(W[at]) * widen(X[place(t, i / 8) + i % 8]);
        }
    }
    async_wait_all();
    const int feature = blockIdx.x * FEATURES + threadIdx.x;
    for (int t = 0; t < TOKENS; t++)
        if (token0 + t < a.N && feature < a.outs)
            a.out[(size_t)(token0 + t) * a.outs + feature] = narrow<__half>(sum[t]);
}

static cudaError_t prepare(bsmm_plan *plan)
{
    return block_walk_build(plan->layout, plan->transposed, FEATURES / B, 1,
                            (block_walk **)&plan->state);
}

static void release(bsmm_plan *plan)
{
    block_walk_free((block_walk *)plan->state);
}

template <bug BUG>
static cudaError_t run16(const bsmm_plan *plan, const bsmm_inputs *in, void *out,
                         cudaStream_t stream)
{
    const block_walk *w = (const block_walk *)plan->state;
    const ring_args a = {
        w->d_entry,    w->d_start,      (const __half *)in->W, (const __half *)in->in,
        (__half *)out, plan->N,         bsmm_ins(plan) * B,    bsmm_outs(plan) * B,
        w->stride,     plan->transposed};
    ring_mutant_kernel<BUG>
        <<<dim3(w->groups, (plan->N + TOKENS - 1) / TOKENS), FEATURES, 0, stream>>>(a);
    return cudaGetLastError();
}

/* Numbers of the knobs' combinations, with blocks of 16. */
enum { FORWARD = 1, BACKWARD = 5 };

#define RING_MUTANT(bug, shows, knobs, diagnosis) \
    BSMM_MUTANT(bug, ON_FEW_BLOCKS + shows, knobs, diagnosis)

RING_MUTANT(HEALTHY_RING, SHOWS_ALWAYS, FORWARD, NULL)
RING_MUTANT(HEALTHY_RING, SHOWS_ALWAYS, BACKWARD, NULL)
RING_MUTANT(RING_GROUP_TOO_FEW, SHOWS_ON_SIMT, BACKWARD, "NaN or infinity computed")
RING_MUTANT(RING_OF_OWN_COPIES, SHOWS_ON_SIMT, BACKWARD, "wrong values")
RING_MUTANT(RING_EMPTY_GROUP_LEFT_OUT, SHOWS_ON_SIMT, BACKWARD, "wrong values")
RING_MUTANT(RING_STAGE_OF_THE_NEXT_STEP, SHOWS_ALWAYS, BACKWARD, "wrong values")
/* By what the stage held before: an older block, or nothing yet. */
RING_MUTANT(RING_ABSENT_BLOCK_IN_STAGE, SHOWS_ALWAYS, BACKWARD, "in every row")
RING_MUTANT(RING_SWIZZLED_ONCE, SHOWS_ALWAYS, FORWARD, "wrong values")
RING_MUTANT(RING_BLOCKS_ONE_ON, SHOWS_ALWAYS, BACKWARD, "wrong values")
