/*
 * mbarrier.cuh - barriers in shared memory that count arrivals and bytes. Bulk copies from global to
 * shared memory report to them. (Compute capability 9.0 and up; a trap below.)
 *
 *     mbarrier_init(&full, 1);             one thread; mbarrier_publish() and __syncthreads() follow
 *     mbarrier_expect(&full, bytes);       one arrival, and so many bytes to come in this phase
 *     bulk_copy(tile, from, bytes, &full);
 *     mbarrier_wait(&full, parity);        whoever reads the tile
 *
 * A barrier is in phase 0, 1, 2, ...; a phase ends when all its arrivals have been made and all bytes
 * that were announced have come, and the next begins at once. mbarrier_wait(b, p) waits for the end of
 * the latest phase of parity p: of phase 0 with p = 0. On a new barrier p = 1 does not wait, which is
 * what the first round of a ring of empty buffers wants.
 *
 * What a thread did before it arrived is visible to whoever has waited for that phase, and so is what
 * the copies wrote.
 */
#ifndef DEVICE_MBARRIER_CUH
#define DEVICE_MBARRIER_CUH

#include <stdint.h>

struct mbarrier {
    uint64_t state; /* opaque */
};

#ifdef __CUDACC__
__device__ __forceinline__ uint32_t shared_window(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}
#endif

/* For `arrivals` arrivals a phase. One thread. */
__device__ __forceinline__ void mbarrier_init(mbarrier *b, unsigned arrivals)
{
#if !defined(__CUDACC__)
    simt_mbarrier_init(b, arrivals);
#elif __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_window(b)), "r"(arrivals)
                 : "memory");
#else
    __trap();
#endif
}

/* After the initialisations, by the same thread: copies may use these barriers from here on, other
 * threads after they have synchronised with this one. */
__device__ __forceinline__ void mbarrier_publish()
{
#if !defined(__CUDACC__)
    simt_mbarrier_publish();
#elif __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* One arrival. */
__device__ __forceinline__ void mbarrier_arrive(mbarrier *b)
{
#if !defined(__CUDACC__)
    simt_mbarrier_arrive(b, 0);
#elif __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_window(b)) : "memory");
#else
    __trap();
#endif
}

/* One arrival that announces `bytes` (below 2^20 in a phase) to be copied in this phase. */
__device__ __forceinline__ void mbarrier_expect(mbarrier *b, unsigned bytes)
{
#if !defined(__CUDACC__)
    simt_mbarrier_arrive(b, bytes);
#elif __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_window(b)),
                 "r"(bytes)
                 : "memory");
#else
    __trap();
#endif
}

__device__ __forceinline__ void mbarrier_wait(mbarrier *b, unsigned parity)
{
#if !defined(__CUDACC__)
    simt_mbarrier_wait(b, parity);
#elif __CUDA_ARCH__ >= 900
    asm volatile("{\n\t"
                 ".reg .pred done;\n"
                 "again_%=:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra again_%=;\n\t"
                 "}" ::"r"(shared_window(b)),
                 "r"(parity)
                 : "memory");
#else
    __trap();
#endif
}

/* Starts copying `bytes` from global to shared memory; both addresses and the size are multiples of
 * 16. The bytes count towards what was announced to `b`. One thread starts it for all. */
__device__ __forceinline__ void bulk_copy(void *shared, const void *global, unsigned bytes,
                                          mbarrier *b)
{
#if !defined(__CUDACC__)
    simt_bulk_copy(shared, global, bytes, b);
#elif __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(shared_window(shared)),
                 "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_window(b))
                 : "memory");
#else
    __trap();
#endif
}

/* Makes the barriers of a ring of buffers. One thread. */
static __device__ __forceinline__ void mbarrier_init_ring(mbarrier *full, int buffers,
                                                          unsigned full_arrivals, mbarrier *empty,
                                                          unsigned empty_arrivals)
{
#pragma unroll 1
    for (int i = 0; i < buffers; i++) {
        mbarrier_init(full + i, full_arrivals);
        mbarrier_init(empty + i, empty_arrivals);
    }
}

/* A thread's place in a ring of buffers with a barrier each: the buffer's number, and the parity of the
 * phase that it waits for. It begins with parity 0 where buffers are to be filled first, and with 1 where
 * they are empty already. */
struct ring_turn {
    int number;
    unsigned parity;
    __device__ void advance(int buffers)
    {
        if (++number < buffers) return;
        number = 0;
        parity ^= 1;
    }
};

#endif
