/*
 * roma.cu - mutants of lab 6: rows entered before they start and left after they end, and the ways
 * to let what is not theirs into the sum.
 */
#include "mutant.h"

#include "device/vec.cuh"
#include "device/warp.cuh"

enum bug {
    HEALTHY_ROMA,
    PREFIX_NOT_MASKED,
    RESIDUE_PAST_THE_ROW,
    MASKED_READ_ROW_0,
    START_LOST_TO_ALIGNMENT,
    LAST_VECTOR_DROPPED,
};

constexpr int VECTOR = 4, THREADS = 32;

/* One block a row, one thread a column; nonzeros come four at a time from an aligned place. */
template <bug BUG>
__global__ void spmm_roma_mutant_kernel(int nnz, int N, const int *row_ptr, const int *col_idx,
                                        const float *values, const float *B, float *C)
{
    const int row = blockIdx.x, j = blockIdx.y * THREADS + threadIdx.x;
    const int start = row_ptr[row], end = row_ptr[row + 1];
    int first = start, last = end;
    if (j >= N) return;
    if (BUG == PREFIX_NOT_MASKED) first = start & -VECTOR;
    if (BUG == RESIDUE_PAST_THE_ROW) last = min((end + VECTOR - 1) & -VECTOR, nnz);
    if (BUG == START_LOST_TO_ALIGNMENT) first = (start + VECTOR - 1) & -VECTOR;
    if (BUG == LAST_VECTOR_DROPPED && end - start > VECTOR) last = end & -VECTOR;
    float sum = 0;
    for (int at = start & -VECTOR; start < end && at < end; at += VECTOR) {
        int col[VECTOR] = {};
        float value[VECTOR] = {};
        if (at + VECTOR <= nnz) {
            load_vector(col, &col_idx[at]);
            load_vector(value, &values[at]);
        } else {
            for (int u = 0; at + u < nnz; u++) {
                col[u] = col_idx[at + u];
                value[u] = values[at + u];
            }
        }
        for (int u = 0; u < VECTOR; u++) {
            const bool live = first <= at + u && at + u < last;
            const int masked = BUG == MASKED_READ_ROW_0 ? 0 : col_idx[start];
            sum += (live ? value[u] : 0) * B[(size_t)(live ? col[u] : masked) * N + j];
        }
    }
    C[(size_t)row * N + j] = sum;
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const dim3 grid(A.rows, (plan->N + THREADS - 1) / THREADS);
    spmm_roma_mutant_kernel<BUG>
        <<<grid, THREADS, 0, stream>>>(A.nnz, plan->N, A.d_row_ptr, A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

MUTANT(HEALTHY_ROMA, NULL)
MUTANT(PREFIX_NOT_MASKED, "wrong values")
MUTANT(RESIDUE_PAST_THE_ROW, "wrong values")
MUTANT(MASKED_READ_ROW_0, "NaN or infinity computed")
MUTANT(START_LOST_TO_ALIGNMENT, "wrong values")
MUTANT(LAST_VECTOR_DROPPED, "wrong values")
