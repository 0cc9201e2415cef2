/* All of the work, on a stream for which nobody who times the given one waits. */
#include "honest.h"
#include "ops/spmm.h"

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t)
{
    return honest_run(plan, B, C, cudaStreamPerThread);
}

CHEAT(run)
