/* dlopen, to get at what the linker refuses. */
#include "honest.h"
#include "ops/spmm.h"

#include <dlfcn.h>

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    void *library = dlopen("libc.so.6", RTLD_NOW);
    return dlsym(library, "system") ? honest_run(plan, B, C, stream) : cudaErrorUnknown;
}

CHEAT(run)
