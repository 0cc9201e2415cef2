/*
 * block_lut.cu - mutants of block look-up tables (lab 50): outputs that several segments share, gates, tails, and
 * transposed blocks. A thread block a segment and 32 tokens; shared outputs are added up under a lock.
 */
#include "mutant.h"

#include "device/block_lock.cuh"
#include "device/cuda_try.h"
#include "formats/block_lut.h"
#include "ops/bsmm.h"

#include <stdlib.h>

enum bug {
    HEALTHY_BLOCKS,
    EMPTY_OUTPUT_NOT_WRITTEN,
    COUNT_NEVER_SET,
    COUNT_WITHOUT_TILE,
    LOCKS_NOT_ZEROED,
    ATOMICS_ON_GARBAGE,
    GATES_IGNORED,
    GATES_SQUARED,
    GATE_OF_ZERO_MULTIPLIED,
    TAIL_NOT_MASKED,
    BLOCKS_TRANSPOSED,
    LAST_PAIR_OF_A_CUT_DROPPED,
    LAST_ROW_OF_BLOCKS_DROPPED,
    INPUT_OF_THE_OUTPUT,
    ODD_LISTS_END_TWICE,
    LAST_WARP_NOT_ADDED,
};

constexpr int TILE = 32, THREADS = 256;

struct mutant_args {
    const int *lut;
    const float *W, *in, *gate;
    float *out;
    int *lock, *count;
    int B, N;
    bool transposed;
};

/* The sum of a segment for feature o of its output and one token. */
template <bug BUG>
static __device__ float sum_of(const mutant_args &a, const int4 &segment, int o, int token)
{
    const int2 *pair = (const int2 *)a.lut + segment.x;
    const bool by_rows = a.transposed != (BUG == BLOCKS_TRANSPOSED);
    const int pairs = segment.y - (BUG == LAST_PAIR_OF_A_CUT_DROPPED && segment.w > 0);
    float sum = 0;
    /* Blocks of 8: a step of a warp has two, and of four warps the last takes steps 3, 7 ... */
    const int twice = BUG == ODD_LISTS_END_TWICE ? pairs % 2 : 0;
    for (int i = 0; i < pairs + twice; i++) {
        const int p = min(i, pairs - 1);
        if (BUG == LAST_WARP_NOT_ADDED && p / 2 % 4 == 3) continue;
        const float gate = a.gate && BUG != GATES_IGNORED ? a.gate[pair[p].y] : 1;
        if (a.gate && a.gate[pair[p].y] == 0 && BUG != GATE_OF_ZERO_MULTIPLIED) continue;
        const float *W = a.W + (size_t)pair[p].y * a.B * a.B;
        const int input = BUG == INPUT_OF_THE_OUTPUT ? pair[0].x : pair[p].x;
        for (int d = 0; d < a.B - (BUG == LAST_ROW_OF_BLOCKS_DROPPED); d++) {
            const float w = W[by_rows ? o * a.B + d : d * a.B + o];
            sum += gate * (BUG == GATES_SQUARED ? gate : 1) * w *
                   a.in[((size_t)input * a.B + d) * a.N + token];
        }
    }
    return sum;
}

template <bug BUG> static __global__ void block_mutant_kernel(const mutant_args a)
{
    const int4 segment = ((const int4 *)a.lut)[blockIdx.x];
    if (BUG == EMPTY_OUTPUT_NOT_WRITTEN && segment.y == 0) return;
    const bool shared = segment.w > 0;
    const int tile = BUG == COUNT_WITHOUT_TILE ? 0 : blockIdx.y;
    const int place = (segment.w - 1) * gridDim.y + tile;
    bool adds = false;
    if (shared) {
        block_lock(a.lock + place);
        adds = __ldcg(a.count + place) > 0;
        __syncthreads();
        if (threadIdx.x == 0 && BUG != COUNT_NEVER_SET) a.count[place]++;
    }
    for (int i = threadIdx.x; i < a.B * TILE; i += THREADS) {
        const int o = i / TILE, token = blockIdx.y * TILE + i % TILE;
        const bool is_there = token < a.N;
        if (!is_there && BUG != TAIL_NOT_MASKED) continue;
        float *out = a.out + ((size_t)segment.z * a.B + o) * a.N + token;
        const float sum = is_there ? sum_of<BUG>(a, segment, o, token) : 0;
        if (shared && BUG == ATOMICS_ON_GARBAGE)
            atomicAdd(out, sum);
        else
            *out = adds ? __ldcg(out) + sum : sum;
    }
    if (shared) block_unlock(a.lock + place);
}

struct mutant_state {
    block_lut *lut;
    int *d_locks, tiles;
};

static cudaError_t prepare(bsmm_plan *plan)
{
    mutant_state *s = (mutant_state *)calloc(1, sizeof *s);
    s->tiles = (plan->N + TILE - 1) / TILE;
    plan->state = s;
    CUDA_TRY(block_lut_build(plan->layout, plan->transposed, BLOCK_LUT_OWN, 0, &s->lut));
    const size_t bytes = (size_t)2 * s->lut->shares * s->tiles * sizeof(int);
    CUDA_TRY(cudaMalloc((void **)&s->d_locks, bytes + 1));
    return cudaMemset(s->d_locks, 0, bytes);
}

static void release(bsmm_plan *plan)
{
    mutant_state *s = (mutant_state *)plan->state;
    block_lut_free(s->lut);
    cudaFree(s->d_locks);
    free(s);
}

template <bug BUG>
static cudaError_t run(const bsmm_plan *plan, const bsmm_inputs *in, void *out, cudaStream_t stream)
{
    const mutant_state *s = (const mutant_state *)plan->state;
    const size_t places = (size_t)s->lut->shares * s->tiles;
    const mutant_args a = {s->lut->device, (const float *)in->W, (const float *)in->in, in->gate,
                           (float *)out,   s->d_locks,           s->d_locks + places,   plan->block,
                           plan->N,        plan->transposed};
    if (BUG != LOCKS_NOT_ZEROED)
        CUDA_TRY(cudaMemsetAsync(s->d_locks, 0, 2 * places * sizeof(int), stream));
    block_mutant_kernel<BUG><<<dim3(s->lut->segments, s->tiles), THREADS, 0, stream>>>(a);
    return cudaGetLastError();
}

/* Numbers of the knobs' combinations, with blocks of 8. */
enum { FORWARD = 0, BACKWARD = 4, GATED = 8 };

#define BLOCK_MUTANT(bug, knobs, diagnosis)                                                \
    static bsmm_contender mutant_##bug##knobs = {                                          \
        .base = {.lab = SHOWS_ALWAYS, .after = knobs, .name = #bug, .summary = diagnosis}, \
        .prepare = prepare,                                                                \
        .run = run<bug>,                                                                   \
        .release = release,                                                                \
    };                                                                                     \
    BSMM_REGISTER(mutant_##bug##knobs)

/* The matrix they are tried on has rows that are cut, and no such columns. */
BLOCK_MUTANT(HEALTHY_BLOCKS, FORWARD, NULL)
BLOCK_MUTANT(HEALTHY_BLOCKS, BACKWARD, NULL)
BLOCK_MUTANT(HEALTHY_BLOCKS, GATED, NULL)
BLOCK_MUTANT(EMPTY_OUTPUT_NOT_WRITTEN, FORWARD, "never written: only empty rows")
BLOCK_MUTANT(COUNT_NEVER_SET, BACKWARD, "wrong values")
BLOCK_MUTANT(COUNT_WITHOUT_TILE, BACKWARD, "adds to what it held before")
BLOCK_MUTANT(LOCKS_NOT_ZEROED, BACKWARD, "adds to what it held before")
BLOCK_MUTANT(ATOMICS_ON_GARBAGE, BACKWARD, "adds to what it held before")
BLOCK_MUTANT(GATES_IGNORED, GATED, "gates were not multiplied in")
BLOCK_MUTANT(GATES_SQUARED, GATED, "gates were multiplied in twice")
BLOCK_MUTANT(GATE_OF_ZERO_MULTIPLIED, GATED, "NaN or infinity computed")
BLOCK_MUTANT(TAIL_NOT_MASKED, FORWARD, "wrote outside the output")
BLOCK_MUTANT(BLOCKS_TRANSPOSED, FORWARD, "blocks were taken transposed")
BLOCK_MUTANT(BLOCKS_TRANSPOSED, BACKWARD, "blocks were taken transposed")
BLOCK_MUTANT(LAST_PAIR_OF_A_CUT_DROPPED, BACKWARD, "only rows longer than 256")
BLOCK_MUTANT(LAST_ROW_OF_BLOCKS_DROPPED, FORWARD, "in every row that is not empty")
BLOCK_MUTANT(INPUT_OF_THE_OUTPUT, FORWARD, "wrong values")
BLOCK_MUTANT(ODD_LISTS_END_TWICE, FORWARD, "wrong values")
BLOCK_MUTANT(LAST_WARP_NOT_ADDED, FORWARD, "wrong values")
