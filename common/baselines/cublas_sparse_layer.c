/*
 * cublas_sparse_layer.c - a training step by dense products of NVIDIA's cuBLAS: W with its zeros, three GEMMs a time step,
 * and an update of the weights that are there. It shows at which sparsity leaving zeros out begins to pay in training.
 *
 * W with its zeros is what a step before has left: prepare and update_values make it. The dense copy of the new weights,
 * which the next step would need, is left out of the run, in the rival's favour. Gradients are fp32 in every precision,
 * and those of several time steps are summed by the GEMM itself (beta = 1).
 * Source: the cuBLAS documentation of cublasGemmEx, CUDA 12 and 13.
 */
#include "baselines/cublas_status.h"
#include "baselines/layer_dense.h"
#include "baselines/sums_rounded.h"

#include <stdlib.h>

/* Limit of a dense W: 32768 x 8192 in fp32 takes a quarter of it. */
static const double MOST_BYTES = 0x1p32;

typedef struct cublas_contender {
    sparse_layer_contender layer;
    cudaDataType type;
    cublasComputeType_t compute;
} cublas_contender;

typedef struct cublas_state {
    cublasHandle_t handle;
    void *d_W;         /* rows x cols, row-major, of the contender's precision */
    float *d_gradient; /* rows x cols, row-major */
} cublas_state;

static void release(sparse_layer_plan *plan)
{
    cublas_state *s = plan->state;
    if (!s) return;
    if (s->handle) cublasDestroy(s->handle);
    cudaFree(s->d_W);
    cudaFree(s->d_gradient);
    free(s);
    plan->state = NULL;
}

static cudaError_t update_values(sparse_layer_plan *plan)
{
    return layer_dense_fill(plan, ((cublas_state *)plan->state)->d_W);
}

static cudaError_t fill_state(sparse_layer_plan *plan, cublas_state *s)
{
    const size_t all = (size_t)plan->W.rows * plan->W.cols;
    CUBLAS_TRY(cublasCreate(&s->handle));
    CUDA_TRY(cudaMalloc(&s->d_W, all * precision_format(plan->contender->base.precision)->bytes));
    CUDA_TRY(cudaMalloc((void **)&s->d_gradient, all * sizeof(float)));
    return update_values(plan);
}

static cudaError_t prepare(sparse_layer_plan *plan)
{
    cublas_state *s = plan->state = calloc(1, sizeof *s);
    if (!s) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill_state(plan, s);
    if (error != cudaSuccess) release(plan);
    return error;
}

/* cuBLAS stores by columns, to which row-major arrays are their transposes: Y' = X' W', dX' = dY' W, G' = X dY'. Rows of X
 * and dY that are no numbers spoil more than the pattern's elements: see unsuited. */
static cudaError_t run(const sparse_layer_plan *plan, const sparse_layer_inputs *in,
                       const sparse_layer_outputs *out, cudaStream_t stream)
{
    static const float one = 1, zero = 0;
    const cublas_contender *self = (const cublas_contender *)plan->contender;
    const cublas_state *s = plan->state;
    const int rows = plan->W.rows, cols = plan->W.cols, N = plan->N;
    const cudaDataType type = self->type;
    CUBLAS_TRY(cublasSetStream(s->handle, stream));
    for (int t = 0; t < plan->steps; t++) {
        CUBLAS_TRY(cublasGemmEx(s->handle, CUBLAS_OP_N, CUBLAS_OP_N, N, rows, cols, &one, in->X[t],
                                type, N, s->d_W, type, cols, &zero, out->Y[t], type, N,
                                self->compute, CUBLAS_GEMM_DEFAULT));
        CUBLAS_TRY(cublasGemmEx(s->handle, CUBLAS_OP_N, CUBLAS_OP_T, N, cols, rows, &one, in->dY[t],
                                type, N, s->d_W, type, cols, &zero, out->dX[t], type, N,
                                self->compute, CUBLAS_GEMM_DEFAULT));
        CUBLAS_TRY(cublasGemmEx(s->handle, CUBLAS_OP_T, CUBLAS_OP_N, cols, rows, N, &one, in->X[t],
                                type, N, in->dY[t], type, N, t ? &one : &zero, s->d_gradient,
                                CUDA_R_32F, cols, self->compute, CUBLAS_GEMM_DEFAULT));
    }
    return layer_update(plan, s->d_gradient, true, out->W, stream);
}

static const char *unsuited(const problem *p)
{
    size_t room, total;
    const double bytes = (double)p->A->rows * (double)p->A->cols * 8;
    if (p->A->nnz == 0) return "W is empty";
    if (problem_knob(p, KNOB_ORDERS) != 1) return "a dense W has one order";
    if (p->stats.empty_rows || p->has_empty_column)
        return "rows of X or dY that hold no numbers would be multiplied by zeros";
    if (bytes > MOST_BYTES) return "W with its zeros is too large (more than 4 GiB)";
    if (cudaMemGetInfo(&room, &total) != cudaSuccess || bytes > (double)room / 4)
        return "W with its zeros would take more than a quarter of the free device memory";
    return NULL;
}

#define STEP(title, kind, where, data_type, compute_type, factor, capability) \
    {                                                                         \
        .layer = {.base = {.name = title " (dense)",                          \
                           .precision = PRECISION_##kind,                     \
                           .min_compute_capability = capability,              \
                           .unit = UNIT_##where,                              \
                           .dense = true,                                     \
                           .bound_factor = factor,                            \
                           .unsuited = unsuited},                             \
                  .prepare = prepare,                                         \
                  .run = run,                                                 \
                  .update_values = update_values,                             \
                  .release = release},                                        \
        .type = data_type, .compute = compute_type                            \
    }

/* Factors of the bound as in cublas.c. */
static cublas_contender steps[] = {
    STEP("cuBLAS SGEMM", FP32, CUDA_CORES, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1, 0),
    STEP("cuBLAS SGEMM TF32", FP32, TENSOR_CORES, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 0x1p13,
         80),
    STEP("cuBLAS GemmEx", FP16, TENSOR_CORES, CUDA_R_16F, CUBLAS_COMPUTE_32F, FP16_SUMS_ROUNDED, 0),
    STEP("cuBLAS GemmEx", BF16, TENSOR_CORES, CUDA_R_16BF, CUBLAS_COMPUTE_32F, BF16_SUMS_ROUNDED,
         80),
};

__attribute__((constructor)) static void register_cublas_sparse_layer(void)
{
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        contender_register(&steps[i].layer.base, &sparse_layer_operation);
}
