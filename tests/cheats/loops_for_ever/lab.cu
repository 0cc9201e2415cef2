/* Never comes back. */
#include "honest.h"
#include "ops/spmm.h"

static cudaError_t run(const spmm_plan *plan, const float *, float *, cudaStream_t)
{
    for (volatile bool going = plan != NULL; going;) {
    }
    return cudaSuccess;
}

CHEAT(run)
