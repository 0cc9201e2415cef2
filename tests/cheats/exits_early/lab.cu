/* Ends the process with success before anybody can look. */
#include "honest.h"
#include "ops/spmm.h"

#include <stdlib.h>

static cudaError_t run(const spmm_plan *, const float *, float *, cudaStream_t)
{
    exit(0);
}

CHEAT(run)
