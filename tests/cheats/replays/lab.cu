/* The first result, kept for each place and copied ever after. */
#include "honest.h"
#include "ops/spmm.h"

static float *kept, *kept_for;
static int kept_rows, kept_N;

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const size_t bytes = (size_t)plan->A.rows * plan->N * sizeof *C;
    if (kept_for == C && kept_rows == plan->A.rows && kept_N == plan->N)
        return cudaMemcpyAsync(C, kept, bytes, cudaMemcpyDeviceToDevice, stream);
    cudaFree(kept);
    kept_for = C;
    kept_rows = plan->A.rows;
    kept_N = plan->N;
    const cudaError_t error = cudaMalloc(&kept, bytes);
    if (error != cudaSuccess) return error;
    honest_run(plan, B, C, stream);
    return cudaMemcpyAsync(kept, C, bytes, cudaMemcpyDeviceToDevice, stream);
}

CHEAT(run)
