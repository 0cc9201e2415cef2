/*
 * cusparse_sddmm.c - NVIDIA's cuSPARSE as a contender for SDDMM, in the four ways to describe the
 * same X and Y, each with and without preprocessing. It has one algorithm. Sums are formed in fp32
 * in every precision (CUDA_R_32F as the compute type); one that this version of it does not take is
 * a skip.
 *
 * cuSPARSE forms alpha (op(A) op(B)) o spy(C) + beta C: the pattern of C counts, not its values.
 * The weights, if any, are multiplied in by a kernel behind it, as its users have to do. Source:
 * the cuSPARSE documentation of cusparseSDDMM, generic API, CUDA 12 and 13.
 */
#include "baselines/cusparse_status.h"
#include "baselines/sampled.h"
#include "baselines/sums_rounded.h"

#include <math.h>
#include <stdlib.h>

typedef struct cusparse_contender {
    sddmm_contender sddmm;
    /* X lies there as rows x K by rows, which is K x rows by columns; Y alike. The operations say
     * which of both the library is told. */
    cusparseOperation_t op_X, op_Y;
    bool preprocess;
} cusparse_contender;

/* The matrices of one product as the library wants them. */
typedef struct descriptors {
    cusparseDnMatDescr_t X, Y;
    cusparseSpMatDescr_t D;
    void *buffer;
} descriptors;

typedef struct cusparse_state {
    cusparseHandle_t handle;
    descriptors all;
    bool keeps_nan; /* beta = 0 does not make the library forget what D held before */
} cusparse_state;

static const float ONE = 1, ZERO = 0;

static void forget(descriptors *d)
{
    if (d->X) cusparseDestroyDnMat(d->X);
    if (d->Y) cusparseDestroyDnMat(d->Y);
    if (d->D) cusparseDestroySpMat(d->D);
    cudaFree(d->buffer);
    *d = (descriptors){0};
}

static void release(sddmm_plan *plan)
{
    cusparse_state *s = plan->state;
    if (!s) return;
    forget(&s->all);
    if (s->handle) cusparseDestroy(s->handle);
    free(s);
    plan->state = NULL;
}

/* `n` rows of K numbers, one after the other: as they are, or as the columns of the transposed. */
static cusparseStatus_t describe_rows(cusparseDnMatDescr_t *d, int n, int K, bool by_columns,
                                      void *numbers, cudaDataType type)
{
    return by_columns ? cusparseCreateDnMat(d, K, n, K, numbers, type, CUSPARSE_ORDER_COL)
                      : cusparseCreateDnMat(d, n, K, K, numbers, type, CUSPARSE_ORDER_ROW);
}

/* Describes a product on that pattern, and prepares what the library asks for. X, Y and D are set
 * before each run. Until then one array stands for all of them, which preprocessing does not read.
 */
static cudaError_t describe(const sddmm_plan *plan, cusparseHandle_t handle, const device_csr *W,
                            void *placeholder, descriptors *d)
{
    const cusparse_contender *self = (const cusparse_contender *)plan->contender;
    const cudaDataType type = cusparse_type(self->sddmm.base.precision);
    const bool X_by_columns = self->op_X == CUSPARSE_OPERATION_TRANSPOSE;
    const bool Y_by_columns = self->op_Y == CUSPARSE_OPERATION_NON_TRANSPOSE;
    size_t bytes;
    CUSPARSE_TRY(describe_rows(&d->X, W->rows, plan->K, X_by_columns, placeholder, type));
    CUSPARSE_TRY(describe_rows(&d->Y, W->cols, plan->K, Y_by_columns, placeholder, type));
    CUSPARSE_TRY(cusparseCreateCsr(&d->D, W->rows, W->cols, W->nnz, (void *)W->d_row_ptr,
                                   (void *)W->d_col_idx, placeholder, CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    CUSPARSE_TRY(cusparseSDDMM_bufferSize(handle, self->op_X, self->op_Y, &ONE, d->X, d->Y, &ZERO,
                                          d->D, CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, &bytes));
    CUDA_TRY(cudaMalloc(&d->buffer, bytes ? bytes : 1));
    if (self->preprocess)
        CUSPARSE_TRY(cusparseSDDMM_preprocess(handle, self->op_X, self->op_Y, &ONE, d->X, d->Y,
                                              &ZERO, d->D, CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT,
                                              d->buffer));
    return cudaSuccess;
}

static cudaError_t multiply(const sddmm_plan *plan, cusparseHandle_t handle, const descriptors *d,
                            const void *X, const void *Y, void *D)
{
    const cusparse_contender *self = (const cusparse_contender *)plan->contender;
    CUSPARSE_TRY(cusparseDnMatSetValues(d->X, (void *)X));
    CUSPARSE_TRY(cusparseDnMatSetValues(d->Y, (void *)Y));
    CUSPARSE_TRY(cusparseSpMatSetValues(d->D, D));
    CUSPARSE_TRY(cusparseSDDMM(handle, self->op_X, self->op_Y, &ONE, d->X, d->Y, &ZERO, d->D,
                               CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, d->buffer));
    return cudaSuccess;
}

/* The smallest product: a pattern of one nonzero in one row, and K zeros that are both X and Y. */
typedef struct trial {
    int row_ptr[2], col_idx[2];
    float D[4]; /* one number of the precision, on 16 bytes of its own */
} trial;

static cudaError_t multiply_nan(const sddmm_plan *plan, cusparse_state *s, trial *d_trial,
                                descriptors *d)
{
    const enum precision precision = plan->contender->base.precision;
    const device_csr W = {.rows = 1,
                          .cols = 1,
                          .nnz = 1,
                          .d_row_ptr = d_trial->row_ptr,
                          .d_col_idx = d_trial->col_idx};
    const float nan = NAN;
    float result;
    trial start = {.row_ptr = {0, 1}};
    precision_narrow(precision, &nan, start.D, 1);
    CUDA_TRY(cudaMemset(d_trial + 1, 0, plan->K * sizeof(float)));
    CUDA_TRY(cudaMemcpy(d_trial, &start, sizeof start, cudaMemcpyHostToDevice));
    CUDA_TRY(describe(plan, s->handle, &W, d_trial->D, d));
    CUDA_TRY(multiply(plan, s->handle, d, d_trial + 1, d_trial + 1, d_trial->D));
    CUDA_TRY(cudaMemcpy(&start, d_trial, sizeof start, cudaMemcpyDeviceToHost));
    precision_widen(precision, start.D, &result, 1);
    s->keeps_nan = isnan(result);
    return cudaSuccess;
}

/* No promise was found that beta = 0 makes the library forget a NaN in D. Clearing D costs
 * a launch and a pass over it, which only a user who needs that should pay: so it is tried. */
static cudaError_t try_nan(const sddmm_plan *plan, cusparse_state *s)
{
    descriptors d = {0};
    trial *d_trial;
    CUDA_TRY(cudaMalloc((void **)&d_trial, sizeof *d_trial + plan->K * sizeof(float)));
    const cudaError_t error = multiply_nan(plan, s, d_trial, &d);
    forget(&d);
    cudaFree(d_trial);
    return error;
}

static cudaError_t fill_state(const sddmm_plan *plan, cusparse_state *s)
{
    CUSPARSE_TRY(cusparseCreate(&s->handle));
    CUDA_TRY(try_nan(plan, s));
    CUDA_TRY(describe(plan, s->handle, &plan->W, (void *)plan->W.d_row_ptr, &s->all));
    return cudaSuccess;
}

static cudaError_t prepare(sddmm_plan *plan)
{
    plan->state = calloc(1, sizeof(cusparse_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill_state(plan, plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

static cudaError_t run16(const sddmm_plan *plan, const void *X, const void *Y, void *D,
                         cudaStream_t stream)
{
    const cusparse_state *s = plan->state;
    const size_t element = precision_format(plan->contender->base.precision)->bytes;
    CUSPARSE_TRY(cusparseSetStream(s->handle, stream));
    if (s->keeps_nan) CUDA_TRY(cudaMemsetAsync(D, 0, plan->W.nnz * element, stream));
    CUDA_TRY(multiply(plan, s->handle, &s->all, X, Y, D));
    CUDA_TRY(sampled_weigh(plan, D, stream));
    return cudaSuccess;
}

/* The library takes the elements' type from the descriptors. */
static cudaError_t run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream)
{
    return run16(plan, X, Y, D, stream);
}

static const char *unsuited(const problem *p)
{
    return p->A->nnz == 0 ? "the pattern is empty" : NULL;
}

/* Two letters name a way: N as it is, T transposed, of X and of Y. NT calls both matrices what they
 * are, stored by rows. */
#define WAY(letters, X_as, Y_as, suffix, with_preprocess, is_default)         \
    {                                                                         \
        .sddmm = {.base = {.name = "cuSPARSE SDDMM " letters suffix,          \
                           .vendor_default = is_default,                      \
                           .unsuited = unsuited},                             \
                  .prepare = prepare,                                         \
                  .run = run,                                                 \
                  .run16 = run16,                                             \
                  .release = release},                                        \
        .op_X = CUSPARSE_OPERATION_##X_as, .op_Y = CUSPARSE_OPERATION_##Y_as, \
        .preprocess = with_preprocess                                         \
    }
#define BOTH(letters, X_as, Y_as, is_default)        \
    WAY(letters, X_as, Y_as, "", false, is_default), \
        WAY(letters, X_as, Y_as, "+preprocess", true, false)

static const cusparse_contender WAYS[] = {
    BOTH("NT", NON_TRANSPOSE, TRANSPOSE, true),
    BOTH("NN", NON_TRANSPOSE, NON_TRANSPOSE, false),
    BOTH("TT", TRANSPOSE, TRANSPOSE, false),
    BOTH("TN", TRANSPOSE, NON_TRANSPOSE, false),
};

enum { NUM_WAYS = sizeof WAYS / sizeof WAYS[0] };

static const double SUMS_ROUNDED[NUM_PRECISIONS] = {
    [PRECISION_FP16] = FP16_SUMS_ROUNDED, [PRECISION_BF16] = BF16_SUMS_ROUNDED};

/* Each way in each precision. In 16 bits weights multiply what is rounded already: an error that is
 * within what sums_rounded.h allows. */
__attribute__((constructor)) static void register_cusparse_sddmm(void)
{
    static cusparse_contender all[NUM_PRECISIONS][NUM_WAYS];
    for (int p = 0; p < NUM_PRECISIONS; p++)
        for (int i = 0; i < NUM_WAYS; i++) {
            all[p][i] = WAYS[i];
            all[p][i].sddmm.base.precision = (enum precision)p;
            all[p][i].sddmm.base.bound_factor = SUMS_ROUNDED[p];
            /* Nobody says which units it takes in 16 bits. */
            if (p != PRECISION_FP32) all[p][i].sddmm.base.unit = UNIT_TENSOR_CORES;
            contender_register(&all[p][i].sddmm.base, &sddmm_operation);
        }
}
