#include "harness/device_tools.h"

#include "device/cuda_try.h"
#include "device/warp.cuh"

/* The finaliser of splitmix64 on (position, word). */
static __device__ unsigned long long mix(size_t i, uint32_t word)
{
    unsigned long long z = (i << 32 | i >> 32) ^ word;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static __global__ void checksum_kernel(const void *data, size_t bytes, unsigned long long *hash)
{
    const uint32_t *const words = static_cast<const uint32_t *>(data);
    const unsigned char *const all = static_cast<const unsigned char *>(data);
    unsigned long long sum = 0;
    const size_t count = bytes / 4, stride = (size_t)gridDim.x * blockDim.x;
    const size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (size_t i = first; i < count; i += stride)
        sum += mix(i, words[i]);
    if (first == 0 && bytes % 4) { /* an odd number of 16-bit elements */
        uint32_t last = 0;
        for (size_t at = 4 * count; at < bytes; at++)
            last = last << 8 | all[at];
        sum += mix(count, last);
    }
    atomicAdd(hash, sum);
}

cudaError_t device_checksum(const void *d_data, size_t bytes, uint64_t *hash)
{
    /* Each thread's sum costs an atomic addition, so it is one of several words. */
    const size_t threads = 256, words = 16, most_blocks = 1024;
    const int blocks = (int)min(most_blocks, bytes / 4 / (threads * words) + 1);
    unsigned long long *d_hash = NULL, result = 0;
    cudaError_t error;
    CUDA_TRY_GOTO(error, done, cudaMalloc((void **)&d_hash, sizeof *d_hash));
    CUDA_TRY_GOTO(error, done, cudaMemset(d_hash, 0, sizeof *d_hash));
    checksum_kernel<<<blocks, threads>>>(d_data, bytes, d_hash);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, cudaMemcpy(&result, d_hash, sizeof result, cudaMemcpyDeviceToHost));
    *hash = result;
done:
    cudaFree(d_hash);
    return error;
}

/* Writes only if it has read something other than 0, so that the reads are not optimised away. */
static __global__ void read_kernel(uint4 *data, size_t count)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    unsigned any = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        any |= data[i].x | data[i].y | data[i].z | data[i].w;
    if (any) data[0].x = any;
}

cudaError_t device_flush_cache(void *d_data, size_t bytes, cudaStream_t stream)
{
    const int threads = 256, blocks = 1024;
    CUDA_TRY(cudaMemsetAsync(d_data, 0, bytes, stream));
    read_kernel<<<blocks, threads, 0, stream>>>((uint4 *)d_data, bytes / sizeof(uint4));
    CUDA_TRY(cudaGetLastError());
    return cudaSuccess;
}

static __global__ void spin_kernel(long long nanoseconds)
{
    const long long start = global_nanoseconds();
    while (global_nanoseconds() - start < nanoseconds) {
    }
}

cudaError_t device_spin(double microseconds, cudaStream_t stream)
{
    spin_kernel<<<1, 1, 0, stream>>>((long long)(microseconds * 1000));
    CUDA_TRY(cudaGetLastError());
    return cudaSuccess;
}
