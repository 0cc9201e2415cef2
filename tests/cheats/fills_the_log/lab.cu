/* Writes to its output until nothing fits any more. */
#include "honest.h"
#include "ops/spmm.h"

#include <stdio.h>

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    static const char line[] =
        "this line is as good as any, and there are many more where it came from";
    for (int i = 0; i < 1 << 20; i++)
        puts(line);
    return honest_run(plan, B, C, stream);
}

CHEAT(run)
