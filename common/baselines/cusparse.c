/*
 * cusparse.c - NVIDIA's cuSPARSE as a contender for SpMM, in fp32, fp16 and bf16: every CSR algorithm
 * with and without preprocessing, and the COO algorithm that balances by nonzeros. Sums are formed in
 * fp32 in every precision (CUDA_R_32F as the compute type); indices have 32 bits, which is what its
 * SpMM takes.
 *
 * Handles, descriptors and buffers are made in prepare, so that run is cusparseSpMM alone.
 * Source: the cuSPARSE documentation of cusparseSpMM, generic API, CUDA 12 and 13.
 */
#include "baselines/cusparse_status.h"
#include "baselines/sums_rounded.h"
#include "ops/spmm.h"

#include <stdlib.h>

typedef struct cusparse_contender {
    spmm_contender spmm;
    cusparseSpMMAlg_t algorithm;
    bool coo, preprocess;
} cusparse_contender;

typedef struct cusparse_state {
    cusparseHandle_t handle;
    cusparseSpMatDescr_t A;
    cusparseDnMatDescr_t B, C;
    cusparseSpMMAlg_t algorithm;
    void *buffer;
    int *d_row_idx; /* COO: the row of each nonzero */
} cusparse_state;

static const float ONE = 1, ZERO = 0;

static void release(spmm_plan *plan)
{
    cusparse_state *s = plan->state;
    if (!s) return;
    if (s->A) cusparseDestroySpMat(s->A);
    if (s->B) cusparseDestroyDnMat(s->B);
    if (s->C) cusparseDestroyDnMat(s->C);
    if (s->handle) cusparseDestroy(s->handle);
    cudaFree(s->buffer);
    cudaFree(s->d_row_idx);
    free(s);
    plan->state = NULL;
}

static cudaError_t make_A(const spmm_matrix *A, bool coo, cudaDataType type, cusparse_state *s)
{
    /* The descriptors take non-const pointers; SpMM does not write through them. */
    int *row_ptr = (int *)A->d_row_ptr, *col_idx = (int *)A->d_col_idx;
    void *values = (void *)(A->d_values ? A->d_values : A->d_values16);
    if (coo) {
        CUDA_TRY(cudaMalloc((void **)&s->d_row_idx, (size_t)A->nnz * sizeof(int) + 1));
        CUSPARSE_TRY(cusparseXcsr2coo(s->handle, row_ptr, A->nnz, A->rows, s->d_row_idx,
                                      CUSPARSE_INDEX_BASE_ZERO));
        CUSPARSE_TRY(cusparseCreateCoo(&s->A, A->rows, A->cols, A->nnz, s->d_row_idx, col_idx,
                                       values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    } else {
        CUSPARSE_TRY(cusparseCreateCsr(&s->A, A->rows, A->cols, A->nnz, row_ptr, col_idx, values,
                                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_BASE_ZERO, type));
    }
    return cudaSuccess;
}

static cudaError_t fill_state(const spmm_plan *plan, cusparse_state *s)
{
    const cusparse_contender *self = (const cusparse_contender *)plan->contender;
    const spmm_matrix *A = &plan->A;
    const cudaDataType type = cusparse_type(self->spmm.base.precision);
    const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const int N = plan->N;
    size_t bytes;
    /* run sets the real B and C; until then any device address stands for them, since neither
     * cusparseSpMM_bufferSize nor _preprocess reads dense values. */
    int *placeholder = (int *)A->d_row_ptr;

    s->algorithm = self->algorithm;
    CUSPARSE_TRY(cusparseCreate(&s->handle));
    CUDA_TRY(make_A(A, self->coo, type, s));
    CUSPARSE_TRY(cusparseCreateDnMat(&s->B, A->cols, N, N, placeholder, type, CUSPARSE_ORDER_ROW));
    CUSPARSE_TRY(cusparseCreateDnMat(&s->C, A->rows, N, N, placeholder, type, CUSPARSE_ORDER_ROW));
    CUSPARSE_TRY(cusparseSpMM_bufferSize(s->handle, as_is, as_is, &ONE, s->A, s->B, &ZERO, s->C,
                                         CUDA_R_32F, s->algorithm, &bytes));
    CUDA_TRY(cudaMalloc(&s->buffer, bytes ? bytes : 1));
    if (self->preprocess)
        CUSPARSE_TRY(cusparseSpMM_preprocess(s->handle, as_is, as_is, &ONE, s->A, s->B, &ZERO, s->C,
                                             CUDA_R_32F, s->algorithm, s->buffer));
    return cudaSuccess;
}

static cudaError_t prepare(spmm_plan *plan)
{
    plan->state = calloc(1, sizeof(cusparse_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    cudaError_t error = fill_state(plan, plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    cusparse_state *s = plan->state;
    CUSPARSE_TRY(cusparseSetStream(s->handle, stream));
    CUSPARSE_TRY(cusparseDnMatSetValues(s->B, (void *)B));
    CUSPARSE_TRY(cusparseDnMatSetValues(s->C, C));
    CUSPARSE_TRY(cusparseSpMM(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                              CUSPARSE_OPERATION_NON_TRANSPOSE, &ONE, s->A, s->B, &ZERO, s->C,
                              CUDA_R_32F, s->algorithm, s->buffer));
    return cudaSuccess;
}

/* The library takes the elements' type from the descriptors. */
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return run16(plan, B, C, stream);
}

/* COO has the row of each nonzero in place of the offsets of rows. */
static size_t format_bytes(const spmm_plan *plan)
{
    const cusparse_contender *self = (const cusparse_contender *)plan->contender;
    const size_t element = precision_format(self->spmm.base.precision)->bytes;
    return self->coo ? plan->A.nnz * (2 * sizeof(int) + element) : spmm_csr_bytes(plan);
}

/* Values are read where they are, by every run: preprocessing looks at the pattern alone. So there is nothing to update,
 * and nothing is nested. */
#define ALGORITHM(title, id, is_coo, with_preprocess, is_default)                   \
    {                                                                               \
        .spmm = {.base = {.name = "cuSPARSE " title, .vendor_default = is_default}, \
                 .prepare = prepare,                                                \
                 .run = run,                                                        \
                 .run16 = run16,                                                    \
                 .update_values = spmm_nested_update_values,                        \
                 .format_bytes = format_bytes,                                      \
                 .release = release},                                               \
        .algorithm = id, .coo = is_coo, .preprocess = with_preprocess               \
    }

static const cusparse_contender ALGORITHMS[] = {
    ALGORITHM("CSR_DEFAULT", CUSPARSE_SPMM_ALG_DEFAULT, false, false, true),
    ALGORITHM("CSR_DEFAULT+preprocess", CUSPARSE_SPMM_ALG_DEFAULT, false, true, false),
    ALGORITHM("CSR_ALG1", CUSPARSE_SPMM_CSR_ALG1, false, false, false),
    ALGORITHM("CSR_ALG1+preprocess", CUSPARSE_SPMM_CSR_ALG1, false, true, false),
    ALGORITHM("CSR_ALG2", CUSPARSE_SPMM_CSR_ALG2, false, false, false),
    ALGORITHM("CSR_ALG2+preprocess", CUSPARSE_SPMM_CSR_ALG2, false, true, false),
    ALGORITHM("CSR_ALG3", CUSPARSE_SPMM_CSR_ALG3, false, false, false),
    ALGORITHM("CSR_ALG3+preprocess", CUSPARSE_SPMM_CSR_ALG3, false, true, false),
    ALGORITHM("COO_ALG4", CUSPARSE_SPMM_COO_ALG4, true, false, false),
};

enum { NUM_ALGORITHMS = sizeof ALGORITHMS / sizeof ALGORITHMS[0] };

static const double SUMS_ROUNDED[NUM_PRECISIONS] = {
    [PRECISION_FP16] = FP16_SUMS_ROUNDED, [PRECISION_BF16] = BF16_SUMS_ROUNDED};

/* Each algorithm in each precision: a precision that one of them does not have is a skip. */
__attribute__((constructor)) static void register_cusparse(void)
{
    static cusparse_contender all[NUM_PRECISIONS][NUM_ALGORITHMS];
    for (int p = 0; p < NUM_PRECISIONS; p++)
        for (int i = 0; i < NUM_ALGORITHMS; i++) {
            all[p][i] = ALGORITHMS[i];
            all[p][i].spmm.base.precision = (enum precision)p;
            all[p][i].spmm.base.bound_factor = SUMS_ROUNDED[p];
            /* Nobody says which units it takes in 16 bits. */
            if (p != PRECISION_FP32) all[p][i].spmm.base.unit = UNIT_TENSOR_CORES;
            contender_register(&all[p][i].spmm.base, &spmm_operation);
        }
}
