/*
 * faulty.cu - the labs of a program for the command-line tests. Lab 1 is right, and so is lab 2 without $FAULT, which says:
 *
 *   wrong, error, oom, skip
 *   outside, far-outside, race   right results by luck, but for the second, which ends the launch
 *   shapes                       right, with two launches of unlike grids and blocks
 *   unseen-C, -filled, -B, -values, -columns   right, but these accesses are kept from the instruments
 *   waits                        from N = 2 on, for somebody who writes to the pipe `gate`
 *   twin                         lab 1 by its own account
 */
#include "device/cuda_try.h"
#include "ops/spmm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

constexpr int THREADS = 64;

__global__ void spmm_plain_kernel(int rows, int N, const int *row_ptr, const int *col_idx,
                                  const float *values, const float *B, float *C)
{
    const int at = blockIdx.x * THREADS + threadIdx.x, row = at / N, j = at % N;
    if (row >= rows) return;
    float sum = 0;
    for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++)
        sum += values[k] * B[(size_t)col_idx[k] * N + j];
    C[at] = sum;
}

/* Reads behind B, where no 1 lies. */
__global__ void spmm_outside_kernel(const float *B, size_t behind, float *C)
{
    if (B[behind + threadIdx.x] == 1) C[0] = 1;
}

__global__ void spmm_race_kernel(float *C)
{
    __shared__ int seen[THREADS];
    seen[threadIdx.x] = 1;
    if (seen[THREADS - 1 - threadIdx.x] == 2) C[0] = 1;
}

/* Changes nothing: row_ptr begins with 0. */
__global__ void spmm_shapes_kernel(const int *row_ptr, float *C)
{
    if (row_ptr[0] == 1) C[threadIdx.x] = 1;
}

#ifdef SIMT_TRACED
#define UNSEEN __attribute__((no_sanitize("thread"), noipa))
#else
#define UNSEEN
#endif
template <class T> UNSEEN __device__ T load_unseen(const T *p)
{
    return *p;
}
template <class T> UNSEEN __device__ void store_unseen(T *p, T x)
{
    *p = x;
}
enum unseen { UNSEEN_C = 1, UNSEEN_B = 2, UNSEEN_VALUES = 4, UNSEEN_COLUMNS = 8 };

__global__ void spmm_unseen_kernel(int rows, int N, const int *row_ptr, const int *col_idx,
                                   const float *values, const float *B, float *C, int what)
{
    const int at = blockIdx.x * THREADS + threadIdx.x, row = at / N, j = at % N;
    if (row >= rows) return;
    float sum = 0;
    for (int k = row_ptr[row]; k < row_ptr[row + 1]; k++) {
        const int c = what & UNSEEN_COLUMNS ? load_unseen(&col_idx[k]) : col_idx[k];
        const float *b = &B[(size_t)c * N + j];
        const float value = what & UNSEEN_VALUES ? load_unseen(&values[k]) : values[k];
        sum += value * (what & UNSEEN_B ? load_unseen(b) : *b);
    }
    if (what & UNSEEN_C)
        store_unseen(&C[at], sum);
    else
        C[at] = sum;
}

static bool fault_is(const spmm_plan *plan, const char *fault)
{
    const char *asked = getenv("FAULT");
    return plan->contender->base.lab == 2 && asked && !strcmp(asked, fault);
}

/* Counts the part of the product that is kept from the instruments. */
static int unseen_part(const spmm_plan *plan)
{
    return (fault_is(plan, "unseen-C") || fault_is(plan, "unseen-filled")) * UNSEEN_C |
           fault_is(plan, "unseen-B") * UNSEEN_B | fault_is(plan, "unseen-values") * UNSEEN_VALUES |
           fault_is(plan, "unseen-columns") * UNSEEN_COLUMNS;
}

static cudaError_t prepare(spmm_plan *plan)
{
    if (fault_is(plan, "waits") && plan->N > 1) close(open("gate", O_RDONLY));
    if (fault_is(plan, "oom")) CUDA_TRY(cudaMalloc(&plan->state, (size_t)1 << 60));
    return cudaSuccess;
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const int rows = A.rows - fault_is(plan, "wrong");            /* forgets the last one */
    const int threads = fault_is(plan, "error") ? 4096 : THREADS; /* no device takes that many */
    if (!unseen_part(plan))
        spmm_plain_kernel<<<(rows * plan->N + THREADS - 1) / THREADS, threads, 0, stream>>>(
            rows, plan->N, A.d_row_ptr, A.d_col_idx, A.d_values, B, C);
    const size_t behind = (size_t)A.cols * plan->N;
    if (fault_is(plan, "outside")) spmm_outside_kernel<<<1, 1, 0, stream>>>(B, behind, C);
    if (fault_is(plan, "far-outside"))
        spmm_outside_kernel<<<1, 1, 0, stream>>>(B, (size_t)1 << 40, C);
    if (fault_is(plan, "race")) spmm_race_kernel<<<1, THREADS, 0, stream>>>(C);
    if (fault_is(plan, "shapes")) {
        spmm_shapes_kernel<<<1, 32, 0, stream>>>(A.d_row_ptr, C);
        spmm_shapes_kernel<<<3, THREADS, 0, stream>>>(A.d_row_ptr, C);
    }
    const int unseen = unseen_part(plan);
    if (unseen) {
        if (fault_is(plan, "unseen-filled"))
            CUDA_TRY(cudaMemsetAsync(C, 0, sizeof(float) * A.rows * plan->N, stream));
        spmm_unseen_kernel<<<(rows * plan->N + THREADS - 1) / THREADS, THREADS, 0, stream>>>(
            rows, plan->N, A.d_row_ptr, A.d_col_idx, A.d_values, B, C, unseen);
    }
    CUDA_TRY(cudaGetLastError());
    return cudaSuccess;
}

static spmm_contender plain = {
    .base = {.lab = 1, .name = "plain", .summary = "right"}, .prepare = prepare, .run = run};
SPMM_REGISTER(plain)

static spmm_contender faulty = {
    .base = {.lab = 2, .after = 1, .name = "faulty", .summary = "$FAULT"},
    .prepare = prepare,
    .run = run};

__attribute__((constructor)) static void register_faulty(void)
{
    const char *asked = getenv("FAULT");
    if (asked && !strcmp(asked, "skip")) faulty.base.min_compute_capability = 999;
    if (asked && !strcmp(asked, "twin")) faulty.base.lab = 1;
    contender_register(&faulty.base, &spmm_operation);
}
