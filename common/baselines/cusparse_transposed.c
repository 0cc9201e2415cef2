/*
 * cusparse_transposed.c - C = A^T B by NVIDIA's cuSPARSE, in two ways.
 *
 * "T": cusparseSpMM with opA = TRANSPOSE on A's own arrays. "CSC": each run makes the transpose anew, by
 * cusparseCsr2cscEx2, and multiplies by that: the plain products are the contenders of cusparse.c, found by their names.
 * The library has no call that moves values alone, so a step of training pays for a sort.
 * Source: the cuSPARSE documentation of cusparseSpMM and cusparseCsr2cscEx2, CUDA 12 and 13.
 */
#include "baselines/cusparse_status.h"
#include "baselines/sums_rounded.h"
#include "baselines/vendor_named.h"
#include "ops/spmm.h"
#include "ops/transposed_spmm.h"

#include <stdlib.h>

typedef struct cusparse_contender {
    transposed_spmm_contender transposed;
    cusparseSpMMAlg_t algorithm; /* of T */
    bool preprocess;
    const char *product; /* of CSC: the name of the library's contender */
} cusparse_contender;

typedef struct cusparse_state {
    cusparseHandle_t handle;
    void *buffer;
    /* T */
    cusparseSpMatDescr_t A;
    cusparseDnMatDescr_t B, C;
    /* CSC */
    csr_matrix host; /* the transpose's pattern ... */
    row_stats stats; /* ... and its statistics */
    int *d_begin, *d_row;
    void *d_values;
    spmm_plan product;
} cusparse_state;

static const float ONE = 1, ZERO = 0;

static const cusparse_contender *self_of(const transposed_spmm_plan *plan)
{
    return (const cusparse_contender *)plan->contender;
}

static cudaDataType type_of(const transposed_spmm_plan *plan)
{
    return cusparse_type(plan->contender->base.precision);
}

static void *values_of(const device_csr *A)
{
    return (void *)(A->d_values ? A->d_values : A->d_values16);
}

static void release(transposed_spmm_plan *plan)
{
    cusparse_state *s = plan->state;
    if (!s) return;
    spmm_nested_release(&s->product);
    if (s->A) cusparseDestroySpMat(s->A);
    if (s->B) cusparseDestroyDnMat(s->B);
    if (s->C) cusparseDestroyDnMat(s->C);
    if (s->handle) cusparseDestroy(s->handle);
    cudaFree(s->buffer);
    cudaFree(s->d_begin);
    cudaFree(s->d_row);
    cudaFree(s->d_values);
    csr_free(&s->host);
    free(s);
    plan->state = NULL;
}

/* ---- opA = TRANSPOSE ------------------------------------------------------------------------- */

static cudaError_t fill_T(const transposed_spmm_plan *plan, cusparse_state *s)
{
    const cusparse_contender *self = self_of(plan);
    const device_csr *A = &plan->A;
    const cudaDataType type = type_of(plan);
    const cusparseOperation_t turned = CUSPARSE_OPERATION_TRANSPOSE;
    const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const int N = plan->N;
    int *placeholder = (int *)A->d_row_ptr; /* run sets the real B and C, as in cusparse.c */
    size_t bytes;
    CUSPARSE_TRY(cusparseCreateCsr(&s->A, A->rows, A->cols, A->nnz, (int *)A->d_row_ptr,
                                   (int *)A->d_col_idx, values_of(A), CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    CUSPARSE_TRY(cusparseCreateDnMat(&s->B, A->rows, N, N, placeholder, type, CUSPARSE_ORDER_ROW));
    CUSPARSE_TRY(cusparseCreateDnMat(&s->C, A->cols, N, N, placeholder, type, CUSPARSE_ORDER_ROW));
    CUSPARSE_TRY(cusparseSpMM_bufferSize(s->handle, turned, as_is, &ONE, s->A, s->B, &ZERO, s->C,
                                         CUDA_R_32F, self->algorithm, &bytes));
    CUDA_TRY(cudaMalloc(&s->buffer, bytes ? bytes : 1));
    if (self->preprocess)
        CUSPARSE_TRY(cusparseSpMM_preprocess(s->handle, turned, as_is, &ONE, s->A, s->B, &ZERO,
                                             s->C, CUDA_R_32F, self->algorithm, s->buffer));
    return cudaSuccess;
}

static cudaError_t run_T(const transposed_spmm_plan *plan, const void *B, void *C,
                         cudaStream_t stream)
{
    cusparse_state *s = plan->state;
    CUSPARSE_TRY(cusparseSetStream(s->handle, stream));
    CUSPARSE_TRY(cusparseDnMatSetValues(s->B, (void *)B));
    CUSPARSE_TRY(cusparseDnMatSetValues(s->C, C));
    CUSPARSE_TRY(cusparseSpMM(s->handle, CUSPARSE_OPERATION_TRANSPOSE,
                              CUSPARSE_OPERATION_NON_TRANSPOSE, &ONE, s->A, s->B, &ZERO, s->C,
                              CUDA_R_32F, self_of(plan)->algorithm, s->buffer));
    return cudaSuccess;
}

/* ---- Csr2csc in every run -------------------------------------------------------------------- */

static cudaError_t transpose(const transposed_spmm_plan *plan, cudaStream_t stream)
{
    cusparse_state *s = plan->state;
    const device_csr *A = &plan->A;
    CUSPARSE_TRY(cusparseSetStream(s->handle, stream));
    CUSPARSE_TRY(cusparseCsr2cscEx2(s->handle, A->rows, A->cols, A->nnz, values_of(A), A->d_row_ptr,
                                    A->d_col_idx, s->d_values, s->d_begin, s->d_row, type_of(plan),
                                    CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
                                    CUSPARSE_CSR2CSC_ALG_DEFAULT, s->buffer));
    return cudaSuccess;
}

static cudaError_t make_room(const transposed_spmm_plan *plan, cusparse_state *s)
{
    const device_csr *A = &plan->A;
    const size_t nnz = (size_t)A->nnz;
    size_t bytes;
    CUDA_TRY(cudaMalloc((void **)&s->d_begin, ((size_t)A->cols + 1) * sizeof(int)));
    CUDA_TRY(cudaMalloc((void **)&s->d_row, nnz * sizeof(int) + 16));
    CUDA_TRY(cudaMalloc(&s->d_values, nnz * sizeof(float) + 16));
    CUSPARSE_TRY(cusparseCsr2cscEx2_bufferSize(
        s->handle, A->rows, A->cols, A->nnz, values_of(A), A->d_row_ptr, A->d_col_idx, s->d_values,
        s->d_begin, s->d_row, type_of(plan), CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
        CUSPARSE_CSR2CSC_ALG_DEFAULT, &bytes));
    CUDA_TRY(cudaMalloc(&s->buffer, bytes ? bytes : 1));
    return cudaSuccess;
}

/* The product's prepare may look at the pattern, so that there must be one by then. */
static cudaError_t fill_CSC(const transposed_spmm_plan *plan, cusparse_state *s)
{
    const enum precision precision = plan->contender->base.precision;
    const contender *product = vendor_named(&spmm_operation, self_of(plan)->product, precision);
    error_text reason;
    if (!product) return cudaErrorNotSupported;
    CUDA_TRY(make_room(plan, s));
    CUDA_TRY(transpose(plan, 0));
    CUDA_TRY(cudaDeviceSynchronize());
    if (csr_transpose(plan->A.host, &s->host, &reason) != STATUS_OK ||
        row_stats_compute(&s->host, &s->stats, &reason) != STATUS_OK)
        return cudaErrorMemoryAllocation;
    s->product = (spmm_plan){.A = {.rows = plan->A.cols,
                                   .cols = plan->A.rows,
                                   .nnz = plan->A.nnz,
                                   .d_row_ptr = s->d_begin,
                                   .d_col_idx = s->d_row,
                                   .host = &s->host,
                                   .stats = &s->stats},
                             .N = plan->N};
    if (precision == PRECISION_FP32)
        s->product.A.d_values = s->d_values;
    else
        s->product.A.d_values16 = s->d_values;
    return spmm_nest(&s->product, spmm_of(product), NULL, NULL);
}

static cudaError_t run_CSC(const transposed_spmm_plan *plan, const void *B, void *C,
                           cudaStream_t stream)
{
    const cusparse_state *s = plan->state;
    CUDA_TRY(transpose(plan, stream));
    return plan->contender->base.precision == PRECISION_FP32
               ? spmm_nested_run(&s->product, B, C, stream)
               : spmm_nested_run16(&s->product, B, C, stream);
}

/* ---- contenders ------------------------------------------------------------------------------ */

static cudaError_t prepare(transposed_spmm_plan *plan)
{
    cusparse_state *s = plan->state = calloc(1, sizeof *s);
    if (!s) return cudaErrorMemoryAllocation;
    cudaError_t error = cusparse_as_cuda_error(cusparseCreate(&s->handle));
    if (error == cudaSuccess) error = self_of(plan)->product ? fill_CSC(plan, s) : fill_T(plan, s);
    if (error != cudaSuccess) release(plan);
    return error;
}

static const char *unsuited(const problem *p)
{
    return p->A->nnz == 0 ? "the pattern is empty" : NULL;
}

#define CONTENDER(title, run_way, move, is_default, ...)      \
    {                                                         \
        .transposed = {.base = {.name = "cuSPARSE " title,    \
                                .vendor_default = is_default, \
                                .unsuited = unsuited},        \
                       .prepare = prepare,                    \
                       .run = run_way,                        \
                       .move_values = move,                   \
                       .release = release},                   \
        __VA_ARGS__                                           \
    }
#define TURNED(title, id, with_preprocess, is_default) \
    CONTENDER("T " title, run_T, NULL, is_default, .algorithm = id, .preprocess = with_preprocess)
#define SORTED(title) \
    CONTENDER("CSC " title, run_CSC, transpose, false, .product = "cuSPARSE " title)

/* The default is what a user writes first: a flag, and no algorithm. */
static const cusparse_contender WAYS[] = {
    TURNED("CSR_DEFAULT", CUSPARSE_SPMM_ALG_DEFAULT, false, true),
    TURNED("CSR_DEFAULT+preprocess", CUSPARSE_SPMM_ALG_DEFAULT, true, false),
    TURNED("CSR_ALG1", CUSPARSE_SPMM_CSR_ALG1, false, false),
    TURNED("CSR_ALG2", CUSPARSE_SPMM_CSR_ALG2, false, false),
    TURNED("CSR_ALG2+preprocess", CUSPARSE_SPMM_CSR_ALG2, true, false),
    SORTED("CSR_DEFAULT"),
    SORTED("CSR_ALG2+preprocess"),
    SORTED("CSR_ALG3"),
    SORTED("CSR_ALG3+preprocess"),
};

enum { NUM_WAYS = sizeof WAYS / sizeof WAYS[0] };

/* In fp32 sums by atomics come in any order, which every bound allows. */
static const double SUMS_ROUNDED[NUM_PRECISIONS] = {
    [PRECISION_FP16] = FP16_SUMS_ROUNDED, [PRECISION_BF16] = BF16_SUMS_ROUNDED};

__attribute__((constructor)) static void register_cusparse_transposed(void)
{
    static cusparse_contender all[NUM_PRECISIONS][NUM_WAYS];
    for (int p = 0; p < NUM_PRECISIONS; p++)
        for (int i = 0; i < NUM_WAYS; i++) {
            contender *const c = &all[p][i].transposed.base;
            all[p][i] = WAYS[i];
            c->precision = (enum precision)p;
            c->bound_factor = SUMS_ROUNDED[p];
            /* Nobody says which units it takes in 16 bits. */
            if (p != PRECISION_FP32) c->unit = UNIT_TENSOR_CORES;
            contender_register(c, &transposed_spmm_operation);
        }
}
