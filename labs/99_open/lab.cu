/*
 * Lab 99 - open: the fastest SpMM of the suite, and room for yours.
 *
 * Idea      Every kernel of the labs is in this program's registry, those on tensor cores too. The rule
 *           of lab 15 now chooses among all of them. A kernel of your own joins them with one file.
 * Changed   No kernel of its own: prepare makes a plan of another lab's contender, found by its name.
 * Run       make lab99 && ./lab99 arxiv 32       ./lab99 ddi 256 --set KERNEL=length_bins
 * Watch     The leaderboard (leaderboard.md) has the labs, the vendor's library and rivals.
 */
#include "ops/spmm.h"

enum { TUNE_KERNEL };

/* KERNEL: 0 is the rule of lab 15, the others are contenders by name. */
static const char *const KERNELS[] = {
    "selection", "roma",          "subwarp",           "row_swizzle",  "length_bins",
    "b_tiles",   "column_blocks", "overlapped_blocks", "row_fragments"};
static const char *const KERNELS_16[] = {"selection", "mixed", "bitmap", "lane_major",
                                         "row_fragments"};

static cudaError_t prepare(spmm_plan *plan)
{
    const tunable *t = &plan->contender->base.tunables[TUNE_KERNEL];
    cudaError_t error = cudaSuccess;
    /* BEGIN STUDENT: the kernel of your choice, and the rule's where that cannot take the matrix */
    const char *name = t->names[plan->tuning[TUNE_KERNEL]];
    error = spmm_nest_named(plan, name, plan->d_row_order);
    if (error == cudaErrorNotSupported)
        error = spmm_nest_named(plan, "selection", plan->d_row_order);
    /* END STUDENT */
    if (error == cudaSuccess) plan->tuning[TUNE_KERNEL] = spmm_nested_value(plan, t);
    return error;
}

#define OPEN(title, kind, kernels)                                                       \
    static spmm_contender title = {                                                      \
        .base = {.lab = 99,                                                              \
                 .after = 15,                                                            \
                 .name = #title,                                                         \
                 .summary = "the fastest of all kernels, by the rule",                   \
                 .precision = kind,                                                      \
                 .tunables = {{.name = "KERNEL",                                         \
                               .meaning = "selection: by the rule; or a kernel by name", \
                               .values = {0, 1, 2, 3, 4, 5, 6, 7, 8},                    \
                               .num_values = sizeof kernels / sizeof *kernels,           \
                               .names = kernels}}},                                      \
        .prepare = prepare,                                                              \
        .run = spmm_nested_run,                                                          \
        .run16 = spmm_nested_run16,                                                      \
        .update_values = spmm_nested_update_values,                                      \
        .release = spmm_nested_release,                                                  \
    };                                                                                   \
    SPMM_REGISTER(title)

OPEN(open, PRECISION_FP32, KERNELS);
OPEN(open_fp16, PRECISION_FP16, KERNELS_16);
OPEN(open_bf16, PRECISION_BF16, KERNELS_16);
