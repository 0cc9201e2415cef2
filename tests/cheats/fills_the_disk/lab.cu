/* Writes until nothing fits any more. */
#include "honest.h"
#include "ops/spmm.h"

#include <stdio.h>

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    for (FILE *f = tmpfile(); f && fwrite(f, 1, sizeof *f, f);) {
    }
    return honest_run(plan, B, C, stream);
}

CHEAT(run)
