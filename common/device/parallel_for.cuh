/*
 * parallel_for.cuh - a function of an index, for all indices: the steps of a prepare that need no more of a
 * kernel than its thread number.
 */
#ifndef DEVICE_PARALLEL_FOR_CUH
#define DEVICE_PARALLEL_FOR_CUH

#include "device/cuda_try.h"

#include <stdint.h>

constexpr int PARALLEL_FOR_THREADS = 256;

template <class F> static __global__ void parallel_for_kernel(int64_t count, F f)
{
    const int64_t i = blockIdx.x * (int64_t)PARALLEL_FOR_THREADS + threadIdx.x;
    if (i < count) f(i);
}

/* f(0), f(1) ... f(count - 1), each by a thread of its own: f may not read what another one writes. F is
 * a struct with a device operator()(int64_t) and whatever it works on. Enqueued on `stream`. */
template <class F>
static inline cudaError_t device_parallel_for(int64_t count, const F &f, cudaStream_t stream)
{
    if (count <= 0) return cudaSuccess;
    const unsigned blocks = (unsigned)((count + PARALLEL_FOR_THREADS - 1) / PARALLEL_FOR_THREADS);
#ifdef __CUDACC__
    parallel_for_kernel<F><<<blocks, PARALLEL_FOR_THREADS, 0, stream>>>(count, f);
#else /* headers are not translated for the CPU backend */
    SIMT_KERNEL(parallel_for_kernel<F>)(blocks, PARALLEL_FOR_THREADS, 0, stream)(count, f);
#endif
    return cudaGetLastError();
}

#endif
