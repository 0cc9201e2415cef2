/*
 * cublas_lt.c - cuBLASLt's dense product in 16 bits, by the best of the algorithms that its heuristics
 * propose: cublasGemmEx takes the first of a list, and that is not always the fastest.
 *
 * prepare runs each of the first LISTED on operands of the problem's shape, with a cold L2 cache, and
 * keeps the fastest; results name its place in the list. --set ALGORITHM=3 takes the third. B comes in both
 * layouts, as in cublas.c.
 * Source: the cuBLAS documentation of cublasLtMatmul and cublasLtMatmulAlgoGetHeuristic, CUDA 12, 13.
 */
#include "baselines/cublas_status.h"
#include "baselines/dense.h"
#include "baselines/sums_rounded.h"

#include <cublasLt.h>
#include <math.h>
#include <stdlib.h>

enum { LISTED = MAX_TUNABLE_VALUES - 1, TRIES = 4, WORKSPACE_BYTES = 64 << 20 };

typedef struct lt_state {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t A, B, C;
    cublasLtMatmulHeuristicResult_t list[LISTED];
    cublasLtMatmulAlgo_t algorithm; /* the one that is used */
    int listed;
    void *d_A, *d_workspace;
    void *d_B; /* cols x N, column-major; NULL: run takes B as it is */
} lt_state;

/* Handles that only a trial of algorithms needs. */
typedef struct trial {
    cudaEvent_t start, stop;
    void *d_B, *d_C, *d_flush;
    size_t flush_bytes;
} trial;

static void release(spmm_plan *plan)
{
    lt_state *s = plan->state;
    if (!s) return;
    if (s->A) cublasLtMatrixLayoutDestroy(s->A);
    if (s->B) cublasLtMatrixLayoutDestroy(s->B);
    if (s->C) cublasLtMatrixLayoutDestroy(s->C);
    if (s->product) cublasLtMatmulDescDestroy(s->product);
    if (s->handle) cublasLtDestroy(s->handle);
    cudaFree(s->d_A);
    cudaFree(s->d_B);
    cudaFree(s->d_workspace);
    free(s);
    plan->state = NULL;
}

/* By columns, as the library stores: the row-major A, B and C are their transposes, C' = B' A'. A
 * column-major B is none, and the descriptor transposes it. */
static cudaError_t multiply(const lt_state *s, const cublasLtMatmulAlgo_t *algorithm, const void *B,
                            void *C, cudaStream_t stream)
{
    static const float one = 1, zero = 0;
    CUBLAS_TRY(cublasLtMatmul(s->handle, s->product, &one, B, s->B, s->d_A, s->A, &zero, C, s->C, C,
                              s->C, algorithm, s->d_workspace, WORKSPACE_BYTES, stream));
    return cudaSuccess;
}

static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const lt_state *s = plan->state;
    return multiply(s, &s->algorithm, dense_wants_columns(plan) ? s->d_B : B, C, stream);
}

static cudaError_t rebind(spmm_plan *plan, const void *B)
{
    return dense_by_columns(plan, B, &((lt_state *)plan->state)->d_B);
}

/* ---- the list ---------------------------------------------------------------------------------- */

static cudaError_t list_algorithms(const spmm_plan *plan, lt_state *s)
{
    const uint64_t rows = plan->A.rows, cols = plan->A.cols, N = plan->N;
    const size_t workspace = WORKSPACE_BYTES;
    const cudaDataType type =
        plan->contender->base.precision == PRECISION_FP16 ? CUDA_R_16F : CUDA_R_16BF;
    const bool columns = dense_wants_columns(plan);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    cublasLtMatmulPreference_t preference = NULL;
    cudaError_t error;
    CUBLAS_TRY(cublasLtCreate(&s->handle));
    CUBLAS_TRY(cublasLtMatmulDescCreate(&s->product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    if (columns)
        CUBLAS_TRY(cublasLtMatmulDescSetAttribute(s->product, CUBLASLT_MATMUL_DESC_TRANSA,
                                                  &transposed, sizeof transposed));
    CUBLAS_TRY(cublasLtMatrixLayoutCreate(&s->B, type, columns ? cols : N, columns ? N : cols,
                                          (int64_t)(columns ? cols : N)));
    CUBLAS_TRY(cublasLtMatrixLayoutCreate(&s->A, type, cols, rows, (int64_t)cols));
    CUBLAS_TRY(cublasLtMatrixLayoutCreate(&s->C, type, N, rows, (int64_t)N));
    CUBLAS_TRY(cublasLtMatmulPreferenceCreate(&preference));
    error = cublas_as_cuda_error(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
    if (error == cudaSuccess)
        error = cublas_as_cuda_error(cublasLtMatmulAlgoGetHeuristic(s->handle, s->product, s->B,
                                                                    s->A, s->C, s->C, preference,
                                                                    LISTED, s->list, &s->listed));
    cublasLtMatmulPreferenceDestroy(preference);
    if (error == cudaSuccess && s->listed == 0) error = cudaErrorNotSupported;
    return error;
}

/* ---- the fastest of it --------------------------------------------------------------------------- */

static void trial_destroy(trial *t)
{
    if (t->start) cudaEventDestroy(t->start);
    if (t->stop) cudaEventDestroy(t->stop);
    cudaFree(t->d_B);
    cudaFree(t->d_C);
    cudaFree(t->d_flush);
}

static cudaError_t trial_create(const spmm_plan *plan, trial *t)
{
    const size_t B = (size_t)plan->A.cols * plan->N * 2, C = (size_t)plan->A.rows * plan->N * 2;
    int device, l2_bytes;
    *t = (trial){0};
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device));
    t->flush_bytes = 2 * (size_t)l2_bytes + 1;
    CUDA_TRY(cudaEventCreate(&t->start));
    CUDA_TRY(cudaEventCreate(&t->stop));
    CUDA_TRY(cudaMalloc(&t->d_B, B));
    CUDA_TRY(cudaMemset(t->d_B, 0, B));
    CUDA_TRY(cudaMalloc(&t->d_C, C));
    CUDA_TRY(cudaMalloc(&t->d_flush, t->flush_bytes));
    return cudaSuccess;
}

/* The least of TRIES runs, in ms. */
static cudaError_t time_algorithm(const lt_state *s, const cublasLtMatmulAlgo_t *algorithm,
                                  const trial *t, float *least)
{
    *least = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        float ms;
        CUDA_TRY(cudaMemsetAsync(t->d_flush, 0, t->flush_bytes, 0));
        CUDA_TRY(cudaEventRecord(t->start, 0));
        CUDA_TRY(multiply(s, algorithm, t->d_B, t->d_C, 0));
        CUDA_TRY(cudaEventRecord(t->stop, 0));
        CUDA_TRY(cudaEventSynchronize(t->stop));
        CUDA_TRY(cudaEventElapsedTime(&ms, t->start, t->stop));
        *least = fminf(*least, ms);
    }
    return cudaSuccess;
}

/* An algorithm that does not run is passed over. *chosen counts from 1. */
static cudaError_t try_algorithms(const spmm_plan *plan, lt_state *s, int *chosen)
{
    float best = INFINITY, ms;
    trial t;
    cudaError_t error = trial_create(plan, &t);
    *chosen = 0;
    for (int i = 0; i < s->listed && error == cudaSuccess; i++) {
        if (time_algorithm(s, &s->list[i].algo, &t, &ms) != cudaSuccess) continue;
        if (ms < best) *chosen = i + 1, best = ms;
    }
    trial_destroy(&t);
    if (error == cudaSuccess && *chosen == 0) error = cudaErrorNotSupported;
    return error;
}

static cudaError_t fill_state(spmm_plan *plan, lt_state *s)
{
    int *const place = &plan->tuning[0];
    CUDA_TRY(dense_from_csr(plan, &s->d_A));
    CUDA_TRY(cudaMalloc(&s->d_workspace, WORKSPACE_BYTES));
    CUDA_TRY(list_algorithms(plan, s));
    if (*place == 0) CUDA_TRY(try_algorithms(plan, s, place));
    if (*place > s->listed) return cudaErrorNotSupported;
    s->algorithm = s->list[*place - 1].algo;
    return cudaSuccess;
}

static cudaError_t prepare(spmm_plan *plan)
{
    plan->state = calloc(1, sizeof(lt_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill_state(plan, plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

#define PRODUCT(title, again, kind, factor)                                     \
    {                                                                           \
        .base = {.name = title " (dense)",                                      \
                 .precision = PRECISION_##kind,                                 \
                 .min_compute_capability = 80,                                  \
                 .unit = UNIT_TENSOR_CORES,                                     \
                 .dense = true,                                                 \
                 .bound_factor = factor,                                        \
                 .unsuited = dense_unsuited,                                    \
                 .tunables = {{"ALGORITHM",                                     \
                               "place in cuBLASLt's list; 0: the fastest",      \
                               {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},          \
                               LISTED + 1}}},                                   \
        .prepare = prepare, .rebind = again, .run16 = run16, .release = release \
    }

static spmm_contender products[] = {
    PRODUCT("cuBLASLt", NULL, FP16, FP16_SUMS_ROUNDED),
    PRODUCT("cuBLASLt", NULL, BF16, BF16_SUMS_ROUNDED),
    PRODUCT("cuBLASLt" DENSE_COLUMNS, rebind, FP16, FP16_SUMS_ROUNDED),
    PRODUCT("cuBLASLt" DENSE_COLUMNS, rebind, BF16, BF16_SUMS_ROUNDED),
};

__attribute__((constructor)) static void register_cublas_lt(void)
{
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        contender_register(&products[i].base, &spmm_operation);
}
