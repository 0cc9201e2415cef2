/*
 * row_windows.cu - mutants of the format of lab 22. It has keys of a column and a row, sums of runs that are added up,
 * and what is left of a window. The mutants take another row or column, or lose a sum.
 */
#include "mutant.h"

#include "device/warp.cuh"

enum bug {
    HEALTHY_KEYS,   /* sorted by row first: slower in the lab, and right */
    ROW_NOT_MASKED, /* a nonzero of column 1 and row 0 counts as one of row 16 */
    STORED_ON_A_SHARED_WINDOW,
    PADDED_WITH_KEY_0, /* row 0 of B times 0, which is NaN where nobody named that row */
    RESIDUAL_FIRST,    /* the runs are stored over it */
    WINDOW_NOT_CUT,    /* the last one has rows that A has not */
    TILED_LOADS,       /* column g of product j is 4 g + j of B, and 8 j + g of C */
};

constexpr int ROWS = 16, RUN_LENGTH = 8;

/* A thread for each column of C and window; keys are made as they are used, a row after the other, in runs of eight. */
template <bug BUG>
__global__ void spmm_keys_mutant_kernel(int rows, int N, const int *row_ptr, const int *col_idx,
                                        const float *values, const float *B, float *C)
{
    const int first = blockIdx.x * ROWS, j = blockIdx.y * WARP_SIZE + (int)threadIdx.x;
    const int end = min(first + ROWS, rows), lane = threadIdx.x;
    const bool is_tiled = BUG == TILED_LOADS && j - lane + WARP_SIZE <= N;
    const int from = is_tiled ? j - lane + lane % 8 * 4 + lane / 8 : j;
    if (j >= N) return;
    float total[ROWS] = {}, part[ROWS] = {};
    int in_run = 0, runs = 0;
    for (int k = row_ptr[first], row = first; k < row_ptr[end]; k++) {
        while (k >= row_ptr[row + 1])
            row++;
        const unsigned key = (unsigned)col_idx[k] * ROWS + (row - first);
        const unsigned place = BUG == ROW_NOT_MASKED ? min(key, ROWS - 1u) : key % ROWS;
        part[place] += values[k] * B[(size_t)(key / ROWS) * N + from];
        if (++in_run < RUN_LENGTH && k + 1 < row_ptr[end]) continue;
        const bool is_residual = in_run < RUN_LENGTH;
        if (BUG == PADDED_WITH_KEY_0 && is_residual) part[0] += 0 * B[j];
        in_run = 0;
        if (BUG == RESIDUAL_FIRST && is_residual && runs > 0) continue;
        for (int i = 0; i < ROWS; i++) {
            total[i] = part[i] + (BUG == STORED_ON_A_SHARED_WINDOW && runs % 4 == 3 ? 0 : total[i]);
            part[i] = 0;
        }
        runs++;
    }
    for (int row = first; row < (BUG == WINDOW_NOT_CUT ? first + ROWS : end); row++)
        C[(size_t)row * N + j] = total[row - first];
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const dim3 grid((A.rows + ROWS - 1) / ROWS, (plan->N + WARP_SIZE - 1) / WARP_SIZE);
    spmm_keys_mutant_kernel<BUG><<<grid, WARP_SIZE, 0, stream>>>(A.rows, plan->N, A.d_row_ptr,
                                                                 A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

MUTANT(HEALTHY_KEYS, NULL)
MUTANT(ROW_NOT_MASKED, "wrong values")
MUTANT(STORED_ON_A_SHARED_WINDOW, "wrong values")
MUTANT(PADDED_WITH_KEY_0, "NaN or infinity computed")
MUTANT(RESIDUAL_FIRST, "wrong values")
MUTANT(WINDOW_NOT_CUT, "wrote outside the output")
MUTANT(TILED_LOADS, "wrong values: in every row that is not empty")
