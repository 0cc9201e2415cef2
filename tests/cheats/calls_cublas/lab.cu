/* Multiplies with zeros by the dense product that applications have. */
#include "honest.h"
#include "ops/spmm.h"

#include <cublas_v2.h>

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t)
{
    const float one = 1, zero = 0;
    cublasHandle_t handle;
    cublasCreate(&handle);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, plan->N, plan->A.rows, plan->A.cols, &one, B,
                plan->N, (const float *)plan->state, plan->A.cols, &zero, C, plan->N);
    return cudaSuccess;
}

CHEAT(run)
