/*
 * block_importance.cu - mutants of block importance (lab 55): groups of features, steps of tokens, pieces, numbers that are
 * not finite, and the norms of blocks. A thread an element of the importance, and of the norms.
 */
#include "mutant.h"

#include "device/half.cuh"
#include "ops/block_importance.h"

#include <stdlib.h>

enum bug {
    HEALTHY_IMPORTANCE,
    HEALTHY_ROOTS,
    LAST_FEATURE_OF_A_GROUP_LOST,
    LARGEST_BY_ITS_SIGN,
    NAN_LOST_BY_FMAXF,
    INFINITY_TIMES_ZERO_IS_LEFT,
    OLD_IS_CLEARED_WITH_THE_PRODUCT,
    ROOT_FORGOTTEN,
    SQUARES_SUMMED_IN_HALF,
    SUM_OF_THE_NUMBERS,
    IMPORTANCE_SUMMED_IN_HALF,
    TOKENS_OF_THE_LAST_STEP_LOST,
    TOKENS_OF_A_FIRST_PAIR_ALONE,
    GRADIENTS_OF_THE_OTHER_PAIR,
    SUMS_OF_A_PIECE_LOST,
    SUM_IS_NOT_SCALED,
    OLD_IS_SCALED,
    OLD_IS_FORGOTTEN,
    ABSENT_BLOCKS_ARE_ZERO,
    NORM_OF_THE_FIRST_ROW,
    NORMS_BY_ROWS,
    LAST_BLOCK_WITHOUT_NORM,
};

constexpr int STEP = 32, PIECES = 3;

struct importance_mutant_args {
    const __half *X, *dY, *W;
    const float *old;
    const int
        *number; /* of each block in the order of rows; then whether a block exists, [CB][KB] */
    float *importance, *norm;
    int B, CB, KB, blocks, N, pairs;
    bool l2;
    float scale;
};

/* R of `count` numbers. */
template <bug BUG> static __device__ float reduced(const __half *x, int count, bool l2)
{
    float norm = 0;
    for (int i = 0; i < count - (BUG == LAST_FEATURE_OF_A_GROUP_LOST); i++) {
        const float v = widen(x[i]), size = BUG == LARGEST_BY_ITS_SIGN ? v : fabsf(v);
        if (BUG == SUM_OF_THE_NUMBERS)
            norm += size;
        else if (l2)
            norm += v * v;
        else
            norm = BUG == NAN_LOST_BY_FMAXF ? fmaxf(norm, size) : size <= norm ? norm : size;
        if (BUG == SQUARES_SUMMED_IN_HALF) norm = widen(narrow<__half>(norm));
        if (norm != norm) return norm;
    }
    return l2 && BUG != ROOT_FORGOTTEN && BUG != SUM_OF_THE_NUMBERS ? sqrtf(norm) : norm;
}

template <bug BUG> static __device__ float product(const importance_mutant_args &a, int c, int k)
{
    const int pairs = BUG == TOKENS_OF_A_FIRST_PAIR_ALONE ? 1 : a.pairs;
    const int tokens = BUG == TOKENS_OF_THE_LAST_STEP_LOST ? a.N / STEP * STEP : a.N;
    const int pieces = PIECES - (BUG == SUMS_OF_A_PIECE_LOST);
    float sum = 0;
    for (int p = 0; p < pairs; p++)
        for (int t = 0; t < tokens * pieces / PIECES; t++) {
            const int other = BUG == GRADIENTS_OF_THE_OTHER_PAIR ? a.pairs - 1 - p : p;
            const __half *x = a.X + ((size_t)(p * a.N + t) * a.CB + c) * a.B;
            const __half *y = a.dY + ((size_t)(other * a.N + t) * a.KB + k) * a.B;
            sum += widen(narrow<__half>(reduced<BUG>(x, a.B, a.l2))) *
                   widen(narrow<__half>(reduced<BUG>(y, a.B, a.l2)));
            if (BUG == IMPORTANCE_SUMMED_IN_HALF) sum = widen(narrow<__half>(sum));
        }
    return sum;
}

static __device__ float or_0(float x)
{
    return fabsf(x) < INFINITY ? x : 0;
}

template <bug BUG> static __global__ void importance_mutant_kernel(const importance_mutant_args a)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < a.CB * a.KB) {
        const float scale = BUG == SUM_IS_NOT_SCALED ? 1 : a.scale;
        const float old = BUG == OLD_IS_FORGOTTEN ? 0 : a.old[e];
        const float sum = scale * product<BUG>(a, e / a.KB, e % a.KB);
        float result = or_0(sum) + old;
        if (BUG == INFINITY_TIMES_ZERO_IS_LEFT) result = sum + old;
        if (BUG == OLD_IS_CLEARED_WITH_THE_PRODUCT) result = or_0(sum + old);
        if (BUG == OLD_IS_SCALED) result = or_0(sum) + scale * old;
        if (BUG == ABSENT_BLOCKS_ARE_ZERO && !a.number[a.blocks + e]) result = 0;
        a.importance[e] = result;
    }
    if (e < a.blocks - (BUG == LAST_BLOCK_WITHOUT_NORM)) {
        const int block = BUG == NORMS_BY_ROWS ? a.number[e] : e;
        const int count = BUG == NORM_OF_THE_FIRST_ROW ? a.B : a.B * a.B;
        const float norm = reduced<BUG>(a.W + (size_t)block * a.B * a.B, count, a.l2);
        a.norm[e] = BUG == INFINITY_TIMES_ZERO_IS_LEFT ? norm : or_0(norm);
    }
}

static cudaError_t prepare(block_importance_plan *plan)
{
    const block_layout *l = plan->layout;
    const size_t all = (size_t)l->rows * l->cols, count = l->blocks + all;
    int *number = (int *)calloc(count, sizeof *number);
    if (!number) return cudaErrorMemoryAllocation;
    for (int b = 0; b < l->blocks; b++) {
        number[b] = l->of_row[b];
        number[l->blocks + (size_t)l->row[b] * l->cols + l->col[b]] = 1;
    }
    cudaError_t error = cudaMalloc(&plan->state, count * sizeof *number);
    if (error == cudaSuccess)
        error = cudaMemcpy(plan->state, number, count * sizeof *number, cudaMemcpyHostToDevice);
    free(number);
    return error;
}

static void release(block_importance_plan *plan)
{
    cudaFree(plan->state);
}

template <bug BUG>
static cudaError_t run(const block_importance_plan *plan, const importance_inputs *in,
                       float *importance, float *norm, cudaStream_t stream)
{
    const block_layout *l = plan->layout;
    const importance_mutant_args a = {(const __half *)in->X,
                                      (const __half *)in->dY,
                                      (const __half *)in->W,
                                      in->old,
                                      (const int *)plan->state,
                                      importance,
                                      norm,
                                      plan->block,
                                      l->rows,
                                      l->cols,
                                      l->blocks,
                                      plan->N,
                                      plan->pairs,
                                      plan->norm == IMPORTANCE_L2,
                                      plan->scale};
    const int elements = l->rows * l->cols > l->blocks ? l->rows * l->cols : l->blocks;
    importance_mutant_kernel<BUG><<<(elements + 63) / 64, 64, 0, stream>>>(a);
    return cudaGetLastError();
}

/* The number of the knobs' combination: blocks of 8, two pairs, a scale of 0.5 and beta of 1; with the largest number or
 * the root of the squares. BLOCK runs fastest, then PAIRS, NORM, SCALE and BETA. */
enum { TWO_PAIRS = 4, BY_ROOTS = 4 * 8, HALVED = 4 * 8 * 2, BETA_ONE = 4 * 8 * 2 * 3 };

#define IMPORTANCE_MUTANT(bug, norms, diagnosis)                 \
    static block_importance_contender mutant_##bug = {           \
        .base = {.lab = ON_FEW_BLOCKS + SHOWS_ALWAYS,            \
                 .after = TWO_PAIRS + norms + HALVED + BETA_ONE, \
                 .name = #bug,                                   \
                 .summary = diagnosis,                           \
                 .precision = PRECISION_FP16},                   \
        .prepare = prepare,                                      \
        .run = run<bug>,                                         \
        .release = release,                                      \
    };                                                           \
    BLOCK_IMPORTANCE_REGISTER(mutant_##bug)

IMPORTANCE_MUTANT(HEALTHY_IMPORTANCE, 0, NULL)
IMPORTANCE_MUTANT(HEALTHY_ROOTS, BY_ROOTS, NULL)
IMPORTANCE_MUTANT(LAST_FEATURE_OF_A_GROUP_LOST, BY_ROOTS, "wrong values")
IMPORTANCE_MUTANT(LARGEST_BY_ITS_SIGN, 0, "the largest number was taken with its sign")
IMPORTANCE_MUTANT(NAN_LOST_BY_FMAXF, 0, "wrong values")
IMPORTANCE_MUTANT(INFINITY_TIMES_ZERO_IS_LEFT, 0, "NaN or infinity computed")
IMPORTANCE_MUTANT(OLD_IS_CLEARED_WITH_THE_PRODUCT, 0, "the old importance was not added")
IMPORTANCE_MUTANT(ROOT_FORGOTTEN, BY_ROOTS, "wrong values")
IMPORTANCE_MUTANT(SQUARES_SUMMED_IN_HALF, BY_ROOTS, "wrong values")
IMPORTANCE_MUTANT(SUM_OF_THE_NUMBERS, BY_ROOTS, "wrong values")
IMPORTANCE_MUTANT(IMPORTANCE_SUMMED_IN_HALF, 0, "wrong values")
IMPORTANCE_MUTANT(TOKENS_OF_THE_LAST_STEP_LOST, 0, "wrong values")
IMPORTANCE_MUTANT(TOKENS_OF_A_FIRST_PAIR_ALONE, 0, "only the first pair was summed")
IMPORTANCE_MUTANT(GRADIENTS_OF_THE_OTHER_PAIR, 0, "wrong values")
IMPORTANCE_MUTANT(SUMS_OF_A_PIECE_LOST, 0, "wrong values")
IMPORTANCE_MUTANT(SUM_IS_NOT_SCALED, 0, "the sum was not scaled")
IMPORTANCE_MUTANT(OLD_IS_SCALED, 0, "wrong values")
IMPORTANCE_MUTANT(OLD_IS_FORGOTTEN, 0, "the old importance was not added")
IMPORTANCE_MUTANT(ABSENT_BLOCKS_ARE_ZERO, 0, "all of them 0: in every row")
IMPORTANCE_MUTANT(NORM_OF_THE_FIRST_ROW, BY_ROOTS, "wrong values")
IMPORTANCE_MUTANT(NORMS_BY_ROWS, BY_ROOTS, "wrong values")
IMPORTANCE_MUTANT(LAST_BLOCK_WITHOUT_NORM, 0, "never written")
