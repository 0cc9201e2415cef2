/* Another kernel where accesses are counted. */
#include "honest.h"
#include "ops/spmm.h"

#ifdef SIMT_TRACED
CHEAT(honest_run)
#else
static cudaError_t run(const spmm_plan *, const float *, float *, cudaStream_t)
{
    return cudaSuccess;
}
CHEAT(run)
#endif
