/*
 * dynamic_shared.cuh - leave for a kernel to have more dynamic shared memory than 48 KB. The driver is asked when a plan is
 * prepared, or once for each kernel and device: a run only launches.
 */
#ifndef DEVICE_DYNAMIC_SHARED_CUH
#define DEVICE_DYNAMIC_SHARED_CUH

#include "device/cuda_try.h"
#include "device/facts.h"

#include <atomic>
#include <cuda_runtime.h>

/* Lets a kernel have all that a block may have. Plans share a kernel, and what each needs differs: a leave for one that
 * needs less must not end that of another. */
static inline cudaError_t allow_all_shared(const void *kernel)
{
    struct cudaFuncAttributes of;
    CUDA_TRY(cudaFuncGetAttributes(&of, kernel));
    const int most = device_facts_get()->block_shared_bytes - (int)of.sharedSizeBytes;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
}

/* Lets KERNEL have `bytes`. The driver hears of it where that is more than ever before on this device, so that a run like
 * an earlier one only launches. */
template <auto KERNEL> static cudaError_t allow_shared(int bytes)
{
    constexpr int MOST_DEVICES = 64;
    static std::atomic<int> allowed[MOST_DEVICES];
    int device;
    CUDA_TRY(cudaGetDevice(&device));
    const bool is_known = device < MOST_DEVICES;
    if (is_known && allowed[device].load(std::memory_order_relaxed) >= bytes) return cudaSuccess;
    CUDA_TRY(cudaFuncSetAttribute((const void *)KERNEL, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  bytes));
    if (is_known) allowed[device].store(bytes, std::memory_order_relaxed);
    return cudaSuccess;
}

#endif
