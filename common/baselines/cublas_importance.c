/*
 * cublas_importance.c - block importance with cuBLAS's product. What cuBLAS has no routine for, the reductions before it and
 * the rule for what is not finite after it, are plain kernels: who has cuBLAS alone writes such.
 *
 * Source: the cuBLAS documentation of cublasGemmEx, CUDA 12 and 13.
 */
#include "baselines/cublas_status.h"
#include "baselines/reduced_features.h"

#include <stdlib.h>

typedef struct cublas_importance {
    block_importance_contender contender;
    cudaDataType type;
} cublas_importance;

typedef struct reduced_state {
    cublasHandle_t handle;
    void *d_R[2]; /* of X and of dY, [tokens][lines] */
} reduced_state;

static int64_t all_tokens(const block_importance_plan *plan)
{
    return (int64_t)plan->pairs * plan->N;
}

static size_t reduced_bytes(const block_importance_plan *plan, int side)
{
    const int lines = side == 0 ? plan->layout->rows : plan->layout->cols;
    return (size_t)all_tokens(plan) * lines *
           precision_format(plan->contender->base.precision)->bytes;
}

static void release(block_importance_plan *plan)
{
    reduced_state *s = plan->state;
    if (!s) return;
    if (s->handle) cublasDestroy(s->handle);
    cudaFree(s->d_R[0]);
    cudaFree(s->d_R[1]);
    free(s);
    plan->state = NULL;
}

static cudaError_t fill(const block_importance_plan *plan, reduced_state *s)
{
    CUBLAS_TRY(cublasCreate(&s->handle));
    for (int side = 0; side < 2; side++)
        CUDA_TRY(cudaMalloc(&s->d_R[side], reduced_bytes(plan, side) + 1));
    return cudaSuccess;
}

static cudaError_t prepare(block_importance_plan *plan)
{
    plan->state = calloc(1, sizeof(reduced_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill(plan, plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

/* cuBLAS stores by columns, so it sees every row-major matrix transposed: R as lines x tokens, the importance as KB x CB. */
static cudaError_t run(const block_importance_plan *plan, const importance_inputs *in,
                       float *importance, float *norm, cudaStream_t stream)
{
    static const float zero = 0;
    const cudaDataType type = ((const cublas_importance *)plan->contender)->type;
    const reduced_state *s = plan->state;
    const int CB = plan->layout->rows, KB = plan->layout->cols;
    CUDA_TRY(reduced_weights(plan, in->W, norm, stream));
    if (CB == 0 || KB == 0) return cudaSuccess;
    CUDA_TRY(reduced_features(plan, in->X, CB, s->d_R[0], stream));
    CUDA_TRY(reduced_features(plan, in->dY, KB, s->d_R[1], stream));
    CUBLAS_TRY(cublasSetStream(s->handle, stream));
    CUBLAS_TRY(cublasGemmEx(s->handle, CUBLAS_OP_N, CUBLAS_OP_T, KB, CB, (int)all_tokens(plan),
                            &plan->scale, s->d_R[1], type, KB, s->d_R[0], type, CB, &zero,
                            importance, CUDA_R_32F, KB, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return finite_plus_old(importance, in->old, (int64_t)CB * KB, stream);
}

static size_t workspace_bytes(const block_importance_plan *plan)
{
    return reduced_bytes(plan, 0) + reduced_bytes(plan, 1);
}

static const char *unsuited(const problem *p)
{
    return (int64_t)p->width * problem_knob(p, IMPORTANCE_KNOB_PAIRS) > INT32_MAX
               ? "more tokens than an int counts"
               : NULL;
}

#define IMPORTANCE(title, kind, where, data_type, capability)        \
    {                                                                \
        .contender = {.base = {.name = title " + plain reductions",  \
                               .precision = PRECISION_##kind,        \
                               .min_compute_capability = capability, \
                               .unit = UNIT_##where,                 \
                               .vendor_default = true,               \
                               .unsuited = unsuited},                \
                      .prepare = prepare,                            \
                      .run = run,                                    \
                      .workspace_bytes = workspace_bytes,            \
                      .release = release},                           \
        .type = data_type                                            \
    }

static cublas_importance contenders_of_cublas[] = {
    IMPORTANCE("cuBLAS SGEMM", FP32, CUDA_CORES, CUDA_R_32F, 0),
    IMPORTANCE("cuBLAS GemmEx", FP16, TENSOR_CORES, CUDA_R_16F, 0),
    IMPORTANCE("cuBLAS GemmEx", BF16, TENSOR_CORES, CUDA_R_16BF, 80),
};

__attribute__((constructor)) static void register_cublas_importance(void)
{
    for (size_t i = 0; i < sizeof contenders_of_cublas / sizeof contenders_of_cublas[0]; i++)
        contender_register(&contenders_of_cublas[i].contender.base, &block_importance_operation);
}
