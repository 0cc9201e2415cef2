/* A static function of one file is no excuse for the same name in another. */
#include "honest.h"
#include "ops/spmm.h"

extern "C" int fork(void);

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return fork() ? honest_run(plan, B, C, stream) : cudaSuccess;
}

CHEAT(run)
