/*
 * cusparse_attention.c - attention as a user of cuSPARSE puts it together: its SDDMM, a softmax, its SpMM. The library
 * has no softmax over a pattern, so that of lab 34 stands between both. Heads are one pattern with H times the rows
 * (formats/head_pattern.h), which gives the library one call in place of H.
 *
 * The plans are those of the contenders in cusparse_sddmm.c and cusparse.c, found by their names.
 */
#include "baselines/sums_rounded.h"
#include "baselines/vendor_named.h"
#include "device/cuda_try.h"
#include "formats/head_pattern.h"
#include "ops/attention.h"
#include "ops/sddmm.h"
#include "ops/softmax.h"
#include "ops/spmm.h"

#include <stdlib.h>

typedef struct pipeline_contender {
    attention_contender attention;
    const char *scores, *sum; /* names of the library's contenders */
} pipeline_contender;

typedef struct pipeline {
    head_pattern *pattern;
    sddmm_plan scores;
    softmax_plan softmax;
    spmm_plan sum;
    void *d_shares; /* first scores, then shares */
} pipeline;

static void release(attention_plan *plan)
{
    pipeline *p = plan->state;
    if (!p) return;
    sddmm_nested_release(&p->scores);
    softmax_release(&p->softmax);
    spmm_nested_release(&p->sum);
    cudaFree(p->d_shares);
    head_pattern_free(p->pattern);
    free(p);
    plan->state = NULL;
}

static size_t shares_bytes(const attention_plan *plan)
{
    const size_t element = precision_format(plan->contender->base.precision)->bytes;
    return (size_t)plan->A.nnz * plan->heads * element;
}

static cudaError_t fill(attention_plan *plan, pipeline *p)
{
    const pipeline_contender *self = (const pipeline_contender *)plan->contender;
    const enum precision precision = plan->contender->base.precision;
    const contender *scores = vendor_named(&sddmm_operation, self->scores, precision);
    const contender *sum = vendor_named(&spmm_operation, self->sum, precision);
    const softmax_contender *softmax = softmax_find("sparse_softmax", precision);
    if (!scores || !sum || !softmax) return cudaErrorNotSupported;
    CUDA_TRY(head_pattern_build(&plan->A, plan->heads, &p->pattern));
    CUDA_TRY(cudaMalloc(&p->d_shares, shares_bytes(plan) + 16));
    CUDA_TRY(cudaMemset(p->d_shares, 0, shares_bytes(plan)));
    p->scores = (sddmm_plan){.W = p->pattern->A, .K = plan->d};
    CUDA_TRY(sddmm_nest(&p->scores, sddmm_of(scores), NULL));
    p->softmax = (softmax_plan){.A = plan->A, .H = plan->heads, .scale = plan->scale};
    CUDA_TRY(softmax_prepare(&p->softmax, softmax));
    p->sum = (spmm_plan){.A = p->pattern->A, .N = plan->d};
    if (precision == PRECISION_FP32)
        p->sum.A.d_values = p->d_shares;
    else
        p->sum.A.d_values16 = p->d_shares;
    return spmm_nest(&p->sum, spmm_of(sum), NULL, NULL);
}

static cudaError_t prepare(attention_plan *plan)
{
    pipeline *p = plan->state = calloc(1, sizeof *p);
    if (!p) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill(plan, p);
    if (error != cudaSuccess) release(plan);
    return error;
}

static cudaError_t run(const attention_plan *plan, const attention_inputs *in, void *O, float *lse,
                       cudaStream_t stream)
{
    const pipeline *p = plan->state;
    if (plan->contender->base.precision == PRECISION_FP32) {
        CUDA_TRY(sddmm_nested_run(&p->scores, in->Q, in->K, p->d_shares, stream));
        CUDA_TRY(softmax_run(&p->softmax, p->d_shares, p->d_shares, lse, stream));
        return spmm_nested_run(&p->sum, in->V, O, stream);
    }
    CUDA_TRY(sddmm_nested_run16(&p->scores, in->Q, in->K, p->d_shares, stream));
    CUDA_TRY(softmax_run(&p->softmax, p->d_shares, p->d_shares, lse, stream));
    return spmm_nested_run16(&p->sum, in->V, O, stream);
}

/* Nothing is kept of the bias, which the softmax adds. */
static cudaError_t update_values(attention_plan *plan)
{
    (void)plan;
    return cudaSuccess;
}

static size_t workspace_bytes(const attention_plan *plan)
{
    return head_pattern_bytes(((const pipeline *)plan->state)->pattern) + shares_bytes(plan);
}

static const char *unsuited(const problem *p)
{
    if (p->A->nnz == 0) return "the pattern is empty";
    return problem_knob(p, KNOB_MODE) == ATTENTION_DOT ? NULL
                                                       : "cuSPARSE has scores of mode dot alone";
}

#define PIPELINE(way, algorithm, is_default)                          \
    {                                                                 \
        .attention = {.base = {.name = "cuSPARSE " way " " algorithm, \
                               .vendor_default = is_default,          \
                               .unsuited = unsuited},                 \
                      .prepare = prepare,                             \
                      .run = run,                                     \
                      .update_values = update_values,                 \
                      .workspace_bytes = workspace_bytes,             \
                      .release = release},                            \
        .scores = "cuSPARSE SDDMM " way, .sum = "cuSPARSE " algorithm \
    }

/* Two of the ways to describe X and Y, as they lie there and transposed, by every SpMM that has been a best one. */
static const pipeline_contender WAYS[] = {
    PIPELINE("NT", "CSR_DEFAULT", true),
    PIPELINE("NT+preprocess", "CSR_ALG2+preprocess", false),
    PIPELINE("NT+preprocess", "CSR_ALG3+preprocess", false),
    PIPELINE("NT+preprocess", "CSR_ALG3", false),
    PIPELINE("NT+preprocess", "COO_ALG4", false),
    PIPELINE("TN+preprocess", "CSR_ALG3+preprocess", false),
};

enum { NUM_WAYS = sizeof WAYS / sizeof WAYS[0] };

static const double SUMS_ROUNDED[NUM_PRECISIONS] = {
    [PRECISION_FP16] = FP16_SUMS_ROUNDED, [PRECISION_BF16] = BF16_SUMS_ROUNDED};

__attribute__((constructor)) static void register_cusparse_attention(void)
{
    static pipeline_contender all[NUM_PRECISIONS][NUM_WAYS];
    for (int p = 0; p < NUM_PRECISIONS; p++)
        for (int i = 0; i < NUM_WAYS; i++) {
            contender *const c = &all[p][i].attention.base;
            all[p][i] = WAYS[i];
            c->precision = (enum precision)p;
            c->bound_factor = SUMS_ROUNDED[p];
            /* Nobody says which units it takes in 16 bits. */
            if (p != PRECISION_FP32) c->unit = UNIT_TENSOR_CORES;
            contender_register(c, &attention_operation);
        }
}
