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
#include "groups.h"
#include "ops/spmm.h"
#include "row_order.h"

#include <stdlib.h>
#include <string.h>

/* A plan of the family's own, which this lab's plan carries. */
typedef struct inner {
    spmm_plan plan;
    int *d_row_order; /* what plan.d_row_order points to; NULL: rows as they come */
} inner;

/* The fp32 SpMM of that lab, if this program has it. */
static const spmm_contender *contender_of_lab(int lab)
{
    for (const contender *c = contenders(); c; c = c->next)
        if (c->lab == lab && c->operation == &spmm_operation && c->precision == PRECISION_FP32)
            return (const spmm_contender *)c; /* of which c is the first member */
    return NULL;
}

/* Bins store pairs in whole rounds and packets, by int: at most twice the nonzeros, and 32 a row. */
static bool bins_can_hold(const spmm_matrix &A)
{
    return 2 * (int64_t)A.nnz + 32 * (int64_t)A.rows < INT32_MAX;
}

/* Whose kernel the plan is to run; replaces a choice that cannot be had. */
static const spmm_contender *family_of(spmm_plan *plan)
{
    int &family = plan->tuning[TUNE_FAMILY];
    if (family == FAMILY_GROUPS) return &groups_family;
    const spmm_contender *other = family == FAMILY_BINS ? NULL : contender_of_lab(family);
    if (!other && !bins_can_hold(plan->A)) other = contender_of_lab(family = FAMILY_LAB5);
    if (other) return other;
    family = FAMILY_BINS;
    return &bins_family;
}

/* Another family has a rule of its own; the settings of the bins mean nothing to it. */
static void settle_tuning(spmm_plan *plan, spmm_plan *own)
{
    const spmm_contender *c = own->contender;
    int &swizzle = plan->tuning[TUNE_SWIZZLE];
    if (swizzle > SWIZZLE_ALL && swizzle >= plan->A.rows) swizzle = SWIZZLE_ALL; /* one window */
    if (c == &bins_family) {
        memcpy(own->tuning, plan->tuning + TUNE_WIDTH, 3 * sizeof(int));
        return;
    }
    for (int i = TUNE_WIDTH; i <= TUNE_PACK; i++)
        plan->tuning[i] = plan->contender->base.tunables[i].values[0];
    if (c->base.lab == FAMILY_LAB5) swizzle = 0; /* it knows no order */
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
    inner *in = (inner *)calloc(1, sizeof *in);
    const int rows = plan->A.rows;
    cudaError_t error = cudaErrorMemoryAllocation;
    plan->state = in;
    if (!in) return error;
    in->plan.A = plan->A;
    in->plan.N = plan->N;
    in->plan.contender = family_of(plan);
    settle_tuning(plan, &in->plan);
    /* BEGIN STUDENT */
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
        if (in->plan.contender == &bins_family)
            memcpy(plan->tuning + TUNE_WIDTH, in->plan.tuning, 3 * sizeof(int));
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

static spmm_contender lab10 = {
    .base =
        {
            .lab = 10,
            .name = "row_swizzle",
            .summary = "rows by length, lanes by length, and a rule that picks the kernel",
            .tunables =
                {
                    {"FAMILY",
                     "kernel: 0 bins, 1 groups, or that of lab 5, 6, 7",
                     {0, 1, 5, 6, 7},
                     5},
                    {"SWIZZLE",
                     "rows by length: 0 no, 1 all, 4096 in windows",
                     {0, SWIZZLE_ALL, SWIZZLE_WINDOW},
                     3},
                    {"WIDTH", "bins: columns of C a slice", {32, 64}, 2},
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
