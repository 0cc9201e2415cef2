/* A kernel that never ends. */
#include "honest.h"
#include "ops/spmm.h"

static __global__ void loop_kernel(const volatile float *going)
{
    while (*going == *going || *going != 0) {
    }
}

static cudaError_t run(const spmm_plan *, const float *, float *C, cudaStream_t stream)
{
    cudaMemsetAsync(C, 0x3F, 4, stream);
    loop_kernel<<<1, 1, 0, stream>>>(C);
    return cudaGetLastError();
}

CHEAT(run)
