/*
 * occupancy.cuh - how many threads a multiprocessor holds, for kernels that hide latency by being
 * many: __launch_bounds__(block, THREADS_PER_SM / block) makes the compiler use no more registers
 * than that leaves a thread (65536 / 2048 = 32 on an A100, H100 or H200).
 *
 * Source: CUDA C++ Programming Guide, technical specifications per compute capability.
 */
#ifndef DEVICE_OCCUPANCY_CUH
#define DEVICE_OCCUPANCY_CUH

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
constexpr int THREADS_PER_SM = 1024;
#elif defined(__CUDA_ARCH__) && \
    ((__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1100)
constexpr int THREADS_PER_SM = 1536;
#else
constexpr int THREADS_PER_SM = 2048;
#endif

#endif
