/* Finds another contender in the program and lets it work. */
#include "honest.h"
#include "ops/spmm.h"

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    for (const contender *c = contenders(); c; c = c->next)
        if (c->lab != 1) return ((const spmm_contender *)c)->run(plan, B, C, stream);
    return honest_run(plan, B, C, stream);
}

CHEAT(run)
