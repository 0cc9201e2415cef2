/*
 * rows.cu - mutants of the warp-per-row kernel with a shared tile (lab 3): one kernel, and the ways
 * to get it wrong.
 */
#include "mutant.h"

#include "device/warp.cuh"

#include <math.h>

enum bug {
    HEALTHY,
    LAST_ROW_DROPPED,
    NO_COLUMN_GUARD,
    NO_ROW_GUARD,
    NO_BARRIER_BEFORE_READING,
    NO_BARRIER_AFTER_READING,
    NAN_WRITTEN,
    EMPTY_ROWS_SKIPPED,
    LAST_COLUMNS_SHIFTED,
    B_TRANSPOSED,
    TAIL_OF_ROW_DROPPED,
    ONE_NONZERO_TOO_MANY,
    ADDS_TO_GARBAGE,
    RUNS_ONCE,
    ZEROES_ONCE,
    VALUES_MODIFIED,
    B_MODIFIED,
    NOTHING_WRITTEN,
    ONLY_FIRST_TILE,
    INDEX_SCALED_TWICE,
};

constexpr int WARPS = 4, TILE = WARP_SIZE;

template <bug BUG>
__global__ void spmm_mutant_kernel(int rows, int cols, int N, const int *row_ptr,
                                   const int *col_idx, float *values, float *B, float *C)
{
    __shared__ int tile_col[WARPS][TILE];
    __shared__ float tile_value[WARPS][TILE];
    const int warp = warp_id(), lane = lane_id();
    const int row = blockIdx.x * WARPS + warp;
    int j = blockIdx.y * WARP_SIZE + lane;
    if (BUG == NOTHING_WRITTEN) return;
    if (BUG == NO_ROW_GUARD && row >= rows && j < N) C[(size_t)row * N + j] = 0;
    if (row >= rows - (BUG == LAST_ROW_DROPPED)) return;

    const int start = row_ptr[row];
    int end = row_ptr[row + 1];
    if (BUG == EMPTY_ROWS_SKIPPED && start == end) return;
    if (BUG == TAIL_OF_ROW_DROPPED && end - start > TILE) end -= (end - start) % TILE;
    if (BUG == ONE_NONZERO_TOO_MANY && row + 1 < rows) end++;
    if (BUG == ONLY_FIRST_TILE) end = min(end, start + TILE);
    if (BUG == LAST_COLUMNS_SHIFTED && j >= N / WARP_SIZE * WARP_SIZE && j + 1 < N) j++;

    float sum = 0;
    for (int first = start; first < end; first += TILE) {
        const int count = min(TILE, end - first);
        if (lane < count) {
            tile_col[warp][lane] = col_idx[first + lane];
            tile_value[warp][lane] = values[first + lane];
        }
        if (BUG != NO_BARRIER_BEFORE_READING) __syncwarp();
        if (j < N || BUG == NO_COLUMN_GUARD)
            for (int k = 0; k < count; k++) {
                const size_t column = tile_col[warp][k];
                size_t at = column * N + j;
                if (BUG == B_TRANSPOSED) at = (size_t)j * cols + column;
                if (BUG == INDEX_SCALED_TWICE) at = column * N % cols * N + j;
                sum += tile_value[warp][k] * (at < (size_t)cols * N ? B[at] : 0);
            }
        if (BUG != NO_BARRIER_AFTER_READING) __syncwarp();
    }
    if (BUG == NAN_WRITTEN && end - start > 500) sum = NAN;
    if (BUG == VALUES_MODIFIED && row == 1 && lane == 0) values[start] = 0.5f;
    if (BUG == B_MODIFIED && row == 1 && lane == 0) B[N] = 0.5f;
    if (j >= N && !(BUG == NO_COLUMN_GUARD && row == rows - 1)) return;
    float *const out = &C[(size_t)row * N + j];
    if (BUG == ADDS_TO_GARBAGE || BUG == ZEROES_ONCE)
        atomicAdd(out, sum);
    else
        *out = sum;
}

template <bug BUG> static bool has_run; /* since it was prepared */

template <bug BUG> static cudaError_t prepare(spmm_plan *)
{
    has_run<BUG> = false;
    return cudaSuccess;
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    if (BUG == RUNS_ONCE && has_run<BUG>) return cudaSuccess;
    if (BUG == ZEROES_ONCE && !has_run<BUG>)
        cudaMemsetAsync(C, 0, (size_t)A.rows * plan->N * sizeof *C, stream);
    has_run<BUG> = true;
    const dim3 grid((A.rows + WARPS - 1) / WARPS, (plan->N + WARP_SIZE - 1) / WARP_SIZE);
    spmm_mutant_kernel<BUG><<<grid, WARPS * WARP_SIZE, 0, stream>>>(
        A.rows, A.cols, plan->N, A.d_row_ptr, A.d_col_idx, (float *)A.d_values, (float *)B, C);
    return cudaGetLastError();
}

#define ROWS_MUTANT(bug, shows, diagnosis)                          \
    static spmm_contender mutant_##bug = {                          \
        .base = {.lab = shows, .name = #bug, .summary = diagnosis}, \
        .prepare = prepare<bug>,                                    \
        .run = run<bug>,                                            \
    };                                                              \
    SPMM_REGISTER(mutant_##bug)

ROWS_MUTANT(HEALTHY, SHOWS_ALWAYS, NULL)
ROWS_MUTANT(LAST_ROW_DROPPED, SHOWS_ALWAYS, "never written: only the last row, 130")
ROWS_MUTANT(NO_COLUMN_GUARD, SHOWS_ALWAYS, "wrote outside the output")
ROWS_MUTANT(NO_ROW_GUARD, SHOWS_ALWAYS, "wrote outside the output")
ROWS_MUTANT(NO_BARRIER_BEFORE_READING, SHOWS_ON_SIMT, "only rows longer than 1 nonzeros")
ROWS_MUTANT(NO_BARRIER_AFTER_READING, SHOWS_ON_SIMT, "only rows longer than 32 nonzeros")
ROWS_MUTANT(NAN_WRITTEN, SHOWS_ALWAYS,
            "NaN or infinity computed: only rows longer than 257 nonzeros")
ROWS_MUTANT(EMPTY_ROWS_SKIPPED, SHOWS_ALWAYS, "never written: only empty rows")
ROWS_MUTANT(LAST_COLUMNS_SHIFTED, SHOWS_ALWAYS, "never written: only column 96")
ROWS_MUTANT(B_TRANSPOSED, SHOWS_ALWAYS, "in every row that is not empty")
ROWS_MUTANT(TAIL_OF_ROW_DROPPED, SHOWS_ALWAYS, "only in rows of 33 or more nonzeros")
ROWS_MUTANT(ONE_NONZERO_TOO_MANY, SHOWS_ALWAYS, "wrong values")
ROWS_MUTANT(ADDS_TO_GARBAGE, SHOWS_ALWAYS, "does not zero the output")
ROWS_MUTANT(RUNS_ONCE, SHOWS_ALWAYS, "later runs wrote nothing")
ROWS_MUTANT(ZEROES_ONCE, SHOWS_ALWAYS, "does not zero the output")
ROWS_MUTANT(VALUES_MODIFIED, SHOWS_ALWAYS, "modified its input A.values")
ROWS_MUTANT(B_MODIFIED, SHOWS_ALWAYS, "modified its input B")
ROWS_MUTANT(NOTHING_WRITTEN, SHOWS_ALWAYS, "nothing was written")
ROWS_MUTANT(ONLY_FIRST_TILE, SHOWS_ALWAYS, "only rows longer than 32 nonzeros")
ROWS_MUTANT(INDEX_SCALED_TWICE, SHOWS_ALWAYS, "NaN or infinity computed: in every row")
