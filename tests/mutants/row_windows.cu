/*
 * row_windows.cu - mutants of the format of lab 22: keys of a column and a row, sums of runs that are added up, and the
 * ways to take another row or to lose a sum.
 */
#include "mutant.h"

#include "device/warp.cuh"

enum bug {
    HEALTHY_KEYS,
    ROW_NOT_MASKED, /* a nonzero of column 1 and row 0 counts as one of row 16 */
    STORED_ON_A_SHARED_WINDOW,
};

constexpr int ROWS = 16, RUN_LENGTH = 8;

/* A thread for each column of C and window; keys are made as they are used, a row after the other, in runs of eight. */
template <bug BUG>
__global__ void spmm_keys_mutant_kernel(int rows, int N, const int *row_ptr, const int *col_idx,
                                        const float *values, const float *B, float *C)
{
    const int first = blockIdx.x * ROWS, j = blockIdx.y * WARP_SIZE + (int)threadIdx.x;
    const int end = min(first + ROWS, rows);
    if (j >= N) return;
    float total[ROWS] = {}, part[ROWS] = {};
    int in_run = 0, runs = 0;
    for (int k = row_ptr[first], row = first; k < row_ptr[end]; k++) {
        while (k >= row_ptr[row + 1])
            row++;
        const unsigned key = (unsigned)col_idx[k] * ROWS + (row - first);
        const unsigned place = BUG == ROW_NOT_MASKED ? min(key, ROWS - 1u) : key % ROWS;
        part[place] += values[k] * B[(size_t)(key / ROWS) * N + j];
        if (++in_run < RUN_LENGTH && k + 1 < row_ptr[end]) continue;
        in_run = 0;
        for (int i = 0; i < ROWS; i++) {
            total[i] = part[i] + (BUG == STORED_ON_A_SHARED_WINDOW && runs % 4 == 3 ? 0 : total[i]);
            part[i] = 0;
        }
        runs++;
    }
    for (int row = first; row < end; row++)
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
