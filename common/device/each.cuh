/*
 * each.cuh - a function of an index, for all indices: the steps of a prepare that need no more of a
 * kernel than its thread number.
 */
#ifndef DEVICE_EACH_CUH
#define DEVICE_EACH_CUH

#include "device/cuda_try.h"

#include <stdint.h>

constexpr int EACH_THREADS = 256;

template <class F> static __global__ void each_kernel(int64_t count, F f)
{
    const int64_t i = blockIdx.x * (int64_t)EACH_THREADS + threadIdx.x;
    if (i < count) f(i);
}

/* f(0), f(1) ... f(count - 1), each by a thread of its own: f may not read what another one writes. F is
 * a struct with a device operator()(int64_t) and whatever it works on. Enqueued on `stream`. */
template <class F>
static inline cudaError_t device_each(int64_t count, const F &f, cudaStream_t stream)
{
    if (count <= 0) return cudaSuccess;
    const unsigned blocks = (unsigned)((count + EACH_THREADS - 1) / EACH_THREADS);
#ifdef __CUDACC__
    each_kernel<F><<<blocks, EACH_THREADS, 0, stream>>>(count, f);
#else /* headers are not translated for the CPU backend */
    SIMT_KERNEL(each_kernel<F>)(blocks, EACH_THREADS, 0, stream)(count, f);
#endif
    return cudaGetLastError();
}

#endif
