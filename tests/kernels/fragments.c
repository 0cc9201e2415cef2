/*
 * fragments.c - contenders for the kernel matrix: lab 10's kernels on tensor cores, which the rule
 * takes for no matrix as small and as strange as those here. Between them all of the kernels, and every
 * number of blocks that share a panel.
 */
#include "ops/spmm.h"

#include <stdlib.h>

/* Lab 10's tunables, in order, but for the last. */
enum { FRAGMENTS = 2, AS_THEY_COME = 0, BY_LENGTH = 1, SERIAL = 64, NO_PACKETS = 0 };

static void release(spmm_plan *plan)
{
    spmm_plan *own = plan->state;
    own->contender->release(own);
    free(own);
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_plan *own = plan->state;
    return own->contender->run(own, B, C, stream);
}

static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const spmm_plan *own = plan->state;
    return own->contender->run16(own, B, C, stream);
}

/* Whether fragments are made of the matrix: in 16 bits only if no row may name a column twice, and for an
 * even N. */
static bool is_taken(const spmm_plan *plan)
{
    const csr_matrix *A = plan->A.host;
    if (plan->contender->base.precision == PRECISION_FP32) return true;
    for (int64_t row = 0; row < A->rows; row++)
        for (int64_t k = A->row_ptr[row] + 1; k < A->row_ptr[row + 1]; k++)
            if (A->col_idx[k] <= A->col_idx[k - 1]) return false;
    return plan->N % 2 == 0;
}

static cudaError_t prepare(spmm_plan *plan, int swizzle, int width, int panel, int split)
{
    const int tuning[] = {FRAGMENTS, swizzle, width, panel, split, SERIAL, NO_PACKETS};
    const contender *c = contenders();
    while (c && !(c->lab == 10 && c->precision == plan->contender->base.precision))
        c = c->next;
    spmm_plan *own = c ? malloc(sizeof *own) : NULL;
    if (!own) return cudaErrorMemoryAllocation;
    *own = *plan;
    own->contender = (const spmm_contender *)c;
    for (size_t i = 0; i < sizeof tuning / sizeof *tuning; i++)
        own->tuning[i] = tuning[i];
    cudaError_t error = own->contender->prepare(own);
    if (error == cudaSuccess && (own->tuning[0] == FRAGMENTS) != is_taken(plan)) {
        own->contender->release(own);
        error = cudaErrorNotSupported;
    }
    plan->state = own;
    if (error != cudaSuccess) free(own);
    return error;
}

#define CONTENDER(kind, call, swizzle, width, panel, split)                                     \
    static cudaError_t prepare_##kind##_##width##_##panel(spmm_plan *plan)                      \
    {                                                                                           \
        return prepare(plan, swizzle, width, panel, split);                                     \
    }                                                                                           \
    static spmm_contender fragments_##kind##_##width##_##panel = {                              \
        .base = {.lab = 210,                                                                    \
                 .name =                                                                        \
                     #kind " fragments, panels of " #panel " by " #width ", " #split " blocks", \
                 .precision = PRECISION_##kind,                                                 \
                 .min_compute_capability = 80},                                                 \
        .prepare = prepare_##kind##_##width##_##panel,                                          \
        .call = call,                                                                           \
        .release = release,                                                                     \
    };                                                                                          \
    SPMM_REGISTER(fragments_##kind##_##width##_##panel)

CONTENDER(FP32, run, BY_LENGTH, 32, 16, 1)
CONTENDER(FP32, run, AS_THEY_COME, 64, 32, 2)
CONTENDER(FP32, run, BY_LENGTH, 32, 64, 8)
CONTENDER(FP32, run, AS_THEY_COME, 32, 128, 1)
CONTENDER(FP16, run16, AS_THEY_COME, 32, 16, 4)
CONTENDER(FP16, run16, BY_LENGTH, 64, 64, 1)
CONTENDER(BF16, run16, BY_LENGTH, 32, 32, 1)
CONTENDER(BF16, run16, AS_THEY_COME, 32, 128, 8)
