#include "device/partial_sums.h"

#include "device/cuda_try.h"

cudaError_t partial_sums_make(size_t floats, size_t counters, partial_sums *p)
{
    *p = (partial_sums){0};
    if (counters == 0) return cudaSuccess; /* nothing is shared */
    p->bytes = floats * sizeof *p->d_sums + counters * sizeof *p->d_arrived;
    CUDA_TRY(cudaMalloc((void **)&p->d_sums, floats * sizeof *p->d_sums));
    CUDA_TRY(cudaMalloc((void **)&p->d_arrived, counters * sizeof *p->d_arrived));
    return cudaMemset(p->d_arrived, 0, counters * sizeof *p->d_arrived);
}

void partial_sums_free(partial_sums *p)
{
    cudaFree(p->d_sums);
    cudaFree(p->d_arrived);
    *p = (partial_sums){0};
}
