/*
 * segments.cu - mutants of split rows (lab 5): first segments stored, later ones added, and the ways
 * to get their ends wrong.
 */
#include "mutant.h"

enum bug {
    HEALTHY_SEGMENTS,
    SEGMENT_ENDS_EARLY,
    BOUNDARY_COUNTED_TWICE,
    ATOMICS_LOST,
    SEGMENT_OF_NEXT_ROW,
    LAST_SEGMENT_LOST,
    FIRST_SEGMENT_ADDS_TOO,
};

constexpr int SPLIT = 64, THREADS = 32;

/* One block per row and segment number, one thread per column: slow, and easy to reason about. */
template <bug BUG>
__global__ void spmm_segment_mutant_kernel(int rows, int N, int segment, const int *row_ptr,
                                           const int *col_idx, const float *values, const float *B,
                                           float *C)
{
    const int row = blockIdx.x, j = blockIdx.y * THREADS + threadIdx.x;
    const int start = row_ptr[row] + segment * SPLIT;
    int end = min(start + SPLIT, row_ptr[row + 1]);
    if (j >= N || (segment > 0 && start >= row_ptr[row + 1])) return;
    const bool has_more = row_ptr[row + 1] > start + SPLIT;
    if (BUG == SEGMENT_ENDS_EARLY && has_more) end--;
    if (BUG == BOUNDARY_COUNTED_TWICE && has_more) end++;
    if (BUG == LAST_SEGMENT_LOST && segment > 0 && !has_more) return;
    float sum = 0;
    for (int k = start; k < end; k++)
        sum += values[k] * B[(size_t)col_idx[k] * N + j];
    const int to = BUG == SEGMENT_OF_NEXT_ROW && segment > 0 ? (row + 1) % rows : row;
    float *const out = &C[(size_t)to * N + j];
    if ((segment == 0 && BUG != FIRST_SEGMENT_ADDS_TOO) || BUG == ATOMICS_LOST)
        *out = sum;
    else
        atomicAdd(out, sum);
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const int segments = (int)((plan->A.stats->max + SPLIT - 1) / SPLIT);
    const dim3 grid(A.rows, (plan->N + THREADS - 1) / THREADS);
    for (int s = 0; s < segments; s++)
        spmm_segment_mutant_kernel<BUG><<<grid, THREADS, 0, stream>>>(
            A.rows, plan->N, s, A.d_row_ptr, A.d_col_idx, A.d_values, B, C);
    return cudaGetLastError();
}

MUTANT(HEALTHY_SEGMENTS, NULL)
MUTANT(SEGMENT_ENDS_EARLY, "only rows longer than 64 nonzeros")
MUTANT(BOUNDARY_COUNTED_TWICE, "only rows longer than 64 nonzeros")
MUTANT(ATOMICS_LOST, "only rows longer than 64 nonzeros")
MUTANT(SEGMENT_OF_NEXT_ROW, "wrong values")
MUTANT(LAST_SEGMENT_LOST, "only rows longer than 64 nonzeros")
MUTANT(FIRST_SEGMENT_ADDS_TOO, "does not zero the output")
