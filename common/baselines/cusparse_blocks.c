/*
 * cusparse_blocks.c - cuSPARSE's two formats of blocks as contenders for block-sparse products: BSR, and Blocked-ELL, whose
 * rows of blocks all have as many as the fullest.
 *
 * The sparse matrix of a product has a row for each feature that comes out: W^T in fprop, W in bprop. Its blocks are
 * copied into the library's order by rebind; a run is cusparseSpMM alone. Types that the library refuses are skips.
 * Source: the cuSPARSE documentation of cusparseSpMM, generic API, CUDA 13.
 */
#include "baselines/block_forms.h"
#include "baselines/cusparse_status.h"
#include "baselines/sums_rounded.h"

#include <stdlib.h>

/* BSR came to cusparseSpMM with CUDA 13. */
#if CUSPARSE_VER_MAJOR * 100 + CUSPARSE_VER_MINOR >= 1206

typedef struct cusparse_contender {
    bsmm_contender bsmm;
    bool ell;
} cusparse_contender;

typedef struct blocks_state {
    cusparseHandle_t handle;
    cusparseSpMatDescr_t A;
    cusparseDnMatDescr_t in, out;
    block_form form;
    int *d_ptr, *d_col; /* BSR: offsets of rows of blocks; of both formats: columns of blocks */
    void *d_values, *buffer;
} blocks_state;

static const float ONE = 1, ZERO = 0;

static void release(bsmm_plan *plan)
{
    blocks_state *s = plan->state;
    if (!s) return;
    if (s->A) cusparseDestroySpMat(s->A);
    if (s->in) cusparseDestroyDnMat(s->in);
    if (s->out) cusparseDestroyDnMat(s->out);
    if (s->handle) cusparseDestroy(s->handle);
    cudaFree(s->form.d_base);
    cudaFree(s->d_ptr);
    cudaFree(s->d_col);
    cudaFree(s->d_values);
    cudaFree(s->buffer);
    free(s);
    plan->state = NULL;
}

/* The layout by rows of what comes out. */
typedef struct rows_of_blocks {
    int rows, cols, widest;
    const int *ptr, *block, *input;
} rows_of_blocks;

static rows_of_blocks rows_of(const bsmm_plan *plan)
{
    const block_layout *l = plan->layout;
    const bool t = plan->transposed;
    rows_of_blocks r = {.rows = bsmm_outs(plan),
                        .cols = bsmm_ins(plan),
                        .ptr = t ? l->row_ptr : l->col_ptr,
                        .block = t ? l->of_row : l->of_col,
                        .input = t ? l->col : l->row};
    for (int i = 0; i < r.rows; i++)
        if (r.ptr[i + 1] - r.ptr[i] > r.widest) r.widest = r.ptr[i + 1] - r.ptr[i];
    return r;
}

/* Fills where each block goes, and the columns of the format: a row of Blocked-ELL is padded with -1. */
static void fill_places(const bsmm_plan *plan, const rows_of_blocks *r, bool ell, int64_t *base,
                        int *col)
{
    const int64_t B = plan->block, wide = r->widest;
    for (int64_t i = 0; ell && i < r->rows * wide; i++)
        col[i] = -1;
    for (int64_t i = 0; i < r->rows; i++)
        for (int k = r->ptr[i]; k < r->ptr[i + 1]; k++) {
            const int64_t slot = k - r->ptr[i];
            const int b = r->block[k];
            col[ell ? i * wide + slot : k] = r->input[b];
            base[b] = ell ? (i * B * wide + slot) * B : k * B * B;
        }
}

/* Sets how elements of a block lie: a row is a feature that comes out, in both formats. BSR_ALG1 takes no other order. A
 * block of ours has a row an input feature, so that of W^T, in fprop, is turned. */
static cudaError_t make_form(const bsmm_plan *plan, const rows_of_blocks *r, bool ell,
                             blocks_state *s)
{
    const int B = plan->block, blocks = plan->layout->blocks;
    const size_t element = precision_format(plan->contender->base.precision)->bytes;
    const size_t cols = ell ? (size_t)r->rows * r->widest : (size_t)blocks;
    const size_t values = cols * B * B * element;
    int64_t *base = malloc(((size_t)blocks + 1) * sizeof *base);
    int *col = malloc((cols + 1) * sizeof *col);
    cudaError_t error = base && col ? cudaSuccess : cudaErrorMemoryAllocation;
    const int64_t pitch = ell ? (int64_t)r->widest * B : B;
    s->form = (block_form){
        element, blocks, B, plan->transposed ? pitch : 1, plan->transposed ? 1 : pitch, NULL};
    if (error == cudaSuccess) fill_places(plan, r, ell, base, col);
    if (error == cudaSuccess)
        error = block_form_upload(base, blocks * sizeof *base, (void **)&s->form.d_base);
    if (error == cudaSuccess)
        error = block_form_upload(col, cols * sizeof *col, (void **)&s->d_col);
    if (error == cudaSuccess)
        error = block_form_upload(r->ptr, (r->rows + 1) * sizeof *r->ptr, (void **)&s->d_ptr);
    free(base);
    free(col);
    if (error != cudaSuccess) return error;
    CUDA_TRY(cudaMalloc(&s->d_values, values + 1));
    return cudaMemset(s->d_values, 0, values);
}

/* Features as the library sees them: `lines` features of N tokens, in rows or in columns. */
static cudaError_t describe_features(const bsmm_plan *plan, int lines, void *at,
                                     cusparseDnMatDescr_t *d)
{
    const enum precision precision = plan->contender->base.precision;
    const bool token_major = precision != PRECISION_FP32;
    const int64_t features = (int64_t)lines * plan->block;
    CUSPARSE_TRY(cusparseCreateDnMat(d, features, plan->N, token_major ? features : plan->N, at,
                                     cusparse_type(precision),
                                     token_major ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW));
    return cudaSuccess;
}

static cusparseSpMMAlg_t algorithm_of(const bsmm_plan *plan)
{
    return ((const cusparse_contender *)plan->contender)->ell ? CUSPARSE_SPMM_BLOCKED_ELL_ALG1
                                                              : CUSPARSE_SPMM_BSR_ALG1;
}

static cudaError_t fill(const bsmm_plan *plan, blocks_state *s)
{
    const bool ell = ((const cusparse_contender *)plan->contender)->ell;
    const cudaDataType type = cusparse_type(plan->contender->base.precision);
    const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const rows_of_blocks r = rows_of(plan);
    const int B = plan->block;
    size_t bytes;
    CUSPARSE_TRY(cusparseCreate(&s->handle));
    CUDA_TRY(make_form(plan, &r, ell, s));
    if (ell)
        CUSPARSE_TRY(cusparseCreateBlockedEll(&s->A, (int64_t)r.rows * B, (int64_t)r.cols * B, B,
                                              (int64_t)r.widest * B, s->d_col, s->d_values,
                                              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    else
        CUSPARSE_TRY(cusparseCreateBsr(&s->A, r.rows, r.cols, plan->layout->blocks, B, B, s->d_ptr,
                                       s->d_col, s->d_values, CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type,
                                       CUSPARSE_ORDER_ROW));
    /* run sets the real features; until then any device address stands for them */
    CUDA_TRY(describe_features(plan, r.cols, s->d_values, &s->in));
    CUDA_TRY(describe_features(plan, r.rows, s->d_values, &s->out));
    CUSPARSE_TRY(cusparseSpMM_bufferSize(s->handle, as_is, as_is, &ONE, s->A, s->in, &ZERO, s->out,
                                         CUDA_R_32F, algorithm_of(plan), &bytes));
    return cudaMalloc(&s->buffer, bytes + 1);
}

static cudaError_t prepare(bsmm_plan *plan)
{
    plan->state = calloc(1, sizeof(blocks_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill(plan, plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

static cudaError_t rebind(bsmm_plan *plan, const bsmm_inputs *in)
{
    const blocks_state *s = plan->state;
    return block_form_scatter(&s->form, in->W, s->d_values, 0);
}

static cudaError_t run(const bsmm_plan *plan, const bsmm_inputs *in, void *out, cudaStream_t stream)
{
    const blocks_state *s = plan->state;
    CUSPARSE_TRY(cusparseSetStream(s->handle, stream));
    CUSPARSE_TRY(cusparseDnMatSetValues(s->in, (void *)in->in));
    CUSPARSE_TRY(cusparseDnMatSetValues(s->out, out));
    CUSPARSE_TRY(cusparseSpMM(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                              CUSPARSE_OPERATION_NON_TRANSPOSE, &ONE, s->A, s->in, &ZERO, s->out,
                              CUDA_R_32F, algorithm_of(plan), s->buffer));
    return cudaSuccess;
}

/* BSR: offsets and columns. Blocked-ELL: columns of all places; its zeros it may leave unread. */
static size_t format_bytes(const bsmm_plan *plan)
{
    const rows_of_blocks r = rows_of(plan);
    const bool ell = ((const cusparse_contender *)plan->contender)->ell;
    return sizeof(int) *
           (ell ? (size_t)r.rows * r.widest : (size_t)r.rows + 1 + plan->layout->blocks);
}

static const char *unsuited(const problem *p)
{
    if (p->A->nnz == 0) return "the layout is empty";
    return problem_knob(p, BSMM_KNOB_GATES) ? "cuSPARSE has no gates" : NULL;
}

static const cusparse_contender FORMATS[] = {
    {.bsmm = {.base = {.name = "cuSPARSE BSR_ALG1", .vendor_default = true}}},
    {.bsmm = {.base = {.name = "cuSPARSE BLOCKED_ELL_ALG1"}}, .ell = true},
};
enum { NUM_FORMATS = sizeof FORMATS / sizeof FORMATS[0] };

static const double SUMS_ROUNDED[NUM_PRECISIONS] = {
    [PRECISION_FP16] = FP16_SUMS_ROUNDED, [PRECISION_BF16] = BF16_SUMS_ROUNDED};

__attribute__((constructor)) static void register_cusparse_blocks(void)
{
    static cusparse_contender all[NUM_PRECISIONS][NUM_FORMATS];
    for (int p = 0; p < NUM_PRECISIONS; p++)
        for (int i = 0; i < NUM_FORMATS; i++) {
            bsmm_contender *const c = &all[p][i].bsmm;
            all[p][i] = FORMATS[i];
            c->base.precision = (enum precision)p;
            c->base.bound_factor = SUMS_ROUNDED[p];
            c->base.unsuited = unsuited;
            /* Nobody says which units it takes in 16 bits. Of fp32 operands Blocked-ELL reads tf32: cublas.c says where
             * the factor comes from. */
            if (p != PRECISION_FP32 || FORMATS[i].ell) c->base.unit = UNIT_TENSOR_CORES;
            if (p == PRECISION_FP32 && FORMATS[i].ell) c->base.bound_factor = 0x1p13;
            c->prepare = prepare;
            c->rebind = rebind;
            c->run = run;
            c->format_bytes = format_bytes;
            c->release = release;
            contender_register(&c->base, &bsmm_operation);
        }
}

#endif
