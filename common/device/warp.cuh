/*
 * warp.cuh - who am I in my warp, and sums over a warp or a part of it.
 *
 * This folder is the only place with inline PTX. A wrapper has one body for the GPU and one for the
 * CPU backend, with the same contract; kernels never ask which one they run on.
 */
#ifndef DEVICE_WARP_CUH
#define DEVICE_WARP_CUH

constexpr int WARP_SIZE = 32;
constexpr unsigned FULL_MASK = 0xffffffffu; /* all lanes take part */

/* This thread's place in its warp, 0 .. 31, for blocks of any shape. */
__device__ __forceinline__ int lane_id()
{
#ifdef __CUDACC__
    int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
#else
    return simt_lane_id();
#endif
}

/* This warp's place in its block. Not PTX's %warpid, which names a hardware slot and may change. */
__device__ __forceinline__ int warp_id()
{
#ifdef __CUDACC__
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / WARP_SIZE;
#else
    return simt_warp_id();
#endif
}

/* The multiprocessor this block runs on. The CPU backend deals blocks out round robin. */
__device__ __forceinline__ int sm_id()
{
#ifdef __CUDACC__
    int sm;
    asm("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
#else
    return (int)simt_sm_id();
#endif
}

/* A clock in nanoseconds, the same for all multiprocessors. */
__device__ __forceinline__ long long global_nanoseconds()
{
#ifdef __CUDACC__
    long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
#else
    return simt_nanoseconds();
#endif
}

/* The lanes of this lane's subwarp: WIDTH neighbours, WIDTH a power of two up to 32. */
template <int WIDTH> __device__ __forceinline__ unsigned subwarp_mask()
{
    static_assert(WIDTH >= 1 && WIDTH <= WARP_SIZE && (WIDTH & (WIDTH - 1)) == 0);
    if constexpr (WIDTH == WARP_SIZE)
        return FULL_MASK;
    else
        return ((1u << WIDTH) - 1) << (lane_id() & ~(WIDTH - 1));
}

/* The sum over the subwarp, in every lane of it, and in float the same bits in every lane. Only the
 * lanes of this subwarp need to be here. log2(WIDTH) shuffles. */
template <int WIDTH, class T> __device__ __forceinline__ T subwarp_sum(T x)
{
    const unsigned mask = subwarp_mask<WIDTH>();
#pragma unroll
    for (int d = WIDTH / 2; d > 0; d /= 2)
        x += __shfl_xor_sync(mask, x, d);
    return x;
}

/* The largest value in the subwarp, in every lane of it. */
template <int WIDTH, class T> __device__ __forceinline__ T subwarp_max(T x)
{
    const unsigned mask = subwarp_mask<WIDTH>();
#pragma unroll
    for (int d = WIDTH / 2; d > 0; d /= 2) {
        const T other = __shfl_xor_sync(mask, x, d);
        x = x < other ? other : x;
    }
    return x;
}

/* The sum over this lane and all lower ones: an inclusive scan of the warp in log2(32) steps (Hillis and
 * Steele 1986). */
__device__ __forceinline__ int warp_inclusive_sum(int x)
{
#pragma unroll
    for (int d = 1; d < WARP_SIZE; d *= 2) {
        const int lower = __shfl_up_sync(FULL_MASK, x, d);
        if (lane_id() >= d) x += lower;
    }
    return x;
}

template <class T> __device__ __forceinline__ T warp_sum(T x)
{
    return subwarp_sum<WARP_SIZE>(x);
}
template <class T> __device__ __forceinline__ T warp_max(T x)
{
    return subwarp_max<WARP_SIZE>(x);
}

#endif
