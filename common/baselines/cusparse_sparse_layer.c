/*
 * cusparse_sparse_layer.c - a training step as a user of cuSPARSE puts it together: its SpMM, its product with the
 * transpose, its SDDMM, and an update. fp32 alone: the library's gradients would be fp16 where its products are.
 *
 * The plans are those of the contenders in cusparse.c, cusparse_transposed.c and cusparse_sddmm.c, found by their names.
 */
#include "baselines/layer_dense.h"
#include "baselines/vendor_named.h"
#include "device/cuda_try.h"
#include "ops/sddmm.h"
#include "ops/spmm.h"
#include "ops/transposed_spmm.h"

#include <stdlib.h>

typedef struct pipeline_contender {
    sparse_layer_contender layer;
    const char *forward, *transposed, *gradient; /* names of the library's contenders */
} pipeline_contender;

typedef struct pipeline {
    spmm_plan forward;
    transposed_spmm_plan transposed;
    sddmm_plan gradient;
    float *d_sum, *d_part; /* of gradients, and that of a time step */
} pipeline;

static void release(sparse_layer_plan *plan)
{
    pipeline *p = plan->state;
    if (!p) return;
    spmm_nested_release(&p->forward);
    transposed_spmm_release(&p->transposed);
    sddmm_nested_release(&p->gradient);
    cudaFree(p->d_sum);
    cudaFree(p->d_part);
    free(p);
    plan->state = NULL;
}

static cudaError_t fill(sparse_layer_plan *plan, pipeline *p)
{
    const pipeline_contender *self = (const pipeline_contender *)plan->contender;
    const contender *forward = vendor_named(&spmm_operation, self->forward, PRECISION_FP32);
    const contender *transposed =
        vendor_named(&transposed_spmm_operation, self->transposed, PRECISION_FP32);
    const contender *gradient = vendor_named(&sddmm_operation, self->gradient, PRECISION_FP32);
    const size_t bytes = (size_t)plan->W.nnz * sizeof(float) + 16;
    if (!forward || !transposed || !gradient) return cudaErrorNotSupported;
    CUDA_TRY(cudaMalloc((void **)&p->d_sum, bytes));
    CUDA_TRY(cudaMalloc((void **)&p->d_part, bytes));
    p->forward = (spmm_plan){.A = plan->W, .N = plan->N};
    CUDA_TRY(spmm_nest(&p->forward, spmm_of(forward), NULL, NULL));
    p->transposed = (transposed_spmm_plan){.A = plan->W, .N = plan->N};
    CUDA_TRY(transposed_spmm_prepare(&p->transposed, (const transposed_spmm_contender *)transposed,
                                     NULL));
    p->gradient = (sddmm_plan){.W = plan->W, .K = plan->N};
    p->gradient.W.d_values = NULL;
    return sddmm_nest(&p->gradient, sddmm_of(gradient), NULL);
}

static cudaError_t prepare(sparse_layer_plan *plan)
{
    pipeline *p = plan->state = calloc(1, sizeof *p);
    if (!p) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill(plan, p);
    if (error != cudaSuccess) release(plan);
    return error;
}

static cudaError_t run(const sparse_layer_plan *plan, const sparse_layer_inputs *in,
                       const sparse_layer_outputs *out, cudaStream_t stream)
{
    const pipeline *p = plan->state;
    for (int t = 0; t < plan->steps; t++) {
        float *to = t ? p->d_part : p->d_sum;
        CUDA_TRY(spmm_nested_run(&p->forward, in->X[t], out->Y[t], stream));
        CUDA_TRY(transposed_spmm_run(&p->transposed, in->dY[t], out->dX[t], stream));
        CUDA_TRY(sddmm_nested_run(&p->gradient, in->dY[t], in->X[t], to, stream));
        if (t) CUDA_TRY(layer_accumulate(plan, to, p->d_sum, stream));
    }
    return layer_update(plan, p->d_sum, false, out->W, stream);
}

static const char *unsuited(const problem *p)
{
    if (p->A->nnz == 0) return "W is empty";
    return problem_knob(p, KNOB_ORDERS) == 1 ? NULL : "cuSPARSE keeps W in one order";
}

#define PIPELINE(title, is_default, ...)                 \
    {                                                    \
        .layer = {.base = {.name = "cuSPARSE " title,    \
                           .vendor_default = is_default, \
                           .unsuited = unsuited},        \
                  .prepare = prepare,                    \
                  .run = run,                            \
                  .release = release},                   \
        __VA_ARGS__                                      \
    }

/* The defaults of all three products, and pipelines of those that have been the best ones. */
static pipeline_contender ways[] = {
    PIPELINE("step T", true, .forward = "cuSPARSE CSR_DEFAULT",
             .transposed = "cuSPARSE T CSR_DEFAULT", .gradient = "cuSPARSE SDDMM NT"),
    PIPELINE("step T ALG2+preprocess", false, .forward = "cuSPARSE CSR_ALG2+preprocess",
             .transposed = "cuSPARSE T CSR_ALG2+preprocess",
             .gradient = "cuSPARSE SDDMM NT+preprocess"),
    PIPELINE("step CSC ALG2+preprocess", false, .forward = "cuSPARSE CSR_ALG2+preprocess",
             .transposed = "cuSPARSE CSC CSR_ALG2+preprocess",
             .gradient = "cuSPARSE SDDMM NT+preprocess"),
    PIPELINE("step CSC ALG3+preprocess", false, .forward = "cuSPARSE CSR_ALG3+preprocess",
             .transposed = "cuSPARSE CSC CSR_ALG3+preprocess",
             .gradient = "cuSPARSE SDDMM TN+preprocess"),
};

__attribute__((constructor)) static void register_cusparse_sparse_layer(void)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        contender_register(&ways[i].layer.base, &sparse_layer_operation);
}
