/* Writes past the end, and leaves there the NaN that a guard is made of. */
#include "honest.h"
#include "ops/spmm.h"

static __global__ void overrun_kernel(float *C, size_t elements)
{
    C[elements + threadIdx.x] = __int_as_float(0xFFFFFFFF);
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    honest_run(plan, B, C, stream);
    overrun_kernel<<<1, 32, 0, stream>>>(C, (size_t)plan->A.rows * plan->N);
    return cudaGetLastError();
}

CHEAT(run)
