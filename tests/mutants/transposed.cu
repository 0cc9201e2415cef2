/*
 * transposed.cu - mutants of transposed SpMM (lab 40): values that are old or at another's place, columns taken for rows.
 * A block a column of A.
 */
#include "device/cuda_try.h"
#include "device/half.cuh"
#include "formats/transposed_pattern.h"
#include "mutant.h"
#include "ops/transposed_spmm.h"

#include <stdlib.h>

enum bug {
    TRANSPOSED_HEALTHY,
    VALUES_BEFORE_THE_UPDATE,
    PERMUTATION_LEFT_OUT,
    SCATTERED_BY_GATHERS_PLACES,
    DUPLICATES_SHARE_A_VALUE,
    EMPTY_COLUMN_LEFT_OUT,
    ROWS_TAKEN_FOR_COLUMNS,
    SUMS_ADDED_TO_C,
    LAST_OF_COLUMN_LOST,
    VALUES_IN_HALF,
    SLOTS_OF_NEIGHBOURS_SWAPPED,
};

constexpr int BLOCK = 128;

/* plan->state: the pattern, its values, and for one mutant places of its own. */
struct kept {
    transposed_pattern *pattern;
    float *d_values;
};

template <bug BUG>
static __global__ void move_kernel(device_csr A, device_csr T, const int *place, float *to)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= T.nnz) return;
    int from = place[i];
    const bool follows = BUG == DUPLICATES_SHARE_A_VALUE && i > 0 &&
                         T.d_col_idx[i] == T.d_col_idx[i - 1] &&
                         A.d_col_idx[from] == A.d_col_idx[place[i - 1]];
    if (follows) from = place[i - 1]; /* of the same row and column */
    const bool scattered = BUG == SCATTERED_BY_GATHERS_PLACES;
    if (BUG == PERMUTATION_LEFT_OUT || scattered) from = i;
    int slot = scattered ? place[i] : i;
    if (BUG == SLOTS_OF_NEIGHBOURS_SWAPPED && (i | 1) < T.nnz) slot = i ^ 1;
    to[slot] = A.d_values[from];
}

template <bug BUG>
static __global__ void product_kernel(device_csr T, const float *values, const float *B, float *C,
                                      int N)
{
    const int row = blockIdx.x, j = blockIdx.y * BLOCK + threadIdx.x;
    const int begin = T.d_row_ptr[row], end = T.d_row_ptr[row + 1] - (BUG == LAST_OF_COLUMN_LOST);
    if (j >= N || (BUG == EMPTY_COLUMN_LEFT_OUT && begin == end)) return;
    float sum = BUG == SUMS_ADDED_TO_C ? C[(size_t)row * N + j] : 0;
    for (int i = begin; i < end; i++) {
        const float value = BUG == VALUES_IN_HALF ? widen(narrow<__half>(values[i])) : values[i];
        sum += value * B[(size_t)T.d_col_idx[i] * N + j];
    }
    C[(size_t)row * N + j] = sum;
}

template <bug BUG> static cudaError_t move(const transposed_spmm_plan *plan, cudaStream_t stream)
{
    const kept *own = (const kept *)plan->state;
    const transposed_pattern *t = own->pattern;
    move_kernel<BUG><<<(plan->A.nnz + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(
        plan->A, t->T, t->d_place, own->d_values);
    return cudaGetLastError();
}

template <bug BUG> static cudaError_t prepare(transposed_spmm_plan *plan)
{
    kept *own = (kept *)calloc(1, sizeof *own);
    if (!own) return cudaErrorMemoryAllocation;
    plan->state = own;
    CUDA_TRY(transposed_pattern_build(&plan->A, &own->pattern));
    CUDA_TRY(cudaMalloc(&own->d_values, plan->A.nnz * sizeof(float)));
    return BUG == VALUES_BEFORE_THE_UPDATE ? move<BUG>(plan, 0) : cudaSuccess;
}

static void release(transposed_spmm_plan *plan)
{
    kept *own = (kept *)plan->state;
    transposed_pattern_free(own->pattern);
    cudaFree(own->d_values);
    free(own);
}

template <bug BUG>
static cudaError_t run(const transposed_spmm_plan *plan, const void *B, void *C,
                       cudaStream_t stream)
{
    const kept *own = (const kept *)plan->state;
    const device_csr &A = plan->A;
    const dim3 grid(BUG == ROWS_TAKEN_FOR_COLUMNS ? min(A.rows, A.cols) : A.cols,
                    (plan->N + BLOCK - 1) / BLOCK);
    if (BUG != VALUES_BEFORE_THE_UPDATE) CUDA_TRY(move<BUG>(plan, stream));
    product_kernel<BUG><<<grid, BLOCK, 0, stream>>>(own->pattern->T, own->d_values,
                                                    (const float *)B, (float *)C, plan->N);
    return cudaGetLastError();
}

#define TRANSPOSED_MUTANT(bug, diagnosis)                                  \
    static transposed_spmm_contender mutant_##bug = {                      \
        .base = {.lab = SHOWS_ALWAYS, .name = #bug, .summary = diagnosis}, \
        .prepare = prepare<bug>,                                           \
        .run = run<bug>,                                                   \
        .release = release,                                                \
    };                                                                     \
    TRANSPOSED_SPMM_REGISTER(mutant_##bug)

TRANSPOSED_MUTANT(TRANSPOSED_HEALTHY, NULL)
TRANSPOSED_MUTANT(VALUES_BEFORE_THE_UPDATE, "with other inputs only")
TRANSPOSED_MUTANT(PERMUTATION_LEFT_OUT, "values were taken in A's order, without the permutation")
TRANSPOSED_MUTANT(SCATTERED_BY_GATHERS_PLACES, "wrong values")
TRANSPOSED_MUTANT(DUPLICATES_SHARE_A_VALUE, "wrong values")
TRANSPOSED_MUTANT(EMPTY_COLUMN_LEFT_OUT, "empty rows")
TRANSPOSED_MUTANT(ROWS_TAKEN_FOR_COLUMNS, "never written")
TRANSPOSED_MUTANT(SUMS_ADDED_TO_C, "does not zero the output")
TRANSPOSED_MUTANT(LAST_OF_COLUMN_LOST, "wrong values")
TRANSPOSED_MUTANT(VALUES_IN_HALF, "wrong values")
TRANSPOSED_MUTANT(SLOTS_OF_NEIGHBOURS_SWAPPED, "wrong values")
