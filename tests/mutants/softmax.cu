/*
 * softmax.cu - mutants of sparse softmax (lab 34): maximum, sum, heads, and lanes that see nothing. A warp a row and head.
 */
#include "mutant.h"

#include "device/half.cuh"
#include "device/warp.cuh"

enum bug {
    HEALTHY_SHARES,
    NO_MAXIMUM,
    MAXIMUM_OF_FIRST_BATCH,
    SUM_NOT_RESCALED,
    SUM_OF_OWN_LANE,
    IDLE_LANES_UNGUARDED,
    POWERS_OF_TWO,
    UNSTORED_COUNTS_AS_ZERO,
    SOFTMAX_OF_ALL_HEADS,
    SCORES_BY_NONZERO,
    BIAS_IGNORED,
    BIAS_OF_FIRST_HEAD,
    LAST_SHARE_DROPPED,
    EXPONENTIALS_NOT_DIVIDED,
    LSE_WITHOUT_MAXIMUM,
    LSE_OF_EMPTY_IS_ZERO,
    SUM_IN_HALF,
};

constexpr int WARPS = 4;

template <bug BUG, class T>
__global__ void softmax_mutant_kernel(int rows, int cols, int H, const int *row_ptr, const T *bias,
                                      const T *S, T *P, float *lse)
{
    const int unit = blockIdx.x * WARPS + warp_id(), lane = lane_id();
    if (unit >= rows * H) return;
    const int row = unit / H, head = unit % H, first = row_ptr[row], n = row_ptr[row + 1] - first;
    const bool all = BUG == SOFTMAX_OF_ALL_HEADS, by_nonzero = BUG == SCORES_BY_NONZERO;
    const size_t at = (size_t)first * H + (all || by_nonzero ? 0 : (size_t)head * n);
    const int count = all ? n * H : n, stride = by_nonzero ? H : 1;
    const float log2e = BUG == POWERS_OF_TWO ? 1 : 1.44269504f;
    const auto score = [&](int j) {
        const bool biased = bias && BUG != BIAS_IGNORED && (BUG != BIAS_OF_FIRST_HEAD || head == 0);
        const float x = widen(S[at + (size_t)j * stride + (by_nonzero ? head : 0)]);
        return biased ? x + widen(bias[first + j % max(n, 1)]) : x;
    };
    float m = BUG == NO_MAXIMUM ? 0 : -INFINITY, sum = 0;
    for (int j = lane; j < count; j += WARP_SIZE) {
        const float x = score(j);
        if (BUG != NO_MAXIMUM && (BUG != MAXIMUM_OF_FIRST_BATCH || j < WARP_SIZE)) {
            const float top = fmaxf(m, x);
            if (BUG != SUM_NOT_RESCALED) sum *= exp2f((m - top) * log2e);
            m = top;
        }
        sum += exp2f((x - m) * log2e);
        if (BUG == SUM_IN_HALF) sum = widen(narrow<__half>(sum));
    }
    float most = warp_max(m);
    if (BUG == UNSTORED_COUNTS_AS_ZERO) most = fmaxf(most, 0);
    for (int d = WARP_SIZE / 2; BUG == IDLE_LANES_UNGUARDED && d > 0; d /= 2) {
        const float other = __shfl_xor_sync(FULL_MASK, m, d), top = fmaxf(m, other);
        const float more = __shfl_xor_sync(FULL_MASK, sum, d) * exp2f((other - top) * log2e);
        sum = sum * exp2f((m - top) * log2e) + more; /* of two that saw nothing: NaN */
        m = top;
    }
    if (BUG != IDLE_LANES_UNGUARDED) {
        if (m != -INFINITY) sum *= exp2f((m - most) * log2e);
        if (BUG != SUM_OF_OWN_LANE) sum = warp_sum(sum);
    }
    if (BUG == UNSTORED_COUNTS_AS_ZERO) sum += (cols - n) * exp2f(-most * log2e);
    const int stored = n - (BUG == LAST_SHARE_DROPPED);
    for (int j = lane; j < stored; j += WARP_SIZE) {
        const int own = all ? head * n + j : j;
        const float e = exp2f((score(own) - most) * log2e);
        P[(size_t)first * H + (by_nonzero ? (size_t)j * H + head : (size_t)head * n + j)] =
            narrow<T>(BUG == EXPONENTIALS_NOT_DIVIDED ? e : e / sum);
    }
    if (lane != 0) return;
    lse[unit] = (BUG == LSE_WITHOUT_MAXIMUM ? 0 : most) + logf(sum);
    if (BUG == LSE_OF_EMPTY_IS_ZERO && n == 0) lse[unit] = 0;
}

template <bug BUG, class T>
static cudaError_t launch(const softmax_plan *plan, const void *bias, const void *S, void *P,
                          float *lse, cudaStream_t stream)
{
    const device_csr &A = plan->A;
    softmax_mutant_kernel<BUG>
        <<<(A.rows * plan->H + WARPS - 1) / WARPS, WARPS * WARP_SIZE, 0, stream>>>(
            A.rows, A.cols, plan->H, A.d_row_ptr, (const T *)bias, (const T *)S, (T *)P, lse);
    return cudaGetLastError();
}

template <bug BUG>
static cudaError_t run(const softmax_plan *plan, const float *S, float *P, float *lse,
                       cudaStream_t stream)
{
    return launch<BUG, float>(plan, plan->A.d_values, S, P, lse, stream);
}

template <bug BUG>
static cudaError_t run16(const softmax_plan *plan, const void *S, void *P, float *lse,
                         cudaStream_t stream)
{
    return launch<BUG, __half>(plan, plan->A.d_values16, S, P, lse, stream);
}

#define SOFTMAX_MUTANT_ON(shows, bug, diagnosis)                    \
    static softmax_contender mutant_##bug = {                       \
        .base = {.lab = shows, .name = #bug, .summary = diagnosis}, \
        .run = run<bug>,                                            \
    };                                                              \
    SOFTMAX_REGISTER(mutant_##bug)
#define SOFTMAX_MUTANT(bug, diagnosis) SOFTMAX_MUTANT_ON(SHOWS_ALWAYS, bug, diagnosis)
#define SOFTMAX_HALF_MUTANT(bug, diagnosis)          \
    static softmax_contender mutant_##bug##_half = { \
        .base = {.lab = SHOWS_ALWAYS,                \
                 .name = #bug " fp16",               \
                 .summary = diagnosis,               \
                 .precision = PRECISION_FP16},       \
        .run16 = run16<bug>,                         \
    };                                               \
    SOFTMAX_REGISTER(mutant_##bug##_half)

SOFTMAX_MUTANT(HEALTHY_SHARES, NULL)
SOFTMAX_MUTANT(NO_MAXIMUM, "wrong values")
SOFTMAX_MUTANT(MAXIMUM_OF_FIRST_BATCH, "only in rows of 33 or more")
SOFTMAX_MUTANT(SUM_NOT_RESCALED, "only in rows of 33 or more")
SOFTMAX_MUTANT(SUM_OF_OWN_LANE, "wrong values")
SOFTMAX_MUTANT(IDLE_LANES_UNGUARDED, "NaN or infinity computed")
SOFTMAX_MUTANT(POWERS_OF_TWO, "powers of 2 in place of e")
SOFTMAX_MUTANT(UNSTORED_COUNTS_AS_ZERO, "wrong values")
SOFTMAX_MUTANT(SOFTMAX_OF_ALL_HEADS, "the softmax ran over the scores of all heads")
SOFTMAX_MUTANT(SCORES_BY_NONZERO, "wrong values")
SOFTMAX_MUTANT_ON(SHOWS_ON_VALUES, BIAS_IGNORED, "the bias was not added")
SOFTMAX_MUTANT_ON(SHOWS_ON_VALUES, BIAS_OF_FIRST_HEAD, "the bias was not added")
SOFTMAX_MUTANT(LAST_SHARE_DROPPED, "never written")
SOFTMAX_MUTANT(EXPONENTIALS_NOT_DIVIDED, "it was not divided by the sum of its row")
SOFTMAX_MUTANT(LSE_WITHOUT_MAXIMUM, "lse")
SOFTMAX_MUTANT(LSE_OF_EMPTY_IS_ZERO, "lse")
SOFTMAX_HALF_MUTANT(HEALTHY_SHARES, NULL)
SOFTMAX_HALF_MUTANT(SUM_IN_HALF, "wrong values")
