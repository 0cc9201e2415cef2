/*
 * kept.cu - mutants that are right as long as nothing changes. Some keep values, a right-hand side or a result
 * from an earlier run. One errs from the third run on. One loses nonzeros whose values were too small to matter.
 */
#include "device/cuda_try.h"
#include "mutant.h"

#include <stdlib.h>

enum bug {
    KEPT_HEALTHY,
    VALUES_OF_PREPARE,
    B_OF_THE_FIRST_RUN,
    FIRST_RESULT_AGAIN,
    WRONG_FROM_THE_THIRD_RUN,
    TINY_VALUES_LOST
};

constexpr int BLOCK = 128;

/* plan->state: copies, and how many runs there were. */
struct kept {
    float *values, *B, *C;
    int runs;
};

static __global__ void kept_kernel(spmm_matrix A, const float *values, const float *B, float *C,
                                   int N, int lost)
{
    const int row = blockIdx.x, j = blockIdx.y * BLOCK + threadIdx.x;
    if (j >= N) return;
    float sum = 0;
    for (int k = A.d_row_ptr[row]; k < A.d_row_ptr[row + 1]; k++)
        if (lost < 0 || k % 3 != lost) sum += values[k] * B[(size_t)A.d_col_idx[k] * N + j];
    C[(size_t)row * N + j] = sum;
}

static cudaError_t copy(float *to, const float *from, size_t count, cudaStream_t stream)
{
    return cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyDeviceToDevice, stream);
}

static void release(spmm_plan *plan)
{
    kept *own = (kept *)plan->state;
    cudaFree(own->values);
    cudaFree(own->B);
    cudaFree(own->C);
    free(own);
}

static cudaError_t prepare(spmm_plan *plan)
{
    kept *own = (kept *)calloc(1, sizeof *own);
    if (!own) return cudaErrorMemoryAllocation;
    plan->state = own;
    CUDA_TRY(cudaMalloc(&own->values, (plan->A.nnz + 1) * sizeof *own->values));
    CUDA_TRY(cudaMalloc(&own->B, ((size_t)plan->A.cols * plan->N + 1) * sizeof *own->B));
    CUDA_TRY(cudaMalloc(&own->C, ((size_t)plan->A.rows * plan->N + 1) * sizeof *own->C));
    return copy(own->values, plan->A.d_values, plan->A.nnz, 0);
}

/* A healthy plan copies the values again; the others have nothing new to learn, as they say. */
template <bug BUG> static cudaError_t update_values(spmm_plan *plan)
{
    kept *own = (kept *)plan->state;
    return BUG == VALUES_OF_PREPARE ? cudaSuccess
                                    : copy(own->values, plan->A.d_values, plan->A.nnz, 0);
}

template <bug BUG>
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    kept *own = (kept *)plan->state;
    const dim3 grid(plan->A.rows, (plan->N + BLOCK - 1) / BLOCK);
    const size_t results = (size_t)plan->A.rows * plan->N;
    const bool first = own->runs++ == 0;
    if (BUG == FIRST_RESULT_AGAIN && !first) return copy(C, own->C, results, stream);
    if (BUG == B_OF_THE_FIRST_RUN && first)
        CUDA_TRY(copy(own->B, B, (size_t)plan->A.cols * plan->N, stream));
    const float *const used = BUG == B_OF_THE_FIRST_RUN ? own->B : B;
    const int lost = BUG == TINY_VALUES_LOST                             ? 1
                     : BUG == WRONG_FROM_THE_THIRD_RUN && own->runs >= 3 ? 0
                                                                         : -1;
    kept_kernel<<<grid, BLOCK, 0, stream>>>(plan->A, own->values, used, C, plan->N, lost);
    CUDA_TRY(cudaGetLastError());
    return BUG == FIRST_RESULT_AGAIN ? copy(own->C, C, results, stream) : cudaSuccess;
}

#define KEPT_MUTANT(bug, shows, diagnosis)                          \
    static spmm_contender mutant_##bug = {                          \
        .base = {.lab = shows, .name = #bug, .summary = diagnosis}, \
        .prepare = prepare,                                         \
        .run = run<bug>,                                            \
        .update_values = update_values<bug>,                        \
        .release = release,                                         \
    };                                                              \
    SPMM_REGISTER(mutant_##bug)

KEPT_MUTANT(KEPT_HEALTHY, SHOWS_ALWAYS, NULL)
KEPT_MUTANT(VALUES_OF_PREPARE, SHOWS_ALWAYS, "with other inputs only")
KEPT_MUTANT(B_OF_THE_FIRST_RUN, SHOWS_ALWAYS, "with other inputs only")
KEPT_MUTANT(FIRST_RESULT_AGAIN, SHOWS_ALWAYS, "with other inputs only")
KEPT_MUTANT(WRONG_FROM_THE_THIRD_RUN, SHOWS_ALWAYS, "only") /* timed runs are third ones, too */
KEPT_MUTANT(TINY_VALUES_LOST, SHOWS_ON_VALUES, "with other inputs only")
