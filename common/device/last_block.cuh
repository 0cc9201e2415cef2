/*
 * last_block.cuh - which of the blocks, or warps, that share a result comes last, and so finds all that the
 * others have left for it.
 */
#ifndef DEVICE_LAST_BLOCK_CUH
#define DEVICE_LAST_BLOCK_CUH

#include "device/warp.cuh"

/* For all threads of a block, after they have written what they leave: whether it is the last of `count`
 * blocks that share the counter. If so it finds in L2 what the others have left. The counter must be 0
 * before, and is 0 again after the last, for the next run. */
static __device__ __forceinline__ bool comes_last(unsigned *arrived, unsigned count)
{
    bool is_last = false;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        is_last = atomicInc(arrived, count - 1) == count - 1;
        __threadfence();
    }
    return __syncthreads_or(is_last);
}

/* The same for all lanes of a warp, and of `count` warps. Lane 0 speaks for all: __syncwarp puts what they wrote
 * before its fence, and its second fence before what they read. A shuffle alone orders no memory. */
static __device__ __forceinline__ bool warp_comes_last(unsigned *arrived, unsigned count)
{
    int is_last = 0;
    __syncwarp();
    if (lane_id() == 0) {
        __threadfence();
        is_last = atomicInc(arrived, count - 1) == count - 1; /* wraps to 0 itself */
        __threadfence();
    }
    is_last = __shfl_sync(FULL_MASK, is_last, 0);
    __syncwarp();
    return is_last;
}

#endif
