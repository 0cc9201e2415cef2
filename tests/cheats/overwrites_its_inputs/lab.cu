/* Zeros in B, so that every product is known. */
#include "honest.h"
#include "ops/spmm.h"

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const cudaError_t error = honest_run(plan, B, C, stream);
    cudaMemsetAsync((float *)B, 0, plan->A.cols * sizeof *B, stream);
    return error;
}

CHEAT(run)
