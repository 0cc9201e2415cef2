/*
 * fused_attention.cu - mutants of attention in one walk (lab 36): a warp for a segment and a head, the largest score so
 * far, segments put together by the warp that comes last; and the ways to lose one of them.
 */
#include "mutant.h"

#include "device/last_block.cuh"
#include "device/partial_sums.h"
#include "device/vec.cuh"
#include "formats/row_shares.cuh"

#include <math.h>
#include <stdlib.h>

enum bug {
    HEALTHY_FUSED,
    NO_LARGEST_SCORE,
    LARGEST_OF_FIRST_BATCH,
    SUM_NOT_SCALED_DOWN,
    TOTAL_NOT_SCALED_DOWN,
    SCALE_MISSING,
    SCALE_TWICE,
    POWERS_OF_TWO_TAKEN,
    MERGE_COUNTER_NOT_RESET,
    FIRST_SEGMENT_SPEAKS_FOR_ALL,
    NOTHING_LESS_NOTHING,
    MASKED_SLOT_READ,
    ONE_HEAD_A_NODE,
    HEADS_SHARE_TOTAL,
};

constexpr int SEGMENT_LENGTH = 64, AT_A_TIME = 4, FEATURES = 4; /* d up to 128, a multiple of 4 */
constexpr int NUMBERS =
    FEATURES + 2; /* that a lane leaves of a segment: the largest score, the total, the sum */

struct fused {
    const row_share *share;
    const int *column;
    int heads, d, unnamed; /* a column that no nonzero names */
    float scale;
    const float *Q, *K, *V;
    float *O, *lse, *left;
    unsigned *arrived;
};

/* State of a row and head: see lab 36. */
template <bug BUG> struct state {
    float most = -INFINITY, total = 0, sum[FEATURES] = {};

    __device__ float power(float x) const
    {
        return exp2f(BUG == POWERS_OF_TWO_TAKEN ? x : x * 1.44269504f);
    }

    __device__ float raise(float score)
    {
        const float old = most;
        if (BUG != LARGEST_OF_FIRST_BATCH || most == -INFINITY) most = fmaxf(most, score);
        if (BUG == NO_LARGEST_SCORE) most = 0;
        const float from = most == -INFINITY && BUG != NOTHING_LESS_NOTHING ? 0 : most;
        if (BUG != TOTAL_NOT_SCALED_DOWN) total *= power(old - from);
        for (int f = 0; f < FEATURES && BUG != SUM_NOT_SCALED_DOWN; f++)
            sum[f] *= power(old - from);
        return from;
    }

    __device__ void add(float score, const float (&v)[FEATURES], float from)
    {
        const float weight = power(score - from);
        total += weight;
        for (int f = 0; f < FEATURES; f++)
            sum[f] += weight * v[f];
    }
};

/* This lane's features of a node's head; lanes beyond them have the last ones, and are not asked. */
static __device__ const float *features_of(const fused &p, const float *array, int node, int head,
                                           int heads)
{
    const int lane = min(lane_id(), p.d / FEATURES - 1);
    return array + ((size_t)node * heads + head) * p.d + lane * FEATURES;
}

static __device__ float score_of(const fused &p, int row, int column, int head, int heads)
{
    float q[FEATURES], k[FEATURES], s = 0;
    load_vector(q, features_of(p, p.Q, row, head, p.heads));
    load_vector(k, features_of(p, p.K, column, head, heads));
    for (int f = 0; f < FEATURES; f++)
        s += q[f] * k[f];
    return warp_sum(lane_id() < p.d / FEATURES ? s : 0);
}

/* Adds AT_A_TIME nonzeros from the `first` on; those from `end` on are masked. */
template <bug BUG>
static __device__ void add_batch(const fused &p, int row, int first, int end, int head,
                                 state<BUG> &mine)
{
    const int heads = BUG == ONE_HEAD_A_NODE ? 1 : p.heads;
    const float scale = BUG == SCALE_MISSING ? 1 : BUG == SCALE_TWICE ? p.scale * p.scale : p.scale;
    float score[AT_A_TIME], largest = -INFINITY;
    int column[AT_A_TIME];
    for (int u = 0; u < AT_A_TIME; u++) {
        const bool masked = first + u >= end;
        column[u] = p.column[max(0, min(first + u, end - 1))];
        if (BUG == MASKED_SLOT_READ && masked) column[u] = p.unnamed;
        score[u] = scale * score_of(p, row, column[u], head, heads);
        if (masked) score[u] = -INFINITY;
        largest = fmaxf(largest, score[u]);
    }
    const float from = mine.raise(largest);
    for (int u = 0; u < AT_A_TIME; u++) {
        float v[FEATURES];
        load_vector(v, features_of(p, p.V, column[u], head, heads));
        mine.add(score[u], v, from);
        for (int h = 0; h < p.heads && BUG == HEADS_SHARE_TOTAL; h++)
            if (h != head && first + u < end)
                mine.total += mine.power(scale * score_of(p, row, column[u], h, heads) - from);
    }
}

template <bug BUG> __global__ void fused_attention_mutant_kernel(fused p)
{
    const row_share own = p.share[blockIdx.x];
    const int head = blockIdx.y, lane = lane_id();
    const int end = own.first + share_length(own, SEGMENT_LENGTH);
    const int shares = shares_of_row(own, blockIdx.x, SEGMENT_LENGTH);
    const auto left = [&](int share) {
        return p.left + ((size_t)share * p.heads + head) * NUMBERS * WARP_SIZE + lane;
    };
    state<BUG> mine;
    for (int at = own.first; at == own.first || at < end; at += AT_A_TIME)
        add_batch<BUG>(p, own.row, at, end, head, mine);
    if (shares > 1) {
        unsigned *const arrived = &p.arrived[own.first_share * p.heads + head];
        float *const to = left(blockIdx.x);
        to[0] = mine.most;
        to[WARP_SIZE] = mine.total;
        for (int f = 0; f < FEATURES; f++)
            to[(2 + f) * WARP_SIZE] = mine.sum[f];
        if (BUG == MERGE_COUNTER_NOT_RESET) {
            unsigned before = 0;
            __threadfence();
            __syncwarp();
            if (lane == 0) before = atomicAdd(arrived, 1);
            before = __shfl_sync(FULL_MASK, before, 0);
            __threadfence();
            if ((int)before != shares - 1) return;
        } else if (!warp_comes_last(arrived, shares)) {
            return;
        }
        mine = state<BUG>();
        for (int s = 0; s < shares; s++) {
            const float *const from = left(own.first_share + s);
            const float *const about =
                BUG == FIRST_SEGMENT_SPEAKS_FOR_ALL ? left(own.first_share) : from;
            const float most = __ldcg(about), base = mine.raise(most),
                        weight = mine.power(most - base);
            mine.total += weight * __ldcg(about + WARP_SIZE);
            for (int f = 0; f < FEATURES; f++)
                mine.sum[f] += weight * __ldcg(from + (2 + f) * WARP_SIZE);
        }
    }
    const bool empty = own.first == own.end && BUG != NOTHING_LESS_NOTHING;
    float o[FEATURES];
    for (int f = 0; f < FEATURES; f++)
        o[f] = empty ? 0 : mine.sum[f] / mine.total;
    float *const O = p.O + ((size_t)own.row * p.heads + head) * p.d;
    if (lane < p.d / FEATURES) store_vector(O + lane * FEATURES, o);
    if (lane == 0) p.lse[(size_t)own.row * p.heads + head] = mine.most + logf(mine.total);
}

struct fused_plan {
    row_shares *shares;
    partial_sums sums;
    int unnamed;
};

static int unnamed_column(const csr_matrix *A)
{
    for (int64_t column = A->cols - 1; column >= 0; column--) {
        bool named = false;
        for (int64_t z = 0; z < A->nnz && !named; z++)
            named = A->col_idx[z] == column;
        if (!named) return (int)column;
    }
    return 0;
}

static void release(attention_plan *plan)
{
    fused_plan *f = (fused_plan *)plan->state;
    row_shares_free(f->shares);
    partial_sums_free(&f->sums);
    free(f);
}

static cudaError_t prepare(attention_plan *plan)
{
    fused_plan *f = (fused_plan *)calloc(1, sizeof *f);
    if (!f) return cudaErrorMemoryAllocation;
    plan->state = f;
    f->unnamed = unnamed_column(plan->A.host);
    cudaError_t error = row_shares_build(&plan->A, SEGMENT_LENGTH, 0, 0, &f->shares);
    if (error == cudaSuccess) {
        const size_t parts = (size_t)f->shares->segments * plan->heads;
        error = partial_sums_make(parts * NUMBERS * WARP_SIZE, parts, &f->sums);
    }
    if (error != cudaSuccess) release(plan);
    return error;
}

template <bug BUG>
static cudaError_t run(const attention_plan *plan, const attention_inputs *in, void *O, float *lse,
                       cudaStream_t stream)
{
    const fused_plan *f = (const fused_plan *)plan->state;
    const fused p = {.share = f->shares->d_share,
                     .column = plan->A.d_col_idx,
                     .heads = plan->heads,
                     .d = plan->d,
                     .unnamed = f->unnamed,
                     .scale = plan->scale,
                     .Q = (const float *)in->Q,
                     .K = (const float *)in->K,
                     .V = (const float *)in->V,
                     .O = (float *)O,
                     .lse = lse,
                     .left = f->sums.d_sums,
                     .arrived = f->sums.d_arrived};
    fused_attention_mutant_kernel<BUG>
        <<<dim3(f->shares->count, plan->heads), WARP_SIZE, 0, stream>>>(p);
    return cudaGetLastError();
}

enum { TWO_HEADS = 1 }; /* in mode DOT: a combination of knobs */

#define FUSED_MUTANT(bug, diagnosis)                                                           \
    static attention_contender mutant_##bug = {                                                \
        .base = {.lab = SHOWS_ALWAYS, .after = TWO_HEADS, .name = #bug, .summary = diagnosis}, \
        .prepare = prepare,                                                                    \
        .run = run<bug>,                                                                       \
        .release = release,                                                                    \
    };                                                                                         \
    ATTENTION_REGISTER(mutant_##bug)

FUSED_MUTANT(HEALTHY_FUSED, NULL)
FUSED_MUTANT(NO_LARGEST_SCORE, "O: NaN or infinity computed")
FUSED_MUTANT(LARGEST_OF_FIRST_BATCH, "O: NaN or infinity computed: only in rows of")
FUSED_MUTANT(SUM_NOT_SCALED_DOWN,
             "O: wrong values: only in rows of 5 or more nonzeros, though not in all of them")
FUSED_MUTANT(TOTAL_NOT_SCALED_DOWN,
             "O: wrong values: only in rows of 5 or more nonzeros, though not in all of them")
FUSED_MUTANT(SCALE_MISSING, "scores were not divided by the root of d")
FUSED_MUTANT(SCALE_TWICE, "scores were divided by the root of d twice")
FUSED_MUTANT(POWERS_OF_TWO_TAKEN, "its exponentials are powers of 2 in place of e")
FUSED_MUTANT(MERGE_COUNTER_NOT_RESET,
             "O: never written: only rows longer than 64 nonzeros, in later runs only")
FUSED_MUTANT(FIRST_SEGMENT_SPEAKS_FOR_ALL, "O: wrong values: only rows longer than 64 nonzeros")
FUSED_MUTANT(NOTHING_LESS_NOTHING, "O: NaN or infinity computed: only empty rows")
FUSED_MUTANT(MASKED_SLOT_READ, "O: NaN or infinity computed")
FUSED_MUTANT(ONE_HEAD_A_NODE, "O: wrong values: in every row that is not empty")
FUSED_MUTANT(HEADS_SHARE_TOTAL, "O: wrong values: in every row that is not empty")
