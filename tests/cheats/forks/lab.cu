/* Leaves a process behind that works on while nobody looks. */
#include "honest.h"
#include "ops/spmm.h"

#include <unistd.h>

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    if (fork() == 0)
        for (;;)
            pause();
    return honest_run(plan, B, C, stream);
}

CHEAT(run)
