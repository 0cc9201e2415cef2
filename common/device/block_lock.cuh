/*
 * block_lock.cuh - a lock in global memory that a whole block holds, so that blocks change a result one after the
 * other. The lock is an int, 0 while nobody has it. For all threads of a block.
 *
 * Four things make it right. Thread 0 asks for the lock with an atomic, which no other block's comes between. Its fence
 * and the barrier keep what the block reads behind that. What the block writes is fenced by each thread that wrote, and
 * the barrier puts all of that before thread 0 gives the lock back. And what the block reads under the lock it must read
 * from L2 (load_vector_l2): L1 of this SM may hold the result as it was before another SM changed it.
 *
 * A block spins while another one holds the lock. That ends, since the holder is running and asks for nothing else.
 */
#ifndef DEVICE_BLOCK_LOCK_CUH
#define DEVICE_BLOCK_LOCK_CUH

/* Returns when this block has the lock. */
static __device__ __forceinline__ void block_lock(int *lock)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0)
            ;
        __threadfence();
    }
    __syncthreads();
}

/* Gives it back, with all that the block's threads have written before. */
static __device__ __forceinline__ void block_unlock(int *lock)
{
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(lock, 0);
}

#endif
