/*
 * sddmm_rows.cu - mutants of SDDMM with a warp a row (lab 30): how far the sum over features goes, how it
 * is rounded, and where a result belongs. K = 100, which three rounds of 32 lanes leave unfinished.
 */
#include "mutant.h"

#include "device/half.cuh"
#include "device/warp.cuh"

enum bug {
    HEALTHY_DOTS,
    FEATURES_OF_WHOLE_ROUNDS,
    FIRST_ROUND_ONLY,
    SUM_OF_HALF_A_WARP,
    PRODUCTS_SUMMED_IN_HALF,
    WEIGHT_IGNORED,
    WEIGHT_OF_NEXT,
    STORED_BY_COLUMN,
    LAST_OF_ROW_DROPPED,
};

constexpr int WARPS = 4;

template <bug BUG, class H>
__global__ void sddmm_rows_mutant_kernel(int rows, int K, const int *row_ptr, const int *col_idx,
                                         const H *weights, const H *X, const H *Y, H *D)
{
    const int row = blockIdx.x * WARPS + warp_id(), lane = lane_id();
    if (row >= rows) return;
    const int start = row_ptr[row], end = row_ptr[row + 1] - (BUG == LAST_OF_ROW_DROPPED);
    const int features = BUG == FEATURES_OF_WHOLE_ROUNDS ? K / WARP_SIZE * WARP_SIZE
                         : BUG == FIRST_ROUND_ONLY       ? min(K, WARP_SIZE)
                                                         : K;
    for (int z = start; z < end; z++) {
        const H *const x = X + (size_t)row * K, *const y = Y + (size_t)col_idx[z] * K;
        float sum = 0;
        for (int k = lane; k < features; k += WARP_SIZE) {
            sum += widen(x[k]) * widen(y[k]);
            if (BUG == PRODUCTS_SUMMED_IN_HALF) sum = widen(narrow<H>(sum));
        }
        sum = BUG == SUM_OF_HALF_A_WARP ? subwarp_sum<WARP_SIZE / 2>(sum) : warp_sum(sum);
        const int w = BUG == WEIGHT_OF_NEXT && z + 1 < end ? z + 1 : z;
        const int to = BUG == STORED_BY_COLUMN ? start + col_idx[z] % (end - start) : z;
        if (lane == 0)
            D[to] = narrow<H>(weights && BUG != WEIGHT_IGNORED ? widen(weights[w]) * sum : sum);
    }
}

template <bug BUG, class H>
static cudaError_t launch(const sddmm_plan *plan, const void *weights, const void *X, const void *Y,
                          void *D, cudaStream_t stream)
{
    const device_csr &W = plan->W;
    sddmm_rows_mutant_kernel<BUG><<<(W.rows + WARPS - 1) / WARPS, WARPS * WARP_SIZE, 0, stream>>>(
        W.rows, plan->K, W.d_row_ptr, W.d_col_idx, (const H *)weights, (const H *)X, (const H *)Y,
        (H *)D);
    return cudaGetLastError();
}

template <bug BUG>
static cudaError_t run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream)
{
    return launch<BUG, float>(plan, plan->W.d_values, X, Y, D, stream);
}

template <bug BUG, class H>
static cudaError_t run16(const sddmm_plan *plan, const void *X, const void *Y, void *D,
                         cudaStream_t stream)
{
    return launch<BUG, H>(plan, plan->W.d_values16, X, Y, D, stream);
}

#define SDDMM_HALF_MUTANT(bug, number, kind, diagnosis) \
    static sddmm_contender mutant_##bug##kind = {       \
        .base = {.lab = SHOWS_ALWAYS,                   \
                 .name = #bug " " #kind,                \
                 .summary = diagnosis,                  \
                 .precision = PRECISION_##kind},        \
        .run16 = run16<bug, number>,                    \
    };                                                  \
    SDDMM_REGISTER(mutant_##bug##kind)

SDDMM_MUTANT(HEALTHY_DOTS, NULL)
SDDMM_MUTANT(FEATURES_OF_WHOLE_ROUNDS, "only the first 96 of 100 features were summed")
SDDMM_MUTANT(FIRST_ROUND_ONLY, "wrong values: in every row that is not empty")
SDDMM_MUTANT(SUM_OF_HALF_A_WARP, "wrong values: in every row that is not empty")
SDDMM_MUTANT_ON(SHOWS_ON_VALUES, WEIGHT_IGNORED, "the weight was not multiplied in")
SDDMM_MUTANT_ON(SHOWS_ON_VALUES, WEIGHT_OF_NEXT, "wrong values: in every row")
SDDMM_MUTANT(STORED_BY_COLUMN, "only rows longer than 1 nonzeros")
SDDMM_MUTANT(LAST_OF_ROW_DROPPED, "never written: in every row that is not empty")
SDDMM_HALF_MUTANT(HEALTHY_DOTS, __half, FP16, NULL)
SDDMM_HALF_MUTANT(HEALTHY_DOTS, __nv_bfloat16, BF16, NULL)
SDDMM_HALF_MUTANT(PRODUCTS_SUMMED_IN_HALF, __half, FP16, "wrong values")
SDDMM_HALF_MUTANT(PRODUCTS_SUMMED_IN_HALF, __nv_bfloat16, BF16, "wrong values")
SDDMM_HALF_MUTANT(FEATURES_OF_WHOLE_ROUNDS, __half, FP16,
                  "only the first 96 of 100 features were summed")
