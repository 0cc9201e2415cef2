/*
 * bitmap.cu - mutants of lab 9's tricks. They mistake where a value is found, or what fills up a group.
 * Others mistake how the splits of a sum come together, or which rows of B may be looked at. N = 100. The
 * matrix of all mutants has elements in odd columns only, where the first of two neighbours never counts.
 */
#include "mutant.h"

#include "device/half.cuh"
#include "formats/tca_bme.h"

#include <stdlib.h>

enum bug {
    HEALTHY_BITMAP,
    COUNTS_ITSELF,
    PHASE_TWO_FORGETS,
    FILLING_SKIPPED,
    HALF_OF_BITMAP_LOST,
    SPLIT_LOST,
    SPLITS_IN_HALF,
    REPEATS_DROPPED,
    UNUSED_ROWS_READ,
};

constexpr int THREADS = 128, SPLITS = 2;

struct bitmap_state {
    tca_bme A;
    uint64_t *d_used;
};

/* A thread's two neighbours (row, column) and (row, column + 1) of A, as lab 9's decode finds them. */
template <bug BUG>
static __device__ void decode(const tca_bme &A, int row, int column, float (&pair)[2])
{
    const size_t group = (size_t)(row / 64) * A.across + column / 64;
    const uint32_t *const halves = reinterpret_cast<const uint32_t *>(A.bitmap);
    const int r = row % 64, c = column % 64;
    const int tile = r / 16 * 16 + c / 16 * 4 + c % 16 / 8 * 2 + r % 16 / 8;
    const size_t first = group * 128, own = first + 2 * tile + r % 8 / 4;
    const int bit = r % 4 * 8 + c % 8;
    size_t at = A.offset[group];
    if (BUG == FILLING_SKIPPED) {
        at = 0;
        for (size_t h = 0; h < first; h++)
            at += __popc(halves[h]);
    }
    for (size_t h = first; h < own; h++)
        if (BUG != HALF_OF_BITMAP_LOST || h + 1 != own) at += __popc(halves[h]);
    at += __popc(halves[own] & (((BUG == COUNTS_ITSELF ? 2u : 1u) << bit) - 1));
    const uint32_t bits = halves[own] >> bit, left = bits & 1;
    const size_t last = A.num_values - 1; /* a bug shall be wrong, and read nothing else's memory */
    const size_t right = BUG == PHASE_TWO_FORGETS ? at : at + left;
    pair[0] = left ? widen(half_of_bits<__half>(A.values[at < last ? at : last])) : 0;
    pair[1] = bits & 2 ? widen(half_of_bits<__half>(A.values[right < last ? right : last])) : 0;
}

/* A block a row; every element is multiplied, zeros too. */
template <bug BUG>
static __global__ void spmm_bitmap_mutant_kernel(const __grid_constant__ bitmap_state s, int N,
                                                 const __half *B, __half *C)
{
    __shared__ float a[GROUP_SIDE];
    const tca_bme &A = s.A;
    const int row = blockIdx.x, j = threadIdx.x;
    float sum = 0;
    for (int split = 0; split < SPLITS; split++) {
        float split_sum = 0;
        for (int k = A.across * split / SPLITS; k < A.across * (split + 1) / SPLITS; k++) {
            float pair[2];
            if (2 * j < GROUP_SIDE) {
                decode<BUG>(A, row, k * GROUP_SIDE + 2 * j, pair);
                a[2 * j] = pair[0];
                a[2 * j + 1] = pair[1];
            }
            __syncthreads();
            for (int c = 0; c < GROUP_SIDE && j < N; c++) {
                const int column = k * GROUP_SIDE + c;
                const bool used = s.d_used[k] >> c & 1;
                if (column < A.cols && (used || BUG == UNUSED_ROWS_READ))
                    split_sum += a[c] * widen(B[(size_t)column * N + j]);
            }
            __syncthreads();
        }
        if (BUG == SPLITS_IN_HALF) split_sum = widen(narrow<__half>(split_sum));
        if (BUG != SPLIT_LOST || split + 1 < SPLITS) sum += split_sum;
    }
    if (j >= N) return;
    for (int k = A.num_repeats ? A.repeat_ptr[row] : 0;
         BUG != REPEATS_DROPPED && A.num_repeats && k < A.repeat_ptr[row + 1]; k++)
        sum += widen(half_of_bits<__half>(A.repeat_value[k])) *
               widen(B[(size_t)A.repeat_col[k] * N + j]);
    C[(size_t)row * N + j] = narrow<__half>(sum);
}

static cudaError_t prepare(spmm_plan *plan)
{
    bitmap_state *s = (bitmap_state *)calloc(1, sizeof *s);
    plan->state = s;
    if (!s) return cudaErrorMemoryAllocation;
    cudaError_t error = tca_bme_create(&plan->A, &s->A);
    if (error == cudaSuccess) error = cudaMalloc(&s->d_used, s->A.across * sizeof *s->d_used);
    return error == cudaSuccess ? tca_bme_used_columns(&s->A, s->d_used) : error;
}

static void release(spmm_plan *plan)
{
    bitmap_state *s = (bitmap_state *)plan->state;
    tca_bme_destroy(&s->A);
    cudaFree(s->d_used);
    free(s);
}

template <bug BUG>
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    spmm_bitmap_mutant_kernel<BUG><<<plan->A.rows, THREADS, 0, stream>>>(
        *(const bitmap_state *)plan->state, plan->N, (const __half *)B, (__half *)C);
    return cudaGetLastError();
}

#define BITMAP_MUTANT(bug, shows, diagnosis)                                                     \
    static spmm_contender mutant_##bug = {                                                       \
        .base = {.lab = shows, .name = #bug, .summary = diagnosis, .precision = PRECISION_FP16}, \
        .prepare = prepare,                                                                      \
        .run16 = run16<bug>,                                                                     \
        .release = release,                                                                      \
    };                                                                                           \
    SPMM_REGISTER(mutant_##bug)

BITMAP_MUTANT(HEALTHY_BITMAP, SHOWS_ALWAYS, NULL)
BITMAP_MUTANT(COUNTS_ITSELF, SHOWS_ON_NEIGHBOURS, "wrong values")
BITMAP_MUTANT(PHASE_TWO_FORGETS, SHOWS_ON_NEIGHBOURS,
              "wrong values: only rows longer than 1 nonzeros")
BITMAP_MUTANT(FILLING_SKIPPED, SHOWS_ALWAYS, "wrong values")
BITMAP_MUTANT(HALF_OF_BITMAP_LOST, SHOWS_ALWAYS, "wrong values")
BITMAP_MUTANT(SPLIT_LOST, SHOWS_ALWAYS, "wrong values")
BITMAP_MUTANT(SPLITS_IN_HALF, SHOWS_ALWAYS, "wrong values")
BITMAP_MUTANT(REPEATS_DROPPED, SHOWS_ALWAYS, "wrong values")
BITMAP_MUTANT(UNUSED_ROWS_READ, SHOWS_ALWAYS, "NaN or infinity computed")
