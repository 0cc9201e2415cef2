/*
 * cluster.cuh - clusters: neighbouring blocks that run at the same time and reach each other's shared memory (compute
 * capability 9.0 and up; below, and in a kernel that is launched as usual, a block is a cluster by itself).
 *
 *     launch_in_clusters(kernel, blocks, threads, bytes, stream, 2, argument);     on the host
 *     cluster_rank()                             the block's number in its cluster
 *     cluster_sync();                            barriers are made, by all; and at the end: a block must not leave
 *                                                while others still write to it or arrive
 *     mbarrier_arrive_in(&empty, rank);          at the barrier of another block, at the same place as this one
 *     *cluster_shared(&sum, rank) = x;           into the shared memory of another block, likewise
 *
 * PTX ISA, "barrier.cluster", "mapa"; CUDA C++ Programming Guide, "Thread Block Clusters".
 */
#ifndef DEVICE_CLUSTER_CUH
#define DEVICE_CLUSTER_CUH

#include "device/facts.h"
#include "device/mbarrier.cuh"

#include <cuda_runtime.h>

__device__ __forceinline__ int cluster_rank()
{
#if !defined(__CUDACC__)
    return simt_cluster_rank();
#elif __CUDA_ARCH__ >= 900
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
#else
    return 0;
#endif
}

/* Waits for all threads of the cluster's blocks. What they wrote before is visible after. */
__device__ __forceinline__ void cluster_sync()
{
#if !defined(__CUDACC__)
    simt_cluster_sync();
#elif __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
#else
    __syncthreads();
#endif
}

/* One arrival at the barrier of block `rank`, which may be the thread's own. It follows what the warp has read. Stores are
 * not made visible to other blocks, for which all of them would have to reach L2 first: cluster_sync() does that. */
__device__ __forceinline__ void mbarrier_arrive_in(mbarrier *b, int rank)
{
#if !defined(__CUDACC__)
    simt_mbarrier_arrive_in(b, (unsigned)rank);
#elif __CUDA_ARCH__ >= 900
    asm volatile("{\n\t"
                 ".reg .b32 there;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t"
                 "}" ::"r"(shared_window(b)),
                 "r"(rank)
                 : "memory");
#else
    __trap();
#endif
}

/* Returns where p lies in the shared memory of block `rank`, which may be the thread's own. Others may write there after
 * a cluster_sync() by which that block has begun, and it finds their writes after the next one. */
template <class T> __device__ __forceinline__ T *cluster_shared(T *p, int rank)
{
#if !defined(__CUDACC__)
    return (T *)simt_cluster_shared(p, (unsigned)rank);
#elif __CUDA_ARCH__ >= 900
    uint64_t there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));
    return (T *)there;
#else
    return p;
#endif
}

#ifdef __CUDACC__
/* Configuration of a launch in clusters. *together is part of it, the first of its attributes. */
static inline cudaLaunchConfig_t cluster_config(unsigned blocks, unsigned threads,
                                                size_t shared_bytes, unsigned cluster,
                                                cudaLaunchAttribute *together)
{
    *together = {};
    together->id = cudaLaunchAttributeClusterDimension;
    together->val.clusterDim.x = cluster;
    together->val.clusterDim.y = together->val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.attrs = together;
    config.numAttrs = 1;
    return config;
}
#endif

/* Returns in *clusters how many clusters of that many blocks the device runs at once: fewer than its multiprocessors have
 * room for blocks, where a group of neighbouring ones is no multiple of a cluster. */
template <class T>
static cudaError_t clusters_at_once(void (*kernel)(T), unsigned threads, size_t shared_bytes,
                                    unsigned cluster, int *clusters)
{
#ifdef __CUDACC__
    cudaLaunchAttribute together;
    const cudaLaunchConfig_t config =
        cluster_config(cluster, threads, shared_bytes, cluster, &together);
    return cudaOccupancyMaxActiveClusters(clusters, kernel, &config);
#else
    int blocks = 0;
    const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, (const void *)kernel, (int)threads, shared_bytes);
    *clusters = blocks * device_facts_get()->sms / (int)cluster;
    return error;
#endif
}

/* kernel<<<blocks, threads, shared_bytes, stream>>>(argument), each `cluster` neighbours along x together. blocks is a
 * multiple of it. early: it may start before the kernel before it has ended (device/pdl.cuh). */
template <class T>
static cudaError_t launch_in_clusters(void (*kernel)(T), unsigned blocks, unsigned threads,
                                      size_t shared_bytes, cudaStream_t stream, unsigned cluster,
                                      const T &argument, bool early = false)
{
#ifdef __CUDACC__
    cudaLaunchAttribute wishes[2];
    cudaLaunchConfig_t config = cluster_config(blocks, threads, shared_bytes, cluster, wishes);
    wishes[1] = {};
    wishes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    wishes[1].val.programmaticStreamSerializationAllowed = 1;
    config.numAttrs = early ? 2 : 1;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, argument);
#else
    (void)early;
    auto launch = SIMT_KERNEL(kernel)(blocks, threads, shared_bytes, stream);
    launch.config.cluster = cluster;
    launch(argument);
    return cudaGetLastError();
#endif
}

#endif
