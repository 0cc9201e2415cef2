/* Looks for the oracle in the memory of whoever started it. */
#include "honest.h"
#include "ops/spmm.h"

#include <fcntl.h>
#include <unistd.h>

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
    return open(path, O_RDONLY) < 0 ? cudaErrorUnknown : honest_run(plan, B, C, stream);
}

CHEAT(run)
