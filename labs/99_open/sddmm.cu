/*
 * Lab 99's SDDMM: the fastest of labs 30 to 33, by the same rule as its SpMM.
 *
 * Run       ./lab99 arxiv 32 --op sddmm       ./lab99 ddi 128 --op sddmm --set KERNEL=sddmm_tiles
 */
#include "models/choice.h"
#include "ops/sddmm.h"

enum { TUNE_KERNEL };

/* KERNEL: 0 is the rule, the others are contenders by name. */
static const char *const KERNELS[] = {"rule", "sddmm_balanced", "sddmm_tiles", "sddmm_tensor_core"};

/* Leaves in plan->nested a plan of the best candidate that can take this pattern. */
static cudaError_t nest_by_rule(sddmm_plan *plan)
{
    candidate list[MAX_CANDIDATES];
    const enum precision precision = plan->contender->base.precision;
    const int count = choice_candidates(&sddmm_operation, precision, plan->W.stats, plan->K, list);
    cudaError_t error = cudaErrorNotSupported;
    for (int i = 0; i < count && error == cudaErrorNotSupported; i++)
        error = sddmm_nest(plan, sddmm_of(list[i].contender), NULL);
    return error;
}

static cudaError_t prepare(sddmm_plan *plan)
{
    const tunable *t = &plan->contender->base.tunables[TUNE_KERNEL];
    const int kernel = plan->tuning[TUNE_KERNEL];
    cudaError_t error = cudaErrorNotSupported;
    if (kernel) error = sddmm_nest_named(plan, t->names[kernel]);
    if (error == cudaErrorNotSupported) error = nest_by_rule(plan);
    if (error == cudaSuccess) plan->tuning[TUNE_KERNEL] = sddmm_nested_value(plan, t);
    return error;
}

#define OPEN(title, kind)                                                     \
    static sddmm_contender title = {                                          \
        .base = {.lab = 99,                                                   \
                 .after = 33,                                                 \
                 .name = #title,                                              \
                 .summary = "the fastest SDDMM, by the rule",                 \
                 .precision = kind,                                           \
                 .tunables = {{.name = "KERNEL",                              \
                               .meaning = "by the rule, or a kernel by name", \
                               .values = {0, 1, 2, 3},                        \
                               .num_values = 4,                               \
                               .names = KERNELS}}},                           \
        .prepare = prepare,                                                   \
        .run = sddmm_nested_run,                                              \
        .run16 = sddmm_nested_run16,                                          \
        .update_values = sddmm_nested_update_values,                          \
        .release = sddmm_nested_release,                                      \
    };                                                                        \
    SDDMM_REGISTER(title)

OPEN(open, PRECISION_FP32);
OPEN(open_fp16, PRECISION_FP16);
OPEN(open_bf16, PRECISION_BF16);
