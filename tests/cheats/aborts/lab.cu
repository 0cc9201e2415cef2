/* Ends the process in the middle of a run. */
#include "honest.h"
#include "ops/spmm.h"

#include <stdlib.h>

static cudaError_t run(const spmm_plan *, const float *, float *, cudaStream_t)
{
    abort();
}

CHEAT(run)
