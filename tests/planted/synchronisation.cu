/*
 * synchronisation.cu - barriers and warp functions that not everybody comes to. The runtime
 * notices, whichever instruments are on.
 */
#include "planted.h"

#include "device/async_copy.cuh"
#include "device/warp.cuh"

template <bool RIGHT> static __global__ void divergent_barrier_kernel(int *C)
{
    if (threadIdx.x < 32) {
        C[threadIdx.x] = 1;
        THERE, __syncthreads();
    } else {
        C[threadIdx.x] = 2;
        if (!RIGHT) HERE, __syncthreads();
    }
    if (RIGHT && threadIdx.x >= 32) return;
    C[threadIdx.x] = 3;
}
template <bool RIGHT> static void divergent_barrier(void)
{
    divergent_barrier_kernel<RIGHT><<<1, 64>>>(named<int>("C", 64));
}

/* Half of the warp waits for the other half, which waits for the block. */
template <bool RIGHT> static __global__ void deadlock_kernel(int *C)
{
    int x = threadIdx.x;
    if (RIGHT || threadIdx.x < 16) HERE, x = __shfl_sync(FULL_MASK, x, 0);
    if (RIGHT || threadIdx.x >= 16) THERE, __syncthreads();
    C[threadIdx.x] = x;
}
template <bool RIGHT> static void deadlock(void)
{
    deadlock_kernel<RIGHT><<<1, 64>>>(named<int>("C", 64));
}

template <bool RIGHT> static __global__ void absent_source_kernel(int *C)
{
    int x = threadIdx.x;
    if (threadIdx.x < 16) HERE, x = __shfl_down_sync(0x0000ffffu, x, 1, RIGHT ? 16 : 32);
    C[threadIdx.x] = x;
}
template <bool RIGHT> static void absent_source(void)
{
    absent_source_kernel<RIGHT><<<1, 32>>>(named<int>("C", 32));
}

template <bool RIGHT> static __global__ void caller_not_in_mask_kernel(int *C)
{
    HERE, C[threadIdx.x] = __any_sync(RIGHT ? 0xffffffffu : 0xfffffffeu, 1);
}
template <bool RIGHT> static void caller_not_in_mask(void)
{
    caller_not_in_mask_kernel<RIGHT><<<1, 32>>>(named<int>("C", 32));
}

/* Two calls of different functions, where the lanes should meet in one. */
template <bool RIGHT> static __global__ void two_shuffles_kernel(int *C)
{
    int x = threadIdx.x;
    if (RIGHT || threadIdx.x < 16) THERE, x = __shfl_xor_sync(FULL_MASK, x, 1);
    if (!RIGHT && threadIdx.x >= 16) HERE, x = __shfl_down_sync(FULL_MASK, x, 1);
    C[threadIdx.x] = x;
}
template <bool RIGHT> static void two_shuffles(void)
{
    two_shuffles_kernel<RIGHT><<<1, 32>>>(named<int>("C", 32));
}

template <bool RIGHT> static __global__ void different_masks_kernel(int *C)
{
    const unsigned mask = !RIGHT && threadIdx.x % 2 ? 0xffffffffu : 0x0000ffffu;
    if (RIGHT && threadIdx.x >= 16) return;
    HERE, __syncwarp(mask);
    C[threadIdx.x] = 1;
}
template <bool RIGHT> static void different_masks(void)
{
    different_masks_kernel<RIGHT><<<1, 32>>>(named<int>("C", 32));
}

template <bool RIGHT> static __global__ void exited_source_kernel(int *C)
{
    if (!RIGHT && threadIdx.x == 7) return;
    HERE, C[threadIdx.x] = __shfl_sync(FULL_MASK, 1, 7);
}
template <bool RIGHT> static void exited_source(void)
{
    exited_source_kernel<RIGHT><<<1, 32>>>(named<int>("C", 32));
}

/* Waits for what nobody will write. */
template <bool RIGHT> static __global__ void endless_kernel(volatile int *C)
{
    if (RIGHT) C[threadIdx.x] = 1;
    mark(&here_line, __LINE__ + 1);
    while (C[threadIdx.x] == 0)
        ;
}
template <bool RIGHT> static void endless(void)
{
    endless_kernel<RIGHT><<<1, 32>>>(named<int>("C", 32));
}

/* Abandoned, with copies on their way and lanes that wait. Nothing of that may be left in the next
 * launch, which is as wrong as it would be alone. */
static __global__ void abandoned_kernel(const float *A)
{
    extern __shared__ float tile[];
    async_copy<4>(&tile[threadIdx.x], &A[threadIdx.x]);
    if (threadIdx.x % 32 < 16)
        __syncwarp();
    else
        __syncthreads();
}
template <bool RIGHT> static __global__ void after_abandoned_kernel(float *C)
{
    extern __shared__ float sum[];
    const int i = threadIdx.x;
    sum[i] = C[i];
    __syncwarp();
    const float next = sum[(i + 1) % 32];
    __syncthreads();
    sum[i] = next;
    if (!RIGHT && i == 31) HERE, sum[-i] += 1;
    C[i] = sum[i];
}
template <bool RIGHT> static void after_abandoned(void)
{
    abandoned_kernel<<<1, 128, 128 * sizeof(float)>>>(named<float>("A", 128));
    if (cudaDeviceSynchronize() == cudaSuccess) tap_ok(false, "the launch before is abandoned");
    CUDA(cudaDeviceReset());
    instruments_here()->reset();
    after_abandoned_kernel<RIGHT><<<1, 32, 32 * sizeof(float)>>>(named<float>("C", 32));
}

void plant_synchronisation(void)
{
    BUG(divergent_barrier, 0, "divergent barrier", "barrier divergence", {0, 0, 0}, {32, 0, 0});
    BUG(deadlock, 0, "deadlock", "no thread of the block can go on", {0, 0, 0}, {0, 0, 0});
    BUG(absent_source, 0, "wrong mask", "lane 15 reads from lane 16", {0, 0, 0}, {15, 0, 0});
    BUG(caller_not_in_mask, 0, "wrong mask", "calling lane 0 is not in the mask", {0, 0, 0},
        {0, 0, 0});
    BUG(two_shuffles, 0, "wrong mask", "calls __shfl_down_sync", {0, 0, 0}, {16, 0, 0});
    BUG(different_masks, 0, "wrong mask", "with mask 0xffffffff", {0, 0, 0}, {1, 0, 0});
    BUG(endless, 0, "time limit", "an endless loop", {0, 0, 0}, {0, 0, 0});
    BUG(after_abandoned, INSTRUMENT_MEMCHECK, "out of bounds",
        "reads 4 bytes at dynamic shared [-31] (31 before its start)", {0, 0, 0}, {31, 0, 0});
    BUG(exited_source, 0, "wrong mask", "which has exited", {0, 0, 0}, {0, 0, 0});
}
