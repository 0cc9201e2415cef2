/* The name of what a traced program defines, over two lines. */
/* clang-format off */
#include "honest.h"
#include "ops/spmm.h"

#ifdef SIMT_TR\
ACED
CHEAT(honest_run)
#else
static cudaError_t run(const spmm_plan *, const float *, float *, cudaStream_t)
{
    return cudaSuccess;
}
CHEAT(run)
#endif
