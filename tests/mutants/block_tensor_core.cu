/*
 * block_tensor_core.cu - mutants of blocks on tensor cores (lab 52): blocks that are not there, pieces, tails, and
 * numbers of 16 bits. A thread block a group of 128 features and a token, of which there is one too many, a thread a feature.
 */
#include "mutant.h"

#include "device/half.cuh"
#include "formats/block_walk.h"
#include "ops/bsmm.h"

enum bug {
    HEALTHY_WALK,
    ABSENT_BLOCK_MULTIPLIED,
    TOKEN_TAIL_STORED,
    LAST_GROUP_NOT_CUT,
    LAST_PIECE_LOST,
    PIECES_OVERLAP,
    WALK_TRANSPOSED,
    SUMS_OF_HALF,
    GATED_WEIGHTS_ROUNDED,
    GATE_OF_THE_NEXT_BLOCK,
};

constexpr int FEATURES = 128;

struct walk_args {
    const int *entry, *start;
    const __half *W, *in;
    const float *gate;
    __half *out;
    int B, N, ins, outs, stride, pieces;
    bool transposed;
};

template <bug BUG> static __global__ void walk_mutant_kernel(const walk_args a)
{
    const int token = blockIdx.y, j = threadIdx.x / a.B, o = threadIdx.x % a.B;
    const int feature = blockIdx.x * FEATURES + threadIdx.x;
    const int *start = a.start + blockIdx.x * a.pieces;
    const bool by_rows = a.transposed != (BUG == WALK_TRANSPOSED);
    float sum = 0;
    for (int p = 0; p < a.pieces - (BUG == LAST_PIECE_LOST); p++)
        for (int s = start[p]; s < start[p + 1] + (BUG == PIECES_OVERLAP && p + 1 < a.pieces);
             s++) {
            const int *e = a.entry + (size_t)s * a.stride;
            int block = e[1 + j];
            if (block < 0 && BUG == ABSENT_BLOCK_MULTIPLIED) /* what lay there a step before */
                block = s > start[0] ? e[1 + j - a.stride] : -1;
            if (block < 0) continue;
            float gate = a.gate ? a.gate[block] : 1;
            if (gate == 0) continue;
            if (a.gate && BUG == GATE_OF_THE_NEXT_BLOCK) gate = a.gate[block ? block - 1 : 1];
            const __half *W = a.W + (size_t)block * a.B * a.B;
            for (int i = 0; i < a.B && token < a.N; i++) {
                float w = widen(W[by_rows ? o * a.B + i : i * a.B + o]) * gate;
                if (BUG == GATED_WEIGHTS_ROUNDED) w = widen(narrow<__half>(w));
                sum += w * widen(a.in[(size_t)token * a.ins + e[0] * a.B + i]);
                if (BUG == SUMS_OF_HALF) sum = widen(narrow<__half>(sum));
            }
        }
    const bool is_there = token < a.N && (feature < a.outs || BUG == LAST_GROUP_NOT_CUT);
    if (is_there || (BUG == TOKEN_TAIL_STORED && feature < a.outs))
        a.out[(size_t)token * a.outs + feature] = narrow<__half>(sum);
}

static cudaError_t prepare(bsmm_plan *plan)
{
    return block_walk_build(plan->layout, plan->transposed, FEATURES / plan->block, 3,
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
    const walk_args a = {w->d_entry,
                         w->d_start,
                         (const __half *)in->W,
                         (const __half *)in->in,
                         in->gate,
                         (__half *)out,
                         plan->block,
                         plan->N,
                         bsmm_ins(plan) * plan->block,
                         bsmm_outs(plan) * plan->block,
                         w->stride,
                         w->pieces,
                         plan->transposed};
    walk_mutant_kernel<BUG><<<dim3(w->groups, plan->N + 1), FEATURES, 0, stream>>>(a);
    return cudaGetLastError();
}

/* Numbers of the knobs' combinations, with blocks of 16. */
enum { FORWARD = 1, BACKWARD = 5, GATED = 9 };

#define WALK_MUTANT(bug, knobs, diagnosis) \
    BSMM_MUTANT(bug, ON_FEW_BLOCKS + SHOWS_ALWAYS, knobs, diagnosis)

WALK_MUTANT(HEALTHY_WALK, BACKWARD, NULL)
WALK_MUTANT(HEALTHY_WALK, GATED, NULL)
WALK_MUTANT(ABSENT_BLOCK_MULTIPLIED, BACKWARD, "wrong values")
WALK_MUTANT(TOKEN_TAIL_STORED, BACKWARD, "wrote outside the output")
WALK_MUTANT(LAST_GROUP_NOT_CUT, BACKWARD, "wrote outside the output")
WALK_MUTANT(LAST_PIECE_LOST, BACKWARD, "wrong values")
WALK_MUTANT(PIECES_OVERLAP, BACKWARD, "wrong values")
WALK_MUTANT(WALK_TRANSPOSED, BACKWARD, "blocks were taken transposed")
WALK_MUTANT(SUMS_OF_HALF, BACKWARD, "wrong values")
WALK_MUTANT(GATED_WEIGHTS_ROUNDED, GATED, "wrong values")
WALK_MUTANT(GATE_OF_THE_NEXT_BLOCK, GATED, "wrong values")
