/*
 * cusparselt.cc - NVIDIA's library for matrices that have the pattern of sparse tensor cores, two of each four elements of
 * a row: cuSPARSELt. It takes no others, so it contends on `weights:kind=two_four`, not on weights pruned freely.
 *
 * prepare compresses A, and lets the library's own search run its algorithms and keep the fastest; results name its
 * number, and --set ALGORITHM=3 takes the third without a search. Built where the library is (mk/backend.mk), as C++:
 * headers of some versions include <cstddef>.
 * Source: the cuSPARSELt documentation of cusparseLtMatmul and cusparseLtMatmulSearch, version 0.8.
 */
#include "baselines/cusparse_status.h"
#include "baselines/dense.h"
#include "baselines/sums_rounded.h"
#include "device/cuda_try.h"

#include <cusparseLt.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16 /* bytes; cudaMalloc's arrays have 256 */ };

typedef struct lt_state {
    cusparseLtHandle_t handle;
    cusparseLtMatDescriptor_t A, B, C;
    cusparseLtMatmulDescriptor_t product;
    cusparseLtMatmulAlgSelection_t selection;
    cusparseLtMatmulPlan_t plan;
    bool has_handle, has_A, has_B, has_C, has_selection, has_plan;
    void *d_compressed, *d_workspace;
} lt_state;

#define LT_TRY(call) CUDA_TRY(cusparse_as_cuda_error(call))

static void release(spmm_plan *plan)
{
    lt_state *s = static_cast<lt_state *>(plan->state);
    if (!s) return;
    if (s->has_plan) cusparseLtMatmulPlanDestroy(&s->plan);
    if (s->has_selection) cusparseLtMatmulAlgSelectionDestroy(&s->selection);
    if (s->has_A) cusparseLtMatDescriptorDestroy(&s->A);
    if (s->has_B) cusparseLtMatDescriptorDestroy(&s->B);
    if (s->has_C) cusparseLtMatDescriptorDestroy(&s->C);
    if (s->has_handle) cusparseLtDestroy(&s->handle);
    cudaFree(s->d_compressed);
    cudaFree(s->d_workspace);
    free(s);
    plan->state = NULL;
}

/* All three by rows, as the suite stores them. */
static cudaError_t describe(const spmm_plan *plan, lt_state *s)
{
    const cudaDataType type = cusparse_type(plan->contender->base.precision);
    const int64_t rows = plan->A.rows, cols = plan->A.cols, N = plan->N;
    LT_TRY(cusparseLtInit(&s->handle));
    s->has_handle = true;
    LT_TRY(cusparseLtStructuredDescriptorInit(&s->handle, &s->A, rows, cols, cols, ALIGNMENT, type,
                                              CUSPARSE_ORDER_ROW, CUSPARSELT_SPARSITY_50_PERCENT));
    s->has_A = true;
    LT_TRY(cusparseLtDenseDescriptorInit(&s->handle, &s->B, cols, N, N, ALIGNMENT, type,
                                         CUSPARSE_ORDER_ROW));
    s->has_B = true;
    LT_TRY(cusparseLtDenseDescriptorInit(&s->handle, &s->C, rows, N, N, ALIGNMENT, type,
                                         CUSPARSE_ORDER_ROW));
    s->has_C = true;
    LT_TRY(cusparseLtMatmulDescriptorInit(&s->handle, &s->product, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                          CUSPARSE_OPERATION_NON_TRANSPOSE, &s->A, &s->B, &s->C,
                                          &s->C, CUSPARSE_COMPUTE_32F));
    LT_TRY(cusparseLtMatmulAlgSelectionInit(&s->handle, &s->selection, &s->product,
                                            CUSPARSELT_MATMUL_ALG_DEFAULT));
    s->has_selection = true;
    return cudaSuccess;
}

/* Makes room for what the plan's algorithm wants; a search may choose one that wants more. */
static cudaError_t make_workspace(lt_state *s)
{
    size_t bytes;
    LT_TRY(cusparseLtMatmulGetWorkspace(&s->handle, &s->plan, &bytes));
    CUDA_TRY(cudaFree(s->d_workspace));
    s->d_workspace = NULL;
    return cudaMalloc(&s->d_workspace, bytes + 1);
}

static cudaError_t make_plan(lt_state *s)
{
    LT_TRY(cusparseLtMatmulPlanInit(&s->handle, &s->plan, &s->product, &s->selection));
    s->has_plan = true;
    return make_workspace(s);
}

static cudaError_t compress(const spmm_plan *plan, lt_state *s)
{
    size_t bytes, buffer_bytes;
    void *d_dense = NULL, *d_buffer = NULL;
    cudaError_t error;
    LT_TRY(cusparseLtSpMMACompressedSize(&s->handle, &s->plan, &bytes, &buffer_bytes));
    CUDA_TRY_GOTO(error, done, cudaMalloc(&s->d_compressed, bytes));
    CUDA_TRY_GOTO(error, done, cudaMalloc(&d_buffer, buffer_bytes + 1));
    CUDA_TRY_GOTO(error, done, dense_from_csr(plan, &d_dense));
    CUDA_TRY_GOTO(error, done,
                  cusparse_as_cuda_error(cusparseLtSpMMACompress(&s->handle, &s->plan, d_dense,
                                                                 s->d_compressed, d_buffer, 0)));
    CUDA_TRY_GOTO(error, done, cudaDeviceSynchronize());
done:
    cudaFree(d_dense);
    cudaFree(d_buffer);
    return error;
}

static cudaError_t multiply(const lt_state *s, const void *B, void *C, cudaStream_t stream)
{
    static const float one = 1, zero = 0;
    LT_TRY(cusparseLtMatmul(&s->handle, &s->plan, &one, s->d_compressed, B, &zero, C, C,
                            s->d_workspace, &stream, 1));
    return cudaSuccess;
}

static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    return multiply(static_cast<const lt_state *>(plan->state), B, C, stream);
}

/* Lets the library try its algorithms on operands of the problem's shape; *chosen counts from 1. */
static cudaError_t search(const spmm_plan *plan, lt_state *s, int *chosen)
{
    static const float one = 1, zero = 0;
    const size_t B_bytes = (size_t)plan->A.cols * plan->N * 2;
    const size_t C_bytes = (size_t)plan->A.rows * plan->N * 2;
    void *d_B = NULL, *d_C = NULL;
    int id = 0;
    cudaError_t error;
    CUDA_TRY_GOTO(error, done, cudaMalloc(&d_B, B_bytes));
    CUDA_TRY_GOTO(error, done, cudaMemset(d_B, 0, B_bytes));
    CUDA_TRY_GOTO(error, done, cudaMalloc(&d_C, C_bytes));
    CUDA_TRY_GOTO(error, done,
                  cusparse_as_cuda_error(cusparseLtMatmulSearch(&s->handle, &s->plan, &one,
                                                                s->d_compressed, d_B, &zero, d_C,
                                                                d_C, s->d_workspace, NULL, 0)));
    CUDA_TRY_GOTO(error, done,
                  cusparse_as_cuda_error(cusparseLtMatmulAlgGetAttribute(
                      &s->handle, &s->selection, CUSPARSELT_MATMUL_ALG_CONFIG_ID, &id, sizeof id)));
    CUDA_TRY_GOTO(error, done, make_workspace(s));
    *chosen = id + 1;
done:
    cudaFree(d_B);
    cudaFree(d_C);
    return error;
}

static cudaError_t fill_state(spmm_plan *plan, lt_state *s)
{
    int *const number = &plan->tuning[0];
    const int id = *number - 1;
    CUDA_TRY(describe(plan, s));
    if (*number)
        LT_TRY(cusparseLtMatmulAlgSetAttribute(&s->handle, &s->selection,
                                               CUSPARSELT_MATMUL_ALG_CONFIG_ID, &id, sizeof id));
    CUDA_TRY(make_plan(s));
    CUDA_TRY(compress(plan, s));
    return *number ? cudaSuccess : search(plan, s, number);
}

static cudaError_t prepare(spmm_plan *plan)
{
    plan->state = calloc(1, sizeof(lt_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill_state(plan, static_cast<lt_state *>(plan->state));
    if (error != cudaSuccess) release(plan);
    return error;
}

/* Whether no four of any row has more than two elements. */
static bool has_pattern(const csr_matrix *A)
{
    unsigned char *count = static_cast<unsigned char *>(calloc((size_t)A->cols / 4 + 1, 1));
    bool has = count != NULL;
    for (int64_t row = 0; row < A->rows && has; row++) {
        for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++)
            has = has && ++count[A->col_idx[k] / 4] <= 2;
        for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++)
            count[A->col_idx[k] / 4] = 0;
    }
    free(count);
    return has;
}

static const char *unsuited(const problem *p)
{
    const char *reason = dense_unsuited(p);
    if (reason || has_pattern(p->A)) return reason;
    return "A has more than two elements in some four neighbours of a row, and the library takes "
           "no "
           "others";
}

#define PRODUCT(kind, factor)                                                         \
    {                                                                                 \
        .base = {.name = "cuSPARSELt",                                                \
                 .precision = PRECISION_##kind,                                       \
                 .min_compute_capability = 80,                                        \
                 .unit = UNIT_TENSOR_CORES,                                           \
                 .bound_factor = factor,                                              \
                 .unsuited = unsuited,                                                \
                 .tunables = {{"ALGORITHM",                                           \
                               "number of cuSPARSELt's algorithm; 0: its own search", \
                               {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},                \
                               MAX_TUNABLE_VALUES}}},                                 \
        .prepare = prepare, .run16 = run16, .release = release                        \
    }

static spmm_contender products[] = {
    PRODUCT(FP16, FP16_SUMS_ROUNDED),
    PRODUCT(BF16, BF16_SUMS_ROUNDED),
};

__attribute__((constructor)) static void register_cusparselt(void)
{
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        contender_register(&products[i].base, &spmm_operation);
}
