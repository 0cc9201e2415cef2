/*
 * Lab 10 - row swizzle: rows in the order of their length, the longest first.
 *
 * Idea      Rows that share a warp are then alike, so no lane group waits for another. The last blocks
 *           to start are short ones, so the GPU runs out of work everywhere at the same time.
 * Changed   No kernel is touched: prepare sorts row numbers on the GPU (formats/row_order.h), and makes
 *           a plan of an earlier lab with them. Each row is still stored at its own place.
 * Run       make lab10 && ./lab10 arxiv 32       ./lab10 arxiv 32 --set KERNEL=subwarp,SWIZZLE=0
 * Watch     make scheduler ARGS="balance ddi": what the order does to the last wave of blocks.
 * Paper     T. Gale, M. Zaharia, C. Young, E. Elsen: Sparse GPU Kernels for Deep Learning, SC 2020
 */
#include "device/cuda_try.h"
#include "formats/row_order.h"
#include "models/binned_rows.h"
#include "models/whole_rows.h"
#include "ops/spmm.h"

enum { TUNE_KERNEL, TUNE_SWIZZLE };

/* KERNEL: earlier labs' contenders by name; these take rows in the order of a plan. */
static const char *const KERNELS[] = {"subwarp", "roma"};
static const char *const KERNELS_16[] = {"mixed"};

/* Values of SWIZZLE beside 0, rows as they come: all rows by length, or a window of rows at a time. */
enum swizzle { SWIZZLE_ALL = 1, SWIZZLE_WINDOW = 4096 };

static void release(spmm_plan *plan)
{
    spmm_nested_release(plan);
    cudaFree(plan->state); /* the order of the rows */
}

static cudaError_t prepare(spmm_plan *plan)
{
    const tunable *kernels = &plan->contender->base.tunables[TUNE_KERNEL];
    const char *kernel = kernels->names[plan->tuning[TUNE_KERNEL]];
    const int rows = plan->A.rows;
    int &swizzle = plan->tuning[TUNE_SWIZZLE];
    int *d_row_order = NULL;
    cudaError_t error;
    if (swizzle > SWIZZLE_ALL && swizzle >= rows) swizzle = SWIZZLE_ALL; /* one window */
    /* BEGIN STUDENT: order the rows by length, in the whole matrix or in windows; then nest a plan */
    if (swizzle && rows > 0) {
        const int window = swizzle == SWIZZLE_ALL ? 0 : swizzle;
        CUDA_TRY_GOTO(error, failed, cudaMalloc((void **)&d_row_order, rows * sizeof(int)));
        CUDA_TRY_GOTO(error, failed, row_order_by_length(&plan->A, window, d_row_order));
    }
    CUDA_TRY_GOTO(error, failed, spmm_nest_named(plan, kernel, d_row_order));
    /* END STUDENT */
    plan->state = d_row_order;
    return cudaSuccess;
failed:
    cudaFree(d_row_order);
    return error;
}

/* Takes the kernel that walks whole rows the fastest, by its model. All rows are sorted: but of long rows only
 * neighbours, which are likely to name the same rows of B. */
static void choose(const row_stats *stats, int N, int *tuning)
{
    tuning[TUNE_KERNEL] = subwarp_estimate(stats, N) <= roma_estimate(stats, N) ? 0 : 1;
    const bool in_windows = !rows_are_dense(stats) && rows_are_long(stats);
    tuning[TUNE_SWIZZLE] = in_windows ? SWIZZLE_WINDOW : SWIZZLE_ALL;
}

static void choose_16(const row_stats *stats, int N, int *tuning)
{
    choose(stats, N, tuning);
    tuning[TUNE_KERNEL] = 0;
}

#define ROW_SWIZZLE(title, kind, kernels, chooses, estimates)                  \
    static spmm_contender title = {                                            \
        .base = {.lab = 10,                                                    \
                 .after = 7,                                                   \
                 .name = #title,                                               \
                 .summary = "rows by length for an earlier lab's kernel",      \
                 .precision = kind,                                            \
                 .tunables = {{.name = "KERNEL",                               \
                               .meaning = "the lab whose kernel runs",         \
                               .values = {0, 1},                               \
                               .num_values = sizeof kernels / sizeof *kernels, \
                               .names = kernels},                              \
                              {"SWIZZLE",                                      \
                               "rows by length: 0 no, 1 all, 4096 in windows", \
                               {0, SWIZZLE_ALL, SWIZZLE_WINDOW},               \
                               3}}},                                           \
        .choose = chooses,                                                     \
        .estimate = estimates,                                                 \
        .prepare = prepare,                                                    \
        .run = spmm_nested_run,                                                \
        .run16 = spmm_nested_run16,                                            \
        .update_values = spmm_nested_update_values,                            \
        .release = release,                                                    \
    };                                                                         \
    SPMM_REGISTER(title)

ROW_SWIZZLE(row_swizzle, PRECISION_FP32, KERNELS, choose, swizzled_estimate);
ROW_SWIZZLE(row_swizzle_fp16, PRECISION_FP16, KERNELS_16, choose_16, NULL);
ROW_SWIZZLE(row_swizzle_bf16, PRECISION_BF16, KERNELS_16, choose_16, NULL);
