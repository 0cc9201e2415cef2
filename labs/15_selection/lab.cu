/*
 * Lab 15 - selection: which kernel for which matrix.
 *
 * Idea      No kernel of labs 6 to 14 is the fastest everywhere. Most have a model: an estimate of the
 *           time from the row lengths, N and the device's facts. The rule takes the least estimate
 *           (models/choice.h), and the next one where that kernel cannot take the matrix.
 * Changed   No kernel of its own: prepare makes a plan of the lab that was chosen.
 * Run       make lab15 && ./lab15 arxiv 32       ./lab15 ddi 32 --set KERNEL=roma
 * Watch     scripts/compare-choices holds the rule against an oracle that has tried everything.
 */
#include "models/choice.h"
#include "ops/spmm.h"

enum { TUNE_KERNEL };

/* KERNEL: 0 is the rule, the others are contenders by name. */
static const char *const KERNELS[] = {"rule",    "split_rows",    "roma",
                                      "subwarp", "row_swizzle",   "length_bins",
                                      "b_tiles", "column_blocks", "overlapped_blocks"};
static const char *const KERNELS_16[] = {"rule", "mixed"};

/* Leaves in plan->nested a plan of the best candidate that can take this matrix. */
static cudaError_t nest_by_rule(spmm_plan *plan)
{
    candidate list[MAX_CANDIDATES];
    const enum precision precision = plan->contender->base.precision;
    const int count = choice_candidates(&spmm_operation, precision, plan->A.stats, plan->N, list);
    cudaError_t error = cudaSuccess;
    /* BEGIN STUDENT: try the candidates, the least estimate first, until one takes the matrix */
    error = cudaErrorNotSupported;
    for (int i = 0; i < count && error == cudaErrorNotSupported; i++)
        error = spmm_nest(plan, spmm_of(list[i].contender), NULL, plan->d_row_order);
    /* END STUDENT */
    return error;
}

static cudaError_t prepare(spmm_plan *plan)
{
    const tunable *t = &plan->contender->base.tunables[TUNE_KERNEL];
    const int kernel = plan->tuning[TUNE_KERNEL];
    cudaError_t error = cudaErrorNotSupported;
    if (kernel) error = spmm_nest_named(plan, t->names[kernel], plan->d_row_order);
    if (error == cudaErrorNotSupported) error = nest_by_rule(plan);
    if (error == cudaSuccess) plan->tuning[TUNE_KERNEL] = spmm_nested_value(plan, t);
    return error;
}

#define SELECTION(title, kind, kernels)                                             \
    static spmm_contender title = {                                                 \
        .base = {.lab = 15,                                                         \
                 .after = 14,                                                       \
                 .name = #title,                                                    \
                 .summary = "the least estimate of all kernels' models",            \
                 .precision = kind,                                                 \
                 .tunables = {{.name = "KERNEL",                                    \
                               .meaning = "the rule's choice, or a kernel by name", \
                               .values = {0, 1, 2, 3, 4, 5, 6, 7, 8},               \
                               .num_values = sizeof kernels / sizeof *kernels,      \
                               .names = kernels}}},                                 \
        .prepare = prepare,                                                         \
        .run = spmm_nested_run,                                                     \
        .run16 = spmm_nested_run16,                                                 \
        .update_values = spmm_nested_update_values,                                 \
        .release = spmm_nested_release,                                             \
    };                                                                              \
    SPMM_REGISTER(title)

SELECTION(selection, PRECISION_FP32, KERNELS);
SELECTION(selection_fp16, PRECISION_FP16, KERNELS_16);
SELECTION(selection_bf16, PRECISION_BF16, KERNELS_16);
