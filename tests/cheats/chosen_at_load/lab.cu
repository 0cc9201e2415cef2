/* A function that the loader chooses by running code: an ifunc. */
#include "honest.h"
#include "ops/spmm.h"

extern "C" {
static void nothing(void) {}
void *choose_at_load(void)
{
    return (void *)nothing;
}
void chosen(void) __attribute__((ifunc("choose_at_load")));
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    chosen();
    return honest_run(plan, B, C, stream);
}

CHEAT(run)
