/*
 * new_values.c - contenders for the kernel matrix: formats that keep values, prepared while the values were
 * others, and given those of the problem afterwards.
 */
#include "device/cuda_try.h"
#include "ops/spmm.h"

static cudaError_t give_values(spmm_plan *plan, const void *d_values)
{
    const size_t bytes = plan->A.nnz * precision_format(plan->contender->base.precision)->bytes;
    CUDA_TRY(cudaMemcpy(plan->state, d_values, bytes, cudaMemcpyDeviceToDevice));
    return spmm_nested_update_values(plan);
}

static void release(spmm_plan *plan)
{
    spmm_nested_release(plan);
    cudaFree(plan->state);
}

static void set_values(spmm_plan *plan, const void *d_values)
{
    if (plan->contender->base.precision == PRECISION_FP32)
        plan->A.d_values = d_values;
    else
        plan->A.d_values16 = d_values;
}

/* plan->state: the values' place on the device. A matrix that the kernel cannot take is lab 8's, with the right
 * values from the beginning. */
static cudaError_t prepare(spmm_plan *plan, const char *name)
{
    const enum precision precision = plan->contender->base.precision;
    const bool is_fp32 = precision == PRECISION_FP32;
    const size_t bytes = plan->A.nnz * precision_format(precision)->bytes;
    const void *const d_values = is_fp32 ? plan->A.d_values : plan->A.d_values16;
    cudaError_t error;
    CUDA_TRY(cudaMalloc(&plan->state, bytes + 1));
    CUDA_TRY_GOTO(error, failed, cudaMemset(plan->state, 0x40, bytes));
    set_values(plan, plan->state);
    error = spmm_nest(plan, spmm_find(name, precision), NULL, NULL);
    if (error == cudaErrorNotSupported) {
        set_values(plan, d_values);
        CUDA_TRY_GOTO(error, failed, spmm_nest(plan, spmm_find("mixed", precision), NULL, NULL));
        return cudaSuccess;
    }
    CUDA_TRY_GOTO(error, failed, error);
    CUDA_TRY_GOTO(error, failed, give_values(plan, d_values));
    return cudaSuccess;
failed:
    release(plan);
    return error;
}

#define CONTENDER(format, number, kind, call)                      \
    static cudaError_t prepare_##format##_##kind(spmm_plan *plan)  \
    {                                                              \
        return prepare(plan, #format);                             \
    }                                                              \
    static spmm_contender later_##format##_##kind = {              \
        .base = {.lab = 200,                                       \
                 .after = number,                                  \
                 .name = #kind " " #format ", values given later", \
                 .precision = PRECISION_##kind,                    \
                 .min_compute_capability = 80},                    \
        .prepare = prepare_##format##_##kind,                      \
        .call = spmm_nested_##call,                                \
        .release = release,                                        \
    };                                                             \
    SPMM_REGISTER(later_##format##_##kind)

CONTENDER(b_tiles, 12, FP32, run)
CONTENDER(mixed, 8, FP16, run16)
CONTENDER(bitmap, 9, FP16, run16)
CONTENDER(bitmap, 9, BF16, run16)
CONTENDER(lane_major, 20, FP16, run16)
CONTENDER(tiled_csl, 23, FP16, run16)
CONTENDER(tiled_csl, 23, BF16, run16)
CONTENDER(two_four, 24, FP16, run16)
CONTENDER(two_four, 24, BF16, run16)
CONTENDER(row_fragments, 21, FP32, run)
CONTENDER(row_fragments, 21, FP16, run16)
CONTENDER(row_fragments, 21, BF16, run16)
