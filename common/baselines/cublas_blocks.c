/*
 * cublas_blocks.c - the dense products of cuBLAS and cuBLASLt beside the block-sparse ones: what the zeros between blocks
 * cost, and up to which density leaving them out pays.
 *
 * W stands with its zeros, as who multiplies densely keeps it: rebind makes that, no run does. The dense gradient is
 * formed whole, and a copy takes the blocks out of it, which is part of the run. cuBLASLt contends in 16 bits, with the
 * fastest of its algorithms (lt_product.h).
 * Source: the cuBLAS documentation of cublasGemmEx, CUDA 12 and 13.
 */
#include "baselines/block_forms.h"
#include "baselines/cublas_status.h"
#include "baselines/lt_product.h"
#include "baselines/sums_rounded.h"
#include "ops/bsmm_update.h"

#include <stdlib.h>

/* Arithmetic of a contender. */
typedef struct arithmetic {
    cudaDataType type;
    cublasComputeType_t compute;
    bool by_lt;
} arithmetic;

typedef struct product_contender {
    bsmm_contender bsmm;
    arithmetic how;
} product_contender;

typedef struct update_contender {
    bsmm_update_contender update;
    arithmetic how;
} update_contender;

typedef struct dense_state {
    cublasHandle_t handle; /* one of the two */
    lt_product *lt;
    block_form form;
    void *d_W; /* C x K, row-major */
} dense_state;

static void free_state(dense_state *s)
{
    if (!s) return;
    if (s->handle) cublasDestroy(s->handle);
    lt_product_destroy(s->lt);
    cudaFree(s->form.d_base);
    cudaFree(s->d_W);
    free(s);
}

/* gemm: the product by cuBLASLt, whose place in the list is *place; NULL: it is cuBLAS's. */
static cudaError_t fill_state(const block_layout *l, int block, enum precision precision,
                              const lt_gemm *gemm, int *place, dense_state *s)
{
    const size_t element = precision_format(precision)->bytes;
    const size_t bytes = (size_t)l->rows * l->cols * block * block * element;
    CUDA_TRY(block_form_dense(l, block, element, &s->form));
    CUDA_TRY(cudaMalloc(&s->d_W, bytes + 1));
    CUDA_TRY(cudaMemset(s->d_W, 0, bytes));
    if (!gemm) return cublas_as_cuda_error(cublasCreate(&s->handle));
    CUDA_TRY(lt_product_create(gemm, &s->lt));
    return lt_product_choose(s->lt, false, place);
}

static cudaError_t make_state(const block_layout *l, int block, enum precision precision,
                              const lt_gemm *gemm, int *place, void **state)
{
    dense_state *s = calloc(1, sizeof *s);
    if (!s) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill_state(l, block, precision, gemm, place, s);
    if (error != cudaSuccess) {
        free_state(s);
        s = NULL;
    }
    *state = s;
    return error;
}

/* ---- W^T x and W x ---------------------------------------------------------------------------- */

/* As run has it, token-major. */
static cudaError_t prepare(bsmm_plan *plan)
{
    const arithmetic how = ((const product_contender *)plan->contender)->how;
    const lt_gemm gemm = {.m = bsmm_outs(plan) * plan->block,
                          .n = plan->N,
                          .k = bsmm_ins(plan) * plan->block,
                          .transpose_A = plan->transposed,
                          .type = how.type,
                          .compute = how.compute,
                          .alpha = 1};
    return make_state(plan->layout, plan->block, plan->contender->base.precision,
                      how.by_lt ? &gemm : NULL, &plan->tuning[0], &plan->state);
}

static void release(bsmm_plan *plan)
{
    free_state(plan->state);
    plan->state = NULL;
}

static cudaError_t rebind(bsmm_plan *plan, const bsmm_inputs *in)
{
    const dense_state *s = plan->state;
    return block_form_scatter(&s->form, in->W, s->d_W, 0);
}

/* cuBLAS stores by columns, so it sees every row-major matrix transposed: W as K x C, feature-major X as N x C, token-major X as
 * C x N. So Y' = X' W'' of N x K feature-major, and Y' = W' X' of K x N token-major. */
static cudaError_t run(const bsmm_plan *plan, const bsmm_inputs *in, void *out, cudaStream_t stream)
{
    static const float one = 1, zero = 0;
    const arithmetic how = ((const product_contender *)plan->contender)->how;
    const dense_state *s = plan->state;
    const int ins = bsmm_ins(plan) * plan->block, outs = bsmm_outs(plan) * plan->block;
    const int N = plan->N, K = plan->layout->cols * plan->block;
    const bool token_major = plan->contender->base.precision != PRECISION_FP32;
    if (s->lt) return lt_product_run(s->lt, s->d_W, in->in, NULL, out, stream);
    CUBLAS_TRY(cublasSetStream(s->handle, stream));
    if (token_major)
        CUBLAS_TRY(cublasGemmEx(s->handle, plan->transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                                CUBLAS_OP_N, outs, N, ins, &one, s->d_W, how.type, K, in->in,
                                how.type, ins, &zero, out, how.type, outs, how.compute,
                                CUBLAS_GEMM_DEFAULT));
    else
        CUBLAS_TRY(cublasGemmEx(s->handle, CUBLAS_OP_N,
                                plan->transposed ? CUBLAS_OP_N : CUBLAS_OP_T, N, outs, ins, &one,
                                in->in, how.type, N, s->d_W, how.type, K, &zero, out, how.type, N,
                                how.compute, CUBLAS_GEMM_DEFAULT));
    return cudaSuccess;
}

static const char *unsuited(const problem *p)
{
    return block_dense_unsuited(p, problem_knob(p, BSMM_KNOB_BLOCK),
                                problem_knob(p, BSMM_KNOB_GATES));
}

/* ---- the gradient ------------------------------------------------------------------------------ */

/* As update_run has it, token-major and of one pair. */
static cudaError_t update_prepare(bsmm_update_plan *plan)
{
    const arithmetic how = ((const update_contender *)plan->contender)->how;
    const lt_gemm gemm = {.m = plan->layout->cols * plan->block,
                          .n = plan->layout->rows * plan->block,
                          .k = plan->N,
                          .transpose_B = true,
                          .type = how.type,
                          .compute = how.compute,
                          .alpha = plan->alpha};
    return make_state(plan->layout, plan->block, plan->contender->base.precision,
                      how.by_lt ? &gemm : NULL, &plan->tuning[0], &plan->state);
}

static void update_release(bsmm_update_plan *plan)
{
    free_state(plan->state);
    plan->state = NULL;
}

/* dW of C x K, seen as K x C: dY' X'' of each pair, added up in it. */
static cudaError_t form_dense(const bsmm_update_plan *plan, const bsmm_update_inputs *in,
                              cudaStream_t stream)
{
    const arithmetic how = ((const update_contender *)plan->contender)->how;
    const dense_state *s = plan->state;
    const size_t element = s->form.element;
    const int C = plan->layout->rows * plan->block, K = plan->layout->cols * plan->block;
    const int N = plan->N;
    const bool token_major = plan->contender->base.precision != PRECISION_FP32;
    if (s->lt) return lt_product_run(s->lt, in->dY, in->X, NULL, s->d_W, stream);
    CUBLAS_TRY(cublasSetStream(s->handle, stream));
    for (int p = 0; p < plan->pairs; p++) {
        const float beta = p > 0;
        const char *X = (const char *)in->X + element * p * C * N;
        const char *dY = (const char *)in->dY + element * p * K * N;
        CUBLAS_TRY(cublasGemmEx(s->handle, token_major ? CUBLAS_OP_N : CUBLAS_OP_T,
                                token_major ? CUBLAS_OP_T : CUBLAS_OP_N, K, C, N, &plan->alpha, dY,
                                how.type, token_major ? K : N, X, how.type, token_major ? C : N,
                                &beta, s->d_W, how.type, K, how.compute, CUBLAS_GEMM_DEFAULT));
    }
    return cudaSuccess;
}

static cudaError_t update_run(const bsmm_update_plan *plan, const bsmm_update_inputs *in, void *dW,
                              cudaStream_t stream)
{
    const dense_state *s = plan->state;
    CUDA_TRY(form_dense(plan, in, stream));
    return block_form_gather(&s->form, s->d_W, dW, stream);
}

static const char *update_unsuited(const problem *p)
{
    if (problem_knob(p, UPDATE_KNOB_BETA)) return "its gradient is formed apart: beta is 0";
    if (p->precision != PRECISION_FP32 && problem_knob(p, UPDATE_KNOB_PAIRS) > 1)
        return "in 16 bits it would round after each pair";
    return block_dense_unsuited(p, problem_knob(p, UPDATE_KNOB_BLOCK),
                                problem_knob(p, UPDATE_KNOB_GATES));
}

/* ---- all of them -------------------------------------------------------------------------------- */

#define BASE(title, kind, where, factor, capability, refuses, ...)                 \
    {                                                                              \
        .name = title " (dense)", .precision = PRECISION_##kind,                   \
        .min_compute_capability = capability, .unit = UNIT_##where, .dense = true, \
        .bound_factor = factor, .unsuited = refuses, __VA_ARGS__                   \
    }
#define PRODUCT(title, kind, where, factor, capability, how_, ...)                            \
    {                                                                                         \
        .bsmm = {.base = BASE(title, kind, where, factor, capability, unsuited, __VA_ARGS__), \
                 .prepare = prepare,                                                          \
                 .rebind = rebind,                                                            \
                 .run = run,                                                                  \
                 .release = release},                                                         \
        .how = how_                                                                           \
    }
#define UPDATE(title, kind, where, factor, capability, how_, ...)                                  \
    {                                                                                              \
        .update = {.base =                                                                         \
                       BASE(title, kind, where, factor, capability, update_unsuited, __VA_ARGS__), \
                   .prepare = update_prepare,                                                      \
                   .run = update_run,                                                              \
                   .release = update_release},                                                     \
        .how = how_                                                                                \
    }
#define BY(...)     \
    {               \
        __VA_ARGS__ \
    }
/* tf32 keeps 11 of 24 bits: cublas.c says where its factor comes from. */
#define ALL(KIND)                                                                     \
    KIND("cuBLAS SGEMM", FP32, CUDA_CORES, 1, 0, BY(CUDA_R_32F, CUBLAS_COMPUTE_32F)), \
        KIND("cuBLAS SGEMM TF32", FP32, TENSOR_CORES, 0x1p13, 80,                     \
             BY(CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32)),                           \
        KIND("cuBLAS GemmEx", FP16, TENSOR_CORES, FP16_SUMS_ROUNDED, 0,               \
             BY(CUDA_R_16F, CUBLAS_COMPUTE_32F)),                                     \
        KIND("cuBLAS GemmEx", BF16, TENSOR_CORES, BF16_SUMS_ROUNDED, 80,              \
             BY(CUDA_R_16BF, CUBLAS_COMPUTE_32F)),                                    \
        KIND("cuBLASLt", FP16, TENSOR_CORES, FP16_SUMS_ROUNDED, 80,                   \
             BY(CUDA_R_16F, CUBLAS_COMPUTE_32F, true), .tunables = LT_TUNABLES),      \
        KIND("cuBLASLt", BF16, TENSOR_CORES, BF16_SUMS_ROUNDED, 80,                   \
             BY(CUDA_R_16BF, CUBLAS_COMPUTE_32F, true), .tunables = LT_TUNABLES),

static product_contender products[] = {ALL(PRODUCT)};
static update_contender updates[] = {ALL(UPDATE)};

__attribute__((constructor)) static void register_cublas_blocks(void)
{
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        contender_register(&products[i].bsmm.base, &bsmm_operation);
    for (size_t i = 0; i < sizeof updates / sizeof updates[0]; i++)
        contender_register(&updates[i].update.base, &bsmm_update_operation);
}
