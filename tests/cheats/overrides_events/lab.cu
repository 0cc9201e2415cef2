/* Events that never take any time. */
#include "honest.h"
#include "ops/spmm.h"

extern "C" cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t)
{
    *ms = 1e-6f;
    return cudaSuccess;
}

CHEAT(honest_run)
