/*
 * attention.cu - mutants of attention (labs 35 and 36): scores, their scale, the running maximum, heads, and what a row
 * without nonzeros or a masked slot does. A warp a row and head, two nonzeros at a time. d = 100.
 */
#include "mutant.h"

#include "device/cuda_try.h"
#include "device/half.cuh"
#include "device/warp.cuh"

enum bug {
    HEALTHY_ATTENTION,
    SCALE_LEFT_OUT,
    SCALED_TWICE,
    EXPONENTIALS_OF_TWO,
    NO_MAXIMUM_TAKEN,
    MAXIMUM_OF_FIRST,
    SUM_KEPT_AT_OLD_MAXIMUM,
    ROW_KEPT_AT_OLD_MAXIMUM,
    EMPTY_ROW_DIVIDES,
    MASKED_SLOT_READ,
    HEADS_SIDE_BY_FEATURE,
    SCORES_OF_NEXT_HEAD,
    SUM_OVER_ALL_HEADS,
    BIAS_LEFT_OUT,
    FEATURES_IN_WHOLE_ROUNDS,
    LSE_IN_POWERS_OF_TWO,
    LAST_NONZERO_LOST,
    SLOPE_LEFT_OUT,
    VECTOR_OF_FIRST_HEAD,
    SHARES_IN_HALF,
};

constexpr int WARPS = 4;
constexpr int ROUNDS = 4; /* of 32 features */

/* Everything a mutant's kernel is given. */
struct mutant_attention {
    int rows, heads, d, mode;
    float scale;
    const int *row_ptr, *col_idx;
    const float *values, *Q, *K, *V, *el, *er, *a;
    float *O, *lse;
};

__device__ __forceinline__ size_t place(const mutant_attention &p, bug wrong, int node, int head,
                                        int c)
{
    return wrong == HEADS_SIDE_BY_FEATURE ? ((size_t)node * p.d + c) * p.heads + head
                                          : ((size_t)node * p.heads + head) * p.d + c;
}

template <bug BUG>
__device__ float score(const mutant_attention &p, int row, int column, int z, int head, int lane)
{
    const int by = BUG == SCORES_OF_NEXT_HEAD ? (head + 1) % p.heads : head;
    const int d = BUG == FEATURES_IN_WHOLE_ROUNDS ? p.d / WARP_SIZE * WARP_SIZE : p.d;
    float sum = 0;
    if (p.mode == ATTENTION_GAT) {
        const float x = p.el[row * p.heads + by] + p.er[column * p.heads + by];
        sum = x < 0 && BUG != SLOPE_LEFT_OUT ? x * ATTENTION_SLOPE : x;
    } else {
        for (int c = lane; c < d; c += WARP_SIZE) {
            const float q = p.Q[place(p, BUG, row, by, c)];
            const float x = q + (p.mode == ATTENTION_GATV2 ? p.V[place(p, BUG, column, by, c)] : 0);
            const float a = p.mode == ATTENTION_GATV2
                                ? p.a[(BUG == VECTOR_OF_FIRST_HEAD ? 0 : by) * p.d + c]
                                : 0;
            sum += p.mode == ATTENTION_DOT ? q * p.K[place(p, BUG, column, by, c)]
                                           : a * (x < 0 ? x * ATTENTION_SLOPE : x);
        }
        sum = warp_sum(sum);
    }
    if (p.mode == ATTENTION_DOT && BUG != SCALE_LEFT_OUT) sum *= p.scale;
    if (p.mode == ATTENTION_DOT && BUG == SCALED_TWICE) sum *= p.scale;
    return p.values && BUG != BIAS_LEFT_OUT ? sum + p.values[z] : sum;
}

template <bug BUG> __global__ void attention_mutant_kernel(const mutant_attention p)
{
    const int unit = blockIdx.x * WARPS + warp_id(), lane = lane_id();
    if (unit >= p.rows * p.heads) return;
    const int row = unit / p.heads, head = unit % p.heads;
    const int begin = p.row_ptr[row], end = p.row_ptr[row + 1] - (BUG == LAST_NONZERO_LOST);
    const float log2e = BUG == EXPONENTIALS_OF_TWO ? 1 : 1.44269504f;
    float m = BUG == NO_MAXIMUM_TAKEN ? 0 : -INFINITY, sum = 0, acc[ROUNDS] = {};
    for (int z = begin; z < end; z += 2) {
        for (int u = 0; u < 2; u++) {
            const bool masked = z + u >= end;
            if (masked && BUG != MASKED_SLOT_READ) continue;
            const int column = masked ? 0 : p.col_idx[z + u];
            const float s = masked ? 0 : score<BUG>(p, row, column, z + u, head, lane);
            const bool moves = BUG != NO_MAXIMUM_TAKEN && (BUG != MAXIMUM_OF_FIRST || z == begin);
            const float top = moves ? fmaxf(m, s) : m;
            const float shrink = m == -INFINITY ? 0 : exp2f((m - top) * log2e);
            const float w = masked ? 0 : exp2f((s - top) * log2e);
            if (BUG != SUM_KEPT_AT_OLD_MAXIMUM) sum *= shrink;
            sum += w;
            for (int k = 0; k < ROUNDS; k++) {
                const int c = lane + k * WARP_SIZE;
                if (BUG != ROW_KEPT_AT_OLD_MAXIMUM) acc[k] *= shrink;
                if (c < p.d) acc[k] += w * p.V[place(p, BUG, column, head, c)];
                if (BUG == SHARES_IN_HALF) acc[k] = widen(narrow<__half>(acc[k]));
            }
            m = top;
        }
    }
    if (BUG == SUM_OVER_ALL_HEADS)
        for (int other = 1; other < p.heads; other++)
            for (int z = begin; z < end; z++)
                sum += exp2f(
                    (score<BUG>(p, row, p.col_idx[z], z, (head + other) % p.heads, lane) - m) *
                    log2e);
    for (int k = 0; k < ROUNDS; k++) {
        const int c = lane + k * WARP_SIZE;
        const float inverse = sum > 0 || BUG == EMPTY_ROW_DIVIDES ? 1 / sum : 0;
        if (c < p.d) p.O[place(p, BUG, row, head, c)] = acc[k] * inverse;
    }
    const float log_sum = BUG == LSE_IN_POWERS_OF_TWO ? m * log2e + log2f(sum) : m + logf(sum);
    if (lane == 0) p.lse[unit] = sum > 0 ? log_sum : -INFINITY;
}

template <bug BUG>
static cudaError_t run(const attention_plan *plan, const attention_inputs *in, void *O, float *lse,
                       cudaStream_t stream)
{
    const device_csr &A = plan->A;
    const mutant_attention p = {A.rows,
                                plan->heads,
                                plan->d,
                                plan->mode,
                                plan->scale,
                                A.d_row_ptr,
                                A.d_col_idx,
                                A.d_values,
                                (const float *)in->Q,
                                (const float *)in->K,
                                (const float *)in->V,
                                in->el,
                                in->er,
                                in->a,
                                (float *)O,
                                lse};
    attention_mutant_kernel<BUG>
        <<<(A.rows * plan->heads + WARPS - 1) / WARPS, WARPS * WARP_SIZE, 0, stream>>>(p);
    return cudaGetLastError();
}

/* Numbers of combinations of knobs (problem_turn_knobs): 4 heads, and a bias where it says so. */
enum {
    FOUR_HEADS = 3,
    OF_GAT = FOUR_HEADS + 8,
    OF_GATV2 = FOUR_HEADS + 16,
    BIASED = FOUR_HEADS + 32
};

#define ATTENTION_MUTANT_WITH(knobs, bug, diagnosis)                                       \
    static attention_contender mutant_##bug##_##knobs = {                                  \
        .base = {.lab = SHOWS_ALWAYS, .after = knobs, .name = #bug, .summary = diagnosis}, \
        .run = run<bug>,                                                                   \
    };                                                                                     \
    ATTENTION_REGISTER(mutant_##bug##_##knobs)
#define ATTENTION_MUTANT(bug, diagnosis) ATTENTION_MUTANT_WITH(FOUR_HEADS, bug, diagnosis)

ATTENTION_MUTANT(HEALTHY_ATTENTION, NULL)
ATTENTION_MUTANT(SCALE_LEFT_OUT, "scores were not divided by the root of d")
ATTENTION_MUTANT(SCALED_TWICE, "scores were divided by the root of d twice")
ATTENTION_MUTANT(EXPONENTIALS_OF_TWO, "powers of 2 in place of e")
ATTENTION_MUTANT(NO_MAXIMUM_TAKEN, "wrong values")
ATTENTION_MUTANT(MAXIMUM_OF_FIRST, "only in rows of")
ATTENTION_MUTANT(SUM_KEPT_AT_OLD_MAXIMUM, "only rows longer than")
ATTENTION_MUTANT(ROW_KEPT_AT_OLD_MAXIMUM, "only rows longer than")
ATTENTION_MUTANT(EMPTY_ROW_DIVIDES, "empty rows")
ATTENTION_MUTANT(MASKED_SLOT_READ, "NaN or infinity computed")
ATTENTION_MUTANT(HEADS_SIDE_BY_FEATURE, "wrong values")
ATTENTION_MUTANT(SCORES_OF_NEXT_HEAD, "its scores are those of the next head")
ATTENTION_MUTANT(SUM_OVER_ALL_HEADS, "wrong values")
ATTENTION_MUTANT(FEATURES_IN_WHOLE_ROUNDS, "wrong values")
ATTENTION_MUTANT(LSE_IN_POWERS_OF_TWO, "lse")
ATTENTION_MUTANT(LAST_NONZERO_LOST, "wrong values")
ATTENTION_MUTANT(SHARES_IN_HALF, "wrong values")
ATTENTION_MUTANT_WITH(BIASED, HEALTHY_ATTENTION, NULL)
ATTENTION_MUTANT_WITH(BIASED, BIAS_LEFT_OUT, "the bias was not added")
ATTENTION_MUTANT_WITH(OF_GAT, HEALTHY_ATTENTION, NULL)
ATTENTION_MUTANT_WITH(OF_GAT, SLOPE_LEFT_OUT, "wrong values")
ATTENTION_MUTANT_WITH(OF_GATV2, HEALTHY_ATTENTION, NULL)
ATTENTION_MUTANT_WITH(OF_GATV2, VECTOR_OF_FIRST_HEAD, "wrong values")
