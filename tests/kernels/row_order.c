/*
 * row_order.c - contenders for the kernel matrix: labs that honour spmm_plan.d_row_order, given an
 * order that no lab would choose. A result must not depend on it.
 */
#include "ops/spmm.h"

#include <stdlib.h>

/* Taking the rows back to front, every second one first, leaves none in its place. */
static cudaError_t upload_order(int rows, int **d_order)
{
    int *order = malloc((rows + 1) * sizeof *order);
    cudaError_t error = order ? cudaSuccess : cudaErrorMemoryAllocation;
    for (int i = 0, row = rows - 1; order && i < rows; i++, row -= 2) {
        if (row < 0) row = rows - 2;
        order[i] = row;
    }
    *d_order = NULL;
    if (error == cudaSuccess) error = cudaMalloc((void **)d_order, (rows + 1) * sizeof *order);
    if (error == cudaSuccess && rows > 0)
        error = cudaMemcpy(*d_order, order, rows * sizeof *order, cudaMemcpyHostToDevice);
    free(order);
    return error;
}

typedef struct ordered {
    spmm_plan plan; /* the lab's own */
    int *d_order;
} ordered;

static void release(spmm_plan *plan)
{
    ordered *o = plan->state;
    if (o->plan.contender->release) o->plan.contender->release(&o->plan);
    cudaFree(o->d_order);
    free(o);
}

static cudaError_t prepare_lab(spmm_plan *plan, int lab)
{
    const contender *c = contenders();
    while (c && c->lab != lab)
        c = c->next;
    ordered *o = c ? calloc(1, sizeof *o) : NULL;
    if (!o) return cudaErrorMemoryAllocation;
    const spmm_contender *contender = (const spmm_contender *)c;
    cudaError_t error = upload_order(plan->A.rows, &o->d_order);
    o->plan = *plan;
    o->plan.contender = contender;
    o->plan.d_row_order = o->d_order;
    for (int i = 0; i < contender_num_tunables(c); i++)
        o->plan.tuning[i] = c->tunables[i].initial;
    if (contender->choose) contender->choose(plan->A.stats, plan->N, o->plan.tuning);
    if (error == cudaSuccess && contender->prepare) error = contender->prepare(&o->plan);
    plan->state = o;
    if (error == cudaSuccess) return cudaSuccess;
    cudaFree(o->d_order);
    free(o);
    return error;
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const ordered *o = plan->state;
    return o->plan.contender->run(&o->plan, B, C, stream);
}

#define ORDERED(number)                                                                          \
    static cudaError_t prepare_##number(spmm_plan *plan)                                         \
    {                                                                                            \
        return prepare_lab(plan, number);                                                        \
    }                                                                                            \
    static spmm_contender ordered_##number = {                                                   \
        .base = {.lab = 100 + number, .after = number, .name = "lab " #number " in this order"}, \
        .prepare = prepare_##number,                                                             \
        .run = run,                                                                              \
        .release = release,                                                                      \
    };                                                                                           \
    SPMM_REGISTER(ordered_##number)

ORDERED(6)
ORDERED(7)
