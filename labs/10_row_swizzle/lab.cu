/*
 * Lab 10 - row swizzle and choice: which rows go together, and which kernel they go to.
 *
 * Idea      Swizzle: the rows in order of their length, longest first. Rows that share a warp are
 *           then alike, and the last blocks to start are short ones (row_order.cu).
 *           Bins: once alike rows lie together, each length gets the lanes it deserves (bins.cu).
 *           Choice: a rule picks family and settings from the row lengths and N (choice.h).
 * Changed   No kernel of labs 5 to 7 is touched: this lab prepares a plan of theirs with an order of
 *           the rows. The bins are new: one launch, no atomics on floats, the same sums every time.
 * Run       make lab10 && ./lab10 arxiv 32       ./lab10 arxiv 32 --set FAMILY=7,SWIZZLE=0
 * Watch     Where a row is split, whoever comes last adds up; where rows are short, nobody waits for
 *           the place of a row before fetching its nonzeros.
 * Paper     T. Gale, M. Zaharia, C. Young, E. Elsen: Sparse GPU Kernels for Deep Learning, SC 2020
 */
#include "bins.h"
#include "choice.h"
#include "device/cuda_try.h"
#include "fragments.h"
#include "ops/spmm.h"
#include "row_order.h"
#include "tile.h"

#include <stdlib.h>
#include <string.h>

/* A plan of the family's own, which this lab's plan carries. */
typedef struct inner {
    spmm_plan plan;
    int *d_row_order; /* what plan.d_row_order points to; NULL: rows as they come */
} inner;

/* The SpMM of that lab in the plan's precision, if this program has it. */
static const spmm_contender *contender_of_lab(const spmm_plan *plan, int lab)
{
    const enum precision precision = plan->contender->base.precision;
    for (const contender *c = contenders(); c; c = c->next)
        if (c->lab == lab && c->operation == &spmm_operation && c->precision == precision)
            return (const spmm_contender *)c; /* of which c is the first member */
    return NULL;
}

/* Bins store pairs in whole rounds and packets, by int: at most twice the nonzeros, and 32 a row. */
static bool bins_can_hold(const spmm_matrix &A)
{
    return 2 * (int64_t)A.nnz + 32 * (int64_t)A.rows < INT32_MAX;
}

/* Whose kernel the plan is to run; replaces a choice that cannot be had. NULL if nothing is left, which is
 * so in 16 bits without lab 8. */
static const spmm_contender *family_of(spmm_plan *plan)
{
    const enum precision precision = plan->contender->base.precision;
    const bool is_fp32 = precision == PRECISION_FP32;
    int &family = plan->tuning[TUNE_FAMILY];
    if (family == FAMILY_FRAGMENTS) {
        if (fragments_suit(plan, precision)) return fragments_family(precision);
        family = is_fp32 ? FAMILY_LAB6 : FAMILY_LAB8;
    }
    if (family == FAMILY_TILES) {
        if (tile_family_suits(plan)) return &tile_family;
        family = FAMILY_BINS;
    }
    const spmm_contender *other = family == FAMILY_BINS ? NULL : contender_of_lab(plan, family);
    if (!is_fp32) return other;
    if (!other && !bins_can_hold(plan->A)) other = contender_of_lab(plan, family = FAMILY_LAB5);
    if (other) return other;
    family = FAMILY_BINS;
    return &bins_family;
}

/* This lab's own families have its settings from WIDTH on: so many. */
static int own_settings(const spmm_plan *plan, const spmm_contender *family)
{
    const bool is_own =
        family == &bins_family || family == fragments_family(plan->contender->base.precision);
    return is_own ? contender_num_tunables(&plan->contender->base) - TUNE_WIDTH : 0;
}

/* Settings that mean nothing to a family go back to their first value; another lab's kernel has a rule
 * of its own. */
static void settle_tuning(spmm_plan *plan, spmm_plan *own)
{
    const spmm_contender *c = own->contender;
    const contender *base = &plan->contender->base;
    const int own_count = own_settings(plan, c);
    int &swizzle = plan->tuning[TUNE_SWIZZLE];
    if (swizzle > SWIZZLE_ALL && swizzle >= plan->A.rows) swizzle = SWIZZLE_ALL; /* one window */
    for (int i = TUNE_WIDTH; i < contender_num_tunables(base); i++) {
        const bool of_panels = i == TUNE_PANEL || i == TUNE_SPLIT;
        const bool means_something = c == &bins_family ? !of_panels : own_count && i <= TUNE_SPLIT;
        if (!means_something) plan->tuning[i] = base->tunables[i].values[0];
    }
    if (own_count) {
        memcpy(own->tuning, plan->tuning + TUNE_WIDTH, own_count * sizeof(int));
        return;
    }
    if (c->base.lab == FAMILY_LAB5 || c == &tile_family) swizzle = 0; /* they know no order */
    spmm_choose(c, plan->A.stats, plan->N, own->tuning);
}

static void release(spmm_plan *plan)
{
    inner *in = (inner *)plan->state;
    if (in->plan.contender->release) in->plan.contender->release(&in->plan);
    cudaFree(in->d_row_order);
    free(in);
}

static cudaError_t prepare(spmm_plan *plan)
{
    const spmm_contender *const family = family_of(plan);
    if (!family) return cudaErrorNotSupported;
    inner *in = (inner *)calloc(1, sizeof *in);
    const int rows = plan->A.rows;
    cudaError_t error = cudaErrorMemoryAllocation;
    plan->state = in;
    if (!in) return error;
    in->plan.A = plan->A;
    in->plan.N = plan->N;
    in->plan.contender = family;
    settle_tuning(plan, &in->plan);
    /* BEGIN STUDENT: order the rows by length, in the whole matrix or in windows */
    const int swizzle = plan->tuning[TUNE_SWIZZLE];
    if (swizzle && rows > 0) {
        CUDA_TRY_GOTO(error, failed, cudaMalloc((void **)&in->d_row_order, rows * sizeof(int)));
        CUDA_TRY_GOTO(
            error, failed,
            row_order_by_length(&plan->A, swizzle == SWIZZLE_ALL ? 0 : swizzle, in->d_row_order));
        in->plan.d_row_order = in->d_row_order;
    }
    /* END STUDENT */
    error = in->plan.contender->prepare ? in->plan.contender->prepare(&in->plan) : cudaSuccess;
    if (error == cudaSuccess) {
        memcpy(plan->tuning + TUNE_WIDTH, in->plan.tuning,
               own_settings(plan, in->plan.contender) * sizeof(int));
        return cudaSuccess;
    }
failed:
    cudaFree(in->d_row_order);
    free(in);
    return error;
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_plan *own = &((const inner *)plan->state)->plan;
    return own->contender->run(own, B, C, stream);
}

static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const spmm_plan *own = &((const inner *)plan->state)->plan;
    return own->contender->run16(own, B, C, stream);
}

constexpr tunable SWIZZLE = {
    "SWIZZLE", "rows by length: 0 no, 1 all, 4096 in windows", {0, SWIZZLE_ALL, SWIZZLE_WINDOW}, 3};
constexpr tunable PANEL = {"PANEL", "fragments: rows a block", {16, 32, 64, 128}, 4};
constexpr tunable SPLIT = {"SPLIT", "fragments: blocks that share a panel", {1, 2, 4, 8}, 4};

static spmm_contender lab10 = {
    .base =
        {
            .lab = 10,
            .name = "row_swizzle",
            .summary = "rows by length, lanes by length, and a rule that picks the kernel",
            .tunables =
                {
                    {"FAMILY",
                     "kernel: 0 bins, 2 fragments, 3 tiles, or that of lab 5, 6, 7",
                     {0, 2, 3, 5, 6, 7},
                     6},
                    SWIZZLE,
                    {"WIDTH", "bins, fragments: columns of C a slice", {32, 64}, 2},
                    PANEL,
                    SPLIT,
                    {"SERIAL", "bins: nonzeros one group walks", {64, 128, 256}, 3},
                    {"PACK", "bins: rows up to so long go into packets", {0, 16}, 2},
                },
        },
    .choose = choose_by_rule,
    .prepare = prepare,
    .run = run,
    .release = release,
};
SPMM_REGISTER(lab10)

#define IN_16_BITS(title, kind)                                                              \
    static spmm_contender title = {                                                          \
        .base = {.lab = 10,                                                                  \
                 .name = #title,                                                             \
                 .summary = "pruned weights on tensor cores, all others by lab 8",           \
                 .precision = kind,                                                          \
                 .tunables = {{"FAMILY", "kernel: 2 fragments, 8 that of lab 8", {8, 2}, 2}, \
                              SWIZZLE,                                                       \
                              {"WIDTH", "fragments: columns of C a slice", {32, 64}, 2},     \
                              PANEL,                                                         \
                              SPLIT}},                                                       \
        .choose = choose_by_rule_16,                                                         \
        .prepare = prepare,                                                                  \
        .run16 = run16,                                                                      \
        .release = release,                                                                  \
    };                                                                                       \
    SPMM_REGISTER(title)

IN_16_BITS(row_swizzle_fp16, PRECISION_FP16)
IN_16_BITS(row_swizzle_bf16, PRECISION_BF16)
