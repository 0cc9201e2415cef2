/*
 * row_windows.c - contenders for the kernel matrix: lab 22 with settings that the matrix does not combine: tf32 with
 * a residual and an order, atomics on items of few runs, and fp32 whose long windows are cut; rows of B staged, and straight
 * to registers.
 */
#include "device/cuda_try.h"
#include "ops/spmm.h"

#define CONTENDER(name_, PRODUCT, WIDTH, DEPTH, STAGED, LONGEST, RESIDUAL, ORDER, ATOMICS, HOST) \
    static cudaError_t prepare_##name_(spmm_plan *plan)                                          \
    {                                                                                            \
        static const int tuning[MAX_TUNABLES] = {PRODUCT,  WIDTH, DEPTH,   STAGED, LONGEST,      \
                                                 RESIDUAL, ORDER, ATOMICS, HOST};                \
        return spmm_nest(plan, spmm_find("block_row_partition", PRECISION_FP32), tuning, NULL);  \
    }                                                                                            \
    static spmm_contender windows_##name_ = {                                                    \
        .base = {.lab = 122,                                                                     \
                 .after = 22,                                                                    \
                 .name = "row windows, " #name_,                                                 \
                 .min_compute_capability = 80},                                                  \
        .prepare = prepare_##name_,                                                              \
        .run = spmm_nested_run,                                                                  \
        .update_values = spmm_nested_update_values,                                              \
        .release = spmm_nested_release,                                                          \
    };                                                                                           \
    SPMM_REGISTER(windows_##name_)

CONTENDER(tf32_residual_by_length, 1, 32, 4, 1, 8, 1, 1, 0, 0)
CONTENDER(tf32_wide_by_column, 1, 128, 2, 0, 8, 0, 2, 0, 1)
CONTENDER(tf32_atomics_a_group, 1, 32, 4, 0, 8, 1, 0, 2, 0)
CONTENDER(fp32_cut_windows, 0, 64, 4, 1, 8, 1, 0, 0, 1)
CONTENDER(fp32_atomics_an_item, 0, 32, 1, 0, 8, 0, 1, 1, 0)
