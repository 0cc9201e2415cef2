/*
 * Lab 30 - SDDMM: a warp a row; a product of two dense rows for each nonzero.
 *
 * Idea      D has the pattern of W, so only the elements that W stores are computed. For a nonzero in
 *           row i and column j the 32 lanes multiply row i of X by row j of Y, a feature a lane, and
 *           add up their products in five shuffles.
 * Changed   SpMM sums over the nonzeros of a row, and a lane owns a column. Here the sum runs over
 *           features, and a nonzero has one number: lanes must meet.
 * Run       make lab30 && ./lab30 arxiv 32
 * Watch     The warp of the longest row is still at work when all others are done.
 * Paper     T. Gale, M. Zaharia, C. Young, E. Elsen: Sparse GPU Kernels for Deep Learning, SC 2020.
 */
#include "device/half.cuh"
#include "device/warp.cuh"
#include "ops/sddmm.h"

constexpr int WARPS = 4; /* rows of a block */

/* weights: a number for each nonzero; NULL: all are 1. H: the format of all arrays but indices. */
template <class H>
static __global__ void sddmm_kernel(int rows, int K, const int *__restrict__ row_ptr,
                                    const int *__restrict__ col_idx, const H *__restrict__ weights,
                                    const H *__restrict__ X, const H *__restrict__ Y,
                                    H *__restrict__ D)
{
    const int row = blockIdx.x * WARPS + threadIdx.x / WARP_SIZE;
    const int lane = threadIdx.x % WARP_SIZE;
    if (row >= rows) return;
    /* BEGIN STUDENT: for each nonzero of the row a sum over K features, in fp32, by all 32 lanes */
    const H *const x = X + (size_t)row * K;
    const int end = row_ptr[row + 1];
    for (int z = row_ptr[row]; z < end; z++) {
        const H *const y = Y + (size_t)col_idx[z] * K;
        float sum = 0;
        for (int k = lane; k < K; k += WARP_SIZE)
            sum += widen(x[k]) * widen(y[k]);
        sum = warp_sum(sum);
        if (lane == 0) D[z] = narrow<H>(weights ? widen(weights[z]) * sum : sum);
    }
    /* END STUDENT */
}

template <class H>
static cudaError_t launch(const sddmm_plan *plan, const void *weights, const void *X, const void *Y,
                          void *D, cudaStream_t stream)
{
    const device_csr &W = plan->W;
    if (W.rows == 0) return cudaSuccess;
    sddmm_kernel<<<(W.rows - 1) / WARPS + 1, WARPS * WARP_SIZE, 0, stream>>>(
        W.rows, plan->K, W.d_row_ptr, W.d_col_idx, (const H *)weights, (const H *)X, (const H *)Y,
        (H *)D);
    return cudaGetLastError();
}

static cudaError_t run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream)
{
    return launch<float>(plan, plan->W.d_values, X, Y, D, stream);
}

template <class H>
static cudaError_t run16(const sddmm_plan *plan, const void *X, const void *Y, void *D,
                         cudaStream_t stream)
{
    return launch<H>(plan, plan->W.d_values16, X, Y, D, stream);
}

#define SDDMM(title, kind, runner, function)                                  \
    static sddmm_contender title = {                                          \
        .base = {.lab = 30,                                                   \
                 .name = #title,                                              \
                 .summary = "a warp a row, 5 shuffles and 1 store a nonzero", \
                 .precision = kind},                                          \
        .runner = function,                                                   \
    };                                                                        \
    SDDMM_REGISTER(title)

SDDMM(sddmm, PRECISION_FP32, run, run)
SDDMM(sddmm_fp16, PRECISION_FP16, run16, run16<__half>)
SDDMM(sddmm_bf16, PRECISION_BF16, run16, run16<__nv_bfloat16>)
