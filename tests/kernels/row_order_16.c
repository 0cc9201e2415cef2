/*
 * row_order_16.c - contenders for the kernel matrix: lab 8 in an order of the rows that no lab would
 * choose. A result must not depend on it.
 */
#include "ops/spmm.h"

#include <stdlib.h>

typedef struct ordered {
    spmm_plan plan; /* the lab's own */
    int *d_order;
} ordered;

/* Rows 7 apart, back to front: row i of the list is (rows - 1 - 7 i) mod rows, where 7 and the number
 * of rows have no divisor in common; else just back to front. */
static cudaError_t make_order(int rows, int **d_order)
{
    const size_t bytes = (size_t)rows * sizeof(int);
    int *order = malloc(bytes + 1);
    if (!order) return cudaErrorMemoryAllocation;
    const int64_t step = rows % 7 ? 7 : 1;
    for (int i = 0; i < rows; i++)
        order[i] = (int)(rows - 1 - step * i % rows);
    cudaError_t error = cudaMalloc((void **)d_order, bytes + 1);
    if (error == cudaSuccess) error = cudaMemcpy(*d_order, order, bytes, cudaMemcpyHostToDevice);
    free(order);
    return error;
}

static void release(spmm_plan *plan)
{
    ordered *o = plan->state;
    if (o->plan.state) o->plan.contender->release(&o->plan);
    cudaFree(o->d_order);
    free(o);
}

static cudaError_t prepare(spmm_plan *plan)
{
    const contender *c = contenders();
    while (c && !(c->lab == 8 && c->precision == plan->contender->base.precision))
        c = c->next;
    ordered *o = c ? calloc(1, sizeof *o) : NULL;
    if (!o) return cudaErrorMemoryAllocation;
    const spmm_contender *lab = (const spmm_contender *)c;
    cudaError_t error = make_order(plan->A.rows, &o->d_order);
    o->plan = *plan;
    o->plan.contender = lab;
    o->plan.d_row_order = o->d_order;
    plan->state = o;
    lab->choose(plan->A.stats, plan->N, o->plan.tuning);
    if (error == cudaSuccess) error = lab->prepare(&o->plan);
    if (error != cudaSuccess) {
        o->plan.state = NULL; /* prepare has left nothing */
        release(plan);
    }
    return error;
}

static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const ordered *o = plan->state;
    return o->plan.contender->run16(&o->plan, B, C, stream);
}

static spmm_contender ordered_fp16 = {
    .base = {.lab = 98, .after = 8, .name = "mixed_fp16 in an order", .precision = PRECISION_FP16},
    .prepare = prepare,
    .run16 = run16,
    .applies_epilogue = true,
    .release = release,
};
SPMM_REGISTER(ordered_fp16)

static spmm_contender ordered_bf16 = {
    .base = {.lab = 98, .after = 8, .name = "mixed_bf16 in an order", .precision = PRECISION_BF16},
    .prepare = prepare,
    .run16 = run16,
    .applies_epilogue = true,
    .release = release,
};
SPMM_REGISTER(ordered_bf16)
