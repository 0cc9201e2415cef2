/*
 * async_copy.cuh - copies from global to shared memory that run while the thread goes on (cp.async,
 * compute capability 8.0 and up; below that the copy is made at once, with the same result).
 *
 *     async_copy<16>(&tile[i], &source[i]);      start copies ...
 *     async_commit();                            ... that belong together
 *     async_wait<0>();                           this thread's copies have arrived;
 *     __syncthreads();                           now everybody's have
 */
#ifndef DEVICE_ASYNC_COPY_CUH
#define DEVICE_ASYNC_COPY_CUH

#include "device/vec.cuh"

/* Starts copying the first `valid` of BYTES (4, 8 or 16) bytes; the others become zero. With valid
 * == 0 nothing is read, so `global` may then point anywhere (aligned). Both addresses must be
 * multiples of BYTES. Copies of 16 bytes bypass L1. */
template <int BYTES>
__device__ __forceinline__ void async_copy_zfill(void *shared, const void *global, int valid)
{
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16);
#if !defined(__CUDACC__)
    simt_async_copy(shared, global, BYTES, valid);
#elif __CUDA_ARCH__ >= 800
    const unsigned to = (unsigned)__cvta_generic_to_shared(shared);
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global),
                     "r"(valid)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(global),
                     "r"(valid), "n"(BYTES)
                     : "memory");
#else
    unsigned char bytes[BYTES] = {};
    for (int i = 0; i < valid; i++)
        bytes[i] = static_cast<const unsigned char *>(global)[i];
    store_vector(static_cast<unsigned char *>(shared), bytes);
#endif
}

/* Starts copying BYTES (4, 8 or 16) bytes. */
template <int BYTES> __device__ __forceinline__ void async_copy(void *shared, const void *global)
{
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16);
#if !defined(__CUDACC__)
    simt_async_copy(shared, global, BYTES, BYTES);
#elif __CUDA_ARCH__ >= 800
    const unsigned to = (unsigned)__cvta_generic_to_shared(shared);
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(BYTES)
                     : "memory");
#else
    unsigned char bytes[BYTES];
    load_vector_plain(bytes, static_cast<const unsigned char *>(global));
    store_vector(static_cast<unsigned char *>(shared), bytes);
#endif
}

/* The copies started since the last commit are a group. */
__device__ __forceinline__ void async_commit()
{
#if !defined(__CUDACC__)
    simt_async_commit();
#elif __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until all but the latest PENDING groups of this thread have arrived. */
template <int PENDING> __device__ __forceinline__ void async_wait()
{
#if !defined(__CUDACC__)
    simt_async_wait(PENDING);
#elif __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

/* Waits for every copy of this thread, committed or not. */
__device__ __forceinline__ void async_wait_all()
{
#if !defined(__CUDACC__)
    simt_async_wait_all();
#elif __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* Waits until fewer than `groups` groups of this thread's copies, 1 to 3, are on their way. */
__device__ __forceinline__ void async_wait_below(int groups)
{
    if (groups == 1)
        async_wait<0>();
    else if (groups == 2)
        async_wait<1>();
    else
        async_wait<2>();
}

#endif
