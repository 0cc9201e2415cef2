/*
 * last_block.cuh - which of the blocks that share a result comes last, and so finds all that the others
 * have left for it.
 */
#ifndef DEVICE_LAST_BLOCK_CUH
#define DEVICE_LAST_BLOCK_CUH

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

#endif
