/* The same without the word constructor: an object that needs one. */
#include "honest.h"
#include "ops/spmm.h"

#include <stdlib.h>

static int patch(void)
{
    return (int)(size_t)malloc(1);
}
static const int patched = patch();

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return patched ? honest_run(plan, B, C, stream) : cudaSuccess;
}

CHEAT(run)
