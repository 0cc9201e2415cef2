/*
 * two_four.cu - mutants of lab 24's tricks. They mistake whose metadata a fragment takes, or which rows they are of.
 * Others mistake what becomes of the elements left over, or which rows of B may be looked at.
 */
#include "mutant.h"

#include "device/half.cuh"
#include "device/mma_sparse.cuh"
#include "device/warp.cuh"
#include "formats/two_four.h"

#include <stdlib.h>

enum bug {
    HEALTHY_TWO_FOUR,
    SELECTOR_ALWAYS_0,
    ROWS_OF_METADATA_SWAPPED,
    COLUMNS_OF_METADATA_SWAPPED,
    WORDS_BY_ROWS,
    REST_DROPPED,
    REST_LACKS_ITS_LAST,
    REST_IN_HALF,
    TOUCHES_UNUSED_ROWS,
};

struct two_four_state {
    two_four A;
    uint64_t *d_used;
};

/* Fragment F of a strip's group of columns. */
template <bug BUG, int F>
static __device__ void multiply(const two_four_state &s, int strip, int group, int N, int column,
                                const __half *B, float (&sum)[4])
{
    const two_four &A = s.A;
    const int lane = lane_id(), t = lane % 4, g = lane / 4;
    const size_t at = ((size_t)(strip / STRIPS) * A.across + group) * STRIPS + strip % STRIPS;
    const uint32_t *const stored = (const uint32_t *)A.values + ((at * 2 + F) * 32 + lane) * 4;
    uint32_t a[4] = {stored[0], stored[1], stored[2], stored[3]}, b[4] = {};
    if (BUG == WORDS_BY_ROWS) a[1] = stored[2], a[2] = stored[1];
    const int from = BUG == COLUMNS_OF_METADATA_SWAPPED ? lane ^ 1 : lane;
    uint32_t metadata = A.metadata[at * STRIP_METADATA + from];
    if (BUG == ROWS_OF_METADATA_SWAPPED) metadata = metadata >> 16 | metadata << 16;
    for (int i = 0; i < 8; i++) {
        const int k = group * GROUP_SIDE + 32 * F + i / 2 * 8 + 2 * t + i % 2;
        const bool used = s.d_used[group] >> k % 64 & 1;
        if (k >= A.cols || column + g >= N || (!used && BUG != TOUCHES_UNUSED_ROWS)) continue;
        uint16_t bits;
        memcpy(&bits, &B[(size_t)k * N + column + g], sizeof bits);
        b[i / 2] |= (uint32_t)bits << 16 * (i % 2);
    }
    mma_sp_m16n8k32<__half, BUG == SELECTOR_ALWAYS_0 ? 0 : F>(sum, a, b, metadata);
}

/* Returns what the rest of a row adds to an element of C. */
template <bug BUG>
static __device__ float rest_of(const two_four &A, int row, int column, int N, const __half *B)
{
    const int end = A.rest_ptr[row + 1] - (BUG == REST_LACKS_ITS_LAST);
    float sum = 0;
    for (int k = A.rest_ptr[row]; k < end; k++)
        sum += widen(half_of_bits<__half>(A.rest_value[k])) *
               widen(B[(size_t)A.rest_col[k] * N + column]);
    if (BUG == REST_IN_HALF) sum = widen(narrow<__half>(sum));
    return BUG == REST_DROPPED ? 0 : sum;
}

/* A warp a strip of 16 rows and 8 columns. */
template <bug BUG>
static __global__ void spmm_two_four_mutant_kernel(const __grid_constant__ two_four_state s, int N,
                                                   const __half *B, __half *C)
{
    const int strip = blockIdx.x, column = blockIdx.y * 8, lane = threadIdx.x;
    float sum[4] = {};
    for (int group = 0; group < s.A.across; group++) {
        multiply<BUG, 0>(s, strip, group, N, column, B, sum);
        multiply<BUG, 1>(s, strip, group, N, column, B, sum);
    }
    for (int e = 0; e < 4; e++) {
        const int row = strip * MMA_SIDE + lane / 4 + e / 2 * 8, at = column + lane % 4 * 2 + e % 2;
        if (row < s.A.rows && at < N)
            C[(size_t)row * N + at] = narrow<__half>(sum[e] + rest_of<BUG>(s.A, row, at, N, B));
    }
}

static cudaError_t prepare(spmm_plan *plan)
{
    two_four_state *s = (two_four_state *)calloc(1, sizeof *s);
    tca_bme bitmaps;
    plan->state = s;
    if (!s) return cudaErrorMemoryAllocation;
    cudaError_t error = tca_bme_create(&plan->A, &bitmaps);
    if (error != cudaSuccess) return error;
    error = cudaMalloc(&s->d_used, bitmaps.across * sizeof *s->d_used);
    if (error == cudaSuccess) error = tca_bme_used_columns(&bitmaps, s->d_used);
    if (error == cudaSuccess) error = two_four_build(ON_DEVICE, &bitmaps, &s->A);
    tca_bme_destroy(&bitmaps);
    return error;
}

static void release(spmm_plan *plan)
{
    two_four_state *s = (two_four_state *)plan->state;
    two_four_free(&s->A);
    cudaFree(s->d_used);
    free(s);
}

template <bug BUG>
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const dim3 grid((plan->A.rows - 1) / MMA_SIDE + 1, (plan->N - 1) / 8 + 1);
    spmm_two_four_mutant_kernel<BUG><<<grid, WARP_SIZE, 0, stream>>>(
        *(const two_four_state *)plan->state, plan->N, (const __half *)B, (__half *)C);
    return cudaGetLastError();
}

#define TWO_FOUR_MUTANT(bug, shows, diagnosis)  \
    static spmm_contender mutant_##bug = {      \
        .base = {.lab = shows,                  \
                 .name = #bug,                  \
                 .summary = diagnosis,          \
                 .precision = PRECISION_FP16,   \
                 .min_compute_capability = 80}, \
        .prepare = prepare,                     \
        .run16 = run16<bug>,                    \
        .release = release,                     \
    };                                          \
    SPMM_REGISTER(mutant_##bug)

TWO_FOUR_MUTANT(HEALTHY_TWO_FOUR, SHOWS_ALWAYS, NULL)
TWO_FOUR_MUTANT(SELECTOR_ALWAYS_0, SHOWS_ALWAYS, "wrong values")
TWO_FOUR_MUTANT(ROWS_OF_METADATA_SWAPPED, SHOWS_ALWAYS, "wrong values")
TWO_FOUR_MUTANT(COLUMNS_OF_METADATA_SWAPPED, SHOWS_ALWAYS, "wrong values")
TWO_FOUR_MUTANT(WORDS_BY_ROWS, SHOWS_ALWAYS, "wrong values")
TWO_FOUR_MUTANT(REST_DROPPED, SHOWS_ON_NEIGHBOURS, "wrong values")
TWO_FOUR_MUTANT(REST_LACKS_ITS_LAST, SHOWS_ON_NEIGHBOURS, "wrong values")
TWO_FOUR_MUTANT(REST_IN_HALF, SHOWS_ON_NEIGHBOURS, "wrong values")
TWO_FOUR_MUTANT(TOUCHES_UNUSED_ROWS, SHOWS_ALWAYS, "NaN or infinity computed")
