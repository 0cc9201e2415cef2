#include "harness/device_tools.h"

#include "device/cuda_try.h"
#include "device/warp.cuh"

static __global__ void checksum_kernel(const uint32_t *__restrict__ words, size_t count,
                                       unsigned long long *hash)
{
    unsigned long long sum = 0;
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        /* The finaliser of splitmix64 on (position, word). */
        unsigned long long z = (i << 32 | i >> 32) ^ words[i];
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        sum += z ^ (z >> 31);
    }
    atomicAdd(hash, sum);
}

cudaError_t device_checksum(const void *d_data, size_t bytes, uint64_t *hash)
{
    const int threads = 256, most_blocks = 1024;
    const int blocks = (int)min((size_t)most_blocks, bytes / 4 / threads + 1);
    unsigned long long *d_hash = NULL, result = 0;
    cudaError_t error;
    CUDA_TRY_GOTO(error, done, cudaMalloc((void **)&d_hash, sizeof *d_hash));
    CUDA_TRY_GOTO(error, done, cudaMemset(d_hash, 0, sizeof *d_hash));
    checksum_kernel<<<blocks, threads>>>((const uint32_t *)d_data, bytes / 4, d_hash);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, cudaMemcpy(&result, d_hash, sizeof result, cudaMemcpyDeviceToHost));
    *hash = result;
done:
    cudaFree(d_hash);
    return error;
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
