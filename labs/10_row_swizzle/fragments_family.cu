/*
 * fragments_family.cu - fragments for tensor cores as one of lab 10's kernels, in each precision.
 */
#include "device/half.cuh"
#include "fragments.h"

#include <stdlib.h>

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return fragments_run((const row_fragments<float> *)plan->state, plan, B, C, stream);
}

template <class T>
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    return fragments_run((const row_fragments<T> *)plan->state, plan, (const T *)B, (T *)C, stream);
}

template <class T> static void release(spmm_plan *plan)
{
    fragments_free((row_fragments<T> *)plan->state);
    free(plan->state);
}

template <class T> static cudaError_t prepare(spmm_plan *plan)
{
    row_fragments<T> *fragments = (row_fragments<T> *)calloc(1, sizeof *fragments);
    plan->state = fragments;
    if (!fragments) return cudaErrorMemoryAllocation;
    const fragment_shape asked = {.panel_rows = plan->tuning[FRAGMENTS_PANEL],
                                  .width = plan->tuning[FRAGMENTS_WIDTH],
                                  .splits = plan->tuning[FRAGMENTS_SPLIT]};
    const cudaError_t error = fragments_prepare(plan, &asked, fragments);
    plan->tuning[FRAGMENTS_PANEL] = fragments->shape.panel_rows;
    plan->tuning[FRAGMENTS_WIDTH] = fragments->shape.width;
    plan->tuning[FRAGMENTS_SPLIT] = fragments->shape.splits;
    if (error != cudaSuccess) free(fragments);
    return error;
}

static const spmm_contender in_fp32 = {
    .base = {.name = "fragments"},
    .prepare = prepare<float>,
    .run = run,
    .release = release<float>,
};

template <class T>
static constexpr spmm_contender IN_16_BITS = {
    .base = {.name = "fragments"},
    .prepare = prepare<T>,
    .run16 = run16<T>,
    .release = release<T>,
};

const spmm_contender *fragments_family(enum precision precision)
{
    return precision == PRECISION_FP32   ? &in_fp32
           : precision == PRECISION_FP16 ? &IN_16_BITS<__half>
                                         : &IN_16_BITS<__nv_bfloat16>;
}
