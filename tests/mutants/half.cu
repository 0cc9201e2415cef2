/*
 * half.cu - mutants in 16 bits (lab 8): where a sum is rounded, and what is lost when 16-bit numbers
 * and columns are taken for something else. N = 100 and a matrix of 300 columns.
 */
#include "mutant.h"

#include "device/half.cuh"

enum bug {
    HEALTHY_HALF,
    ADDED_IN_HALF,
    PARTIAL_SUMS_ROUNDED,
    ROUNDED_TO_ZERO,
    COLUMNS_IN_8_BITS,
    LAST_HALF_DROPPED,
    HALF_TAKEN_FOR_BF16,
};

constexpr int THREADS = 32, SEGMENT = 32;

/* One thread an element: slow, and easy to reason about. */
template <bug BUG, class H>
__global__ void spmm_half_mutant_kernel(int N, const int *row_ptr, const int *col_idx,
                                        const H *values, const H *B, H *C)
{
    const int row = blockIdx.x, j = blockIdx.y * THREADS + threadIdx.x;
    if (j >= N || (BUG == LAST_HALF_DROPPED && j == N - 1)) return;
    float sum = 0;
    for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++) {
        const int col = BUG == COLUMNS_IN_8_BITS ? col_idx[k] & 255 : col_idx[k];
        float a = widen(values[k]);
        if constexpr (BUG == HALF_TAKEN_FOR_BF16)
            a = __uint_as_float(__half_as_ushort(values[k]) << 16);
        sum += a * widen(B[(size_t)col * N + j]);
        const bool segment_ends = (k - row_ptr[row]) % SEGMENT == SEGMENT - 1;
        if (BUG == ADDED_IN_HALF || (BUG == PARTIAL_SUMS_ROUNDED && segment_ends))
            sum = widen(narrow<H>(sum));
    }
    H c = narrow<H>(sum);
    if constexpr (BUG == ROUNDED_TO_ZERO) c = __float2half_rz(sum);
    C[(size_t)row * N + j] = c;
}

template <bug BUG, class H>
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const dim3 grid(A.rows, (plan->N + THREADS - 1) / THREADS);
    spmm_half_mutant_kernel<BUG, H><<<grid, THREADS, 0, stream>>>(
        plan->N, A.d_row_ptr, A.d_col_idx, (const H *)A.d_values16, (const H *)B, (H *)C);
    return cudaGetLastError();
}

#define HALF_MUTANT(bug, number, kind, diagnosis) \
    static spmm_contender mutant_##bug##kind = {  \
        .base = {.lab = SHOWS_ALWAYS,             \
                 .name = #bug " " #kind,          \
                 .summary = diagnosis,            \
                 .precision = PRECISION_##kind},  \
        .run16 = run16<bug, number>,              \
    };                                            \
    SPMM_REGISTER(mutant_##bug##kind)

HALF_MUTANT(HEALTHY_HALF, __half, FP16, NULL)
HALF_MUTANT(HEALTHY_HALF, __nv_bfloat16, BF16, NULL)
HALF_MUTANT(ADDED_IN_HALF, __half, FP16, "wrong values: only rows longer than 1 nonzeros")
HALF_MUTANT(ADDED_IN_HALF, __nv_bfloat16, BF16, "wrong values: only rows longer than 1 nonzeros")
HALF_MUTANT(PARTIAL_SUMS_ROUNDED, __half, FP16, "wrong values: only rows longer than 32 nonzeros")
HALF_MUTANT(PARTIAL_SUMS_ROUNDED, __nv_bfloat16, BF16,
            "wrong values: only rows longer than 32 nonzeros")
HALF_MUTANT(ROUNDED_TO_ZERO, __half, FP16, "wrong values")
HALF_MUTANT(COLUMNS_IN_8_BITS, __half, FP16, "wrong values")
HALF_MUTANT(LAST_HALF_DROPPED, __half, FP16, "never written: only columns >= 99 of 100")
HALF_MUTANT(HALF_TAKEN_FOR_BF16, __half, FP16, "wrong values: in every row that is not empty")
