/*
 * wgmma.cuh - matrix products of a warpgroup, four warps from a multiple of four on, that run while it goes
 * on. Compute capability 9.0, compiled for sm_90a, which no other device runs; a trap elsewhere.
 *
 *     wgmma_publish(); __syncthreads();            what threads wrote to shared memory is ready for products,
 *     wgmma_fence(a);                              and so are registers
 *     wgmma_m64n64k8_tf32<false>(d, a, b);         start products ...
 *     wgmma_m64n64k8_tf32<true>(d, a2, b2);        ... in this order, where they have the same d
 *     wgmma_commit();
 *     wgmma_wait(d);                               they are done
 *
 * Until then nobody may touch d, change a, or write what b describes.
 *
 * A is 64 x 8: each warp has 16 rows, as in mma.m16n8k8 (mma.cuh). D is 64 x 64: of a warp's 16 rows d[j] is
 * what mma.m16n8k8 makes of columns 8 j and up. B is 8 x 64 and lies in shared memory, where its columns are
 * rows: 64 rows of 128 bytes from a multiple of 1,024 on; piece j of row r, 16 bytes, at place j ^ (r % 8).
 *
 * PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
 */
#ifndef DEVICE_WGMMA_CUH
#define DEVICE_WGMMA_CUH

#include "device/shared.cuh"

#include <stdint.h>

/* Whether this pass compiles for the one device that has the instructions. */
#if defined(__CUDACC__) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define WGMMA_COMPILED 1
#else
#define WGMMA_COMPILED 0
#endif

/* Makes this thread's stores and awaited asynchronous copies to shared memory visible to products. A barrier
 * follows. */
__device__ __forceinline__ void wgmma_publish()
{
#if WGMMA_COMPILED
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* Describes B: the contents of `rows`, 128 bytes a row. It adds up: + n leads 16 n bytes further on. */
__device__ __forceinline__ uint64_t wgmma_operand(const void *rows)
{
    const uint64_t GROUP_BYTES = 8 * 128, IN_GROUPS_OF_8 = UINT64_C(1) << 62;
    return (shared_address(rows) >> 4 & 0x3fff) | UINT64_C(1) << 16 | GROUP_BYTES >> 4 << 32 |
           IN_GROUPS_OF_8;
}

/* Once `a` has been set, and d has been read: before the first product. */
template <int WORDS>
__device__ __forceinline__ void wgmma_fence(uint32_t (&a)[WORDS], uint32_t (&a2)[WORDS])
{
#if WGMMA_COMPILED
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        asm volatile("" : "+r"(a[i]), "+r"(a2[i])::"memory"); /* set before, not after */
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#else
    (void)a, (void)a2;
#endif
}

#define WGMMA_D4(how, d) how(d[0]), how(d[1]), how(d[2]), how(d[3])
#define WGMMA_D32(how, d)                                                               \
    WGMMA_D4(how, d[0]), WGMMA_D4(how, d[1]), WGMMA_D4(how, d[2]), WGMMA_D4(how, d[3]), \
        WGMMA_D4(how, d[4]), WGMMA_D4(how, d[5]), WGMMA_D4(how, d[6]), WGMMA_D4(how, d[7])
#define WGMMA_M64N64K8_TF32                                        \
    "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "         \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,"  \
    "%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}" \
    ", {%32,%33,%34,%35}, %36, add, 1, 1;\n}"

/* Starts d = a b, or d += a b if ADD. Of tf32 numbers the unit ignores the 13 low bits. */
template <bool ADD>
__device__ __forceinline__ void wgmma_m64n64k8_tf32(float (&d)[8][4], const uint32_t (&a)[4],
                                                    uint64_t b)
{
#if !defined(__CUDACC__)
    simt_wgmma(&d[0][0], a, b, ADD);
#elif WGMMA_COMPILED
    if constexpr (ADD)
        asm volatile("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n" WGMMA_M64N64K8_TF32
                     : WGMMA_D32("+f", d)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
                     : "memory");
    else
        asm volatile("{\n.reg .pred add;\nsetp.ne.u32 add, 0, 0;\n" WGMMA_M64N64K8_TF32
                     : WGMMA_D32("=f", d)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
                     : "memory");
#else
    (void)d, (void)a, (void)b;
    __trap();
#endif
}

/* The products started since the last commit are a group. */
__device__ __forceinline__ void wgmma_commit()
{
#if WGMMA_COMPILED
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/* Waits for all groups, the last of which makes d. */
__device__ __forceinline__ void wgmma_wait(float (&d)[8][4])
{
#if WGMMA_COMPILED
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int j = 0; j < 8; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            asm volatile("" : "+f"(d[j][e])::"memory"); /* read after, not before */
#else
    (void)d;
#endif
}

#endif
