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
 * Until then nobody may touch d, change a, or write what b describes. Read a anew in each turn of a loop: nvcc 13.0
 * gives its registers to others behind the turn's last product.
 *
 * A is 64 x K: each warp has 16 rows, as in mma.m16n8kK (mma.cuh). D is 64 x N: of a warp's 16 rows d[j] is what
 * such a product makes of columns 8 j and up. B is K x N and lies in shared memory, in rows of 128 or 64 bytes.
 * Their pieces of 16 bytes are swizzled as tensor_copy (tensor_map.cuh) leaves them. A row is one of two things:
 *
 *     a column of B      N rows; a product takes 32 bytes of each: the next K, 32 bytes further on
 *     ACROSS: a row      of N numbers, K rows a product; 16-bit numbers only
 *
 * A may lie there, too, each row a column of it, beside a B that is ACROSS: wgmma_k16_shared. Such rows have 128 bytes. So both
 * operands may be what they are in the product of a transposed matrix with another one, and nobody moves a number.
 *
 * PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
 */
#ifndef DEVICE_WGMMA_CUH
#define DEVICE_WGMMA_CUH

#include "device/shared.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <stdint.h>
#include <type_traits>

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

/* Describes an operand: the contents of `rows`, ROW_BYTES each, from a multiple of eight of them on. It adds up: + n leads
 * 16 n bytes further on. panel_bytes: how far apart panels lie, of which each has so many bytes of all rows, if an operand
 * has several. */
template <int ROW_BYTES = 128>
__device__ __forceinline__ uint64_t wgmma_operand(const void *rows, uint32_t panel_bytes = 16)
{
    static_assert(ROW_BYTES == 128 || ROW_BYTES == 64);
    const uint64_t GROUP_BYTES = 8 * ROW_BYTES, SWIZZLE = UINT64_C(128) / ROW_BYTES << 62;
    return (shared_address(rows) >> 4 & 0x3fff) | (uint64_t)(panel_bytes >> 4) << 16 |
           GROUP_BYTES >> 4 << 32 | SWIZZLE;
}

/* Where products have no operand in registers: before the first one, and again after a wait. */
__device__ __forceinline__ void wgmma_fence()
{
#if !defined(__CUDACC__)
    simt_wgmma_fence();
#elif WGMMA_COMPILED
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

/* The same where d has been written since its last product, other than by zeros. */
template <int TILES> __device__ __forceinline__ void wgmma_fence(float (&d)[TILES][4])
{
#if WGMMA_COMPILED
#pragma unroll
    for (int i = 0; i < 4 * TILES; i++)
        asm volatile("" : "+f"(d[i / 4][i % 4])::"memory"); /* written before, not after */
#else
    (void)d;
#endif
    wgmma_fence();
}

/* Once `a` has been set, and d has been read: before the first product. */
template <int WORDS>
__device__ __forceinline__ void wgmma_fence(uint32_t (&a)[WORDS], uint32_t (&a2)[WORDS])
{
#if WGMMA_COMPILED
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        asm volatile("" : "+r"(a[i]), "+r"(a2[i])::"memory"); /* set before, not after */
#else
    (void)a, (void)a2;
#endif
    wgmma_fence();
}

/* The same for the operands of several products. */
template <int PRODUCTS> __device__ __forceinline__ void wgmma_fence(uint32_t (&a)[PRODUCTS][4])
{
#if WGMMA_COMPILED
#pragma unroll
    for (int i = 0; i < 4 * PRODUCTS; i++)
        asm volatile("" : "+r"(a[i / 4][i % 4])::"memory");
#else
    (void)a;
#endif
    wgmma_fence();
}

/* The same where d has been written since its last product, too. */
template <int PRODUCTS, int TILES>
__device__ __forceinline__ void wgmma_fence(uint32_t (&a)[PRODUCTS][4], float (&d)[TILES][4])
{
#if WGMMA_COMPILED
#pragma unroll
    for (int i = 0; i < 4 * TILES; i++)
        asm volatile("" : "+f"(d[i / 4][i % 4])::"memory");
#else
    (void)d;
#endif
    wgmma_fence(a);
}

#define WGMMA_D4(how, d) how(d[0]), how(d[1]), how(d[2]), how(d[3])
#define WGMMA_D16(how, d) \
    WGMMA_D4(how, d[0]), WGMMA_D4(how, d[1]), WGMMA_D4(how, d[2]), WGMMA_D4(how, d[3])
#define WGMMA_D32(how, d)                                                               \
    WGMMA_D4(how, d[0]), WGMMA_D4(how, d[1]), WGMMA_D4(how, d[2]), WGMMA_D4(how, d[3]), \
        WGMMA_D4(how, d[4]), WGMMA_D4(how, d[5]), WGMMA_D4(how, d[6]), WGMMA_D4(how, d[7])
#define WGMMA_D64(how, d) WGMMA_D32(how, d), WGMMA_D32(how, (d + 8))
#define WGMMA_D128(how, d) WGMMA_D64(how, d), WGMMA_D64(how, (d + 16))
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
    const simt_wgmma_shape shape = {SIMT_MMA_K8_TF32, 64, false, ADD};
    simt_wgmma(&d[0][0], a, b, &shape);
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

#define WGMMA_K16(n, type, registers, operands) \
    "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type " " registers ", " operands
#define WGMMA_N64(type)                                                       \
    WGMMA_K16("64", type,                                                     \
              "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,"   \
              "%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}", \
              "{%32,%33,%34,%35}, %36, 1, 1, 1, %37;")
#define WGMMA_N32(type)                                                              \
    WGMMA_K16("32", type, "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}", \
              "{%16,%17,%18,%19}, %20, 1, 1, 1, %21;")
#define WGMMA_INPUTS(a, b, across) "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(across)

/* Starts d += a b of numbers of format H, __half or __nv_bfloat16: 16 deep, 64 columns or 32, eight a tile. */
template <class H, bool ACROSS, int TILES>
__device__ __forceinline__ void wgmma_k16(float (&d)[TILES][4], const uint32_t (&a)[4], uint64_t b)
{
    static_assert(TILES == 8 || TILES == 4, "64 columns or 32");
    constexpr bool IS_HALF = std::is_same_v<H, __half>;
#if !defined(__CUDACC__)
    const simt_wgmma_shape shape = {IS_HALF ? SIMT_MMA_K16_F16 : SIMT_MMA_K16_BF16, 8 * TILES,
                                    ACROSS, true};
    simt_wgmma(&d[0][0], a, b, &shape);
#elif WGMMA_COMPILED
#define WGMMA_START(product, D) \
    asm volatile(product : D("+f", d) : WGMMA_INPUTS(a, b, (int)ACROSS) : "memory")
    if constexpr (TILES == 8 && IS_HALF)
        WGMMA_START(WGMMA_N64("f16"), WGMMA_D32);
    else if constexpr (TILES == 8)
        WGMMA_START(WGMMA_N64("bf16"), WGMMA_D32);
    else if constexpr (IS_HALF)
        WGMMA_START(WGMMA_N32("f16"), WGMMA_D16);
    else
        WGMMA_START(WGMMA_N32("bf16"), WGMMA_D16);
#undef WGMMA_START
#else
    (void)d, (void)a, (void)b, (void)IS_HALF;
    __trap();
#endif
}

#define WGMMA_R64                                                                              \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,"   \
    "%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45," \
    "%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define WGMMA_R128                                                                             \
    WGMMA_R64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,"  \
              "%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101," \
              "%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,"    \
              "%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
/* Both operands are in shared memory, and a row of each is one of the product's depth. */
#define WGMMA_SHARED(n, type, registers, a, b) \
    WGMMA_K16(n, type, "{" registers "}", a ", " b ", 1, 1, 1, 1, 1;")
#define WGMMA_SHARED_64(type)                                                                     \
    WGMMA_SHARED("64", type,                                                                      \
                 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21," \
                 "%22,%23,%24,%25,%26,%27,%28,%29,%30,%31",                                       \
                 "%32", "%33")
#define WGMMA_SHARED_128(type) WGMMA_SHARED("128", type, WGMMA_R64, "%64", "%65")
#define WGMMA_SHARED_256(type) WGMMA_SHARED("256", type, WGMMA_R128, "%128", "%129")

/* Starts d += a b, both in shared memory: 16 rows of 64 numbers, each a column of A, and 16 rows of B, of 64, 128 or 256
 * numbers in panels of 64. */
template <class H, int TILES>
__device__ __forceinline__ void wgmma_k16_shared(float (&d)[TILES][4], uint64_t a, uint64_t b)
{
    static_assert(TILES == 8 || TILES == 16 || TILES == 32, "64 columns, 128 or 256");
    constexpr bool IS_HALF = std::is_same_v<H, __half>;
#if !defined(__CUDACC__)
    const simt_wgmma_shape shape = {IS_HALF ? SIMT_MMA_K16_F16 : SIMT_MMA_K16_BF16, 8 * TILES, true,
                                    true};
    simt_wgmma_shared(&d[0][0], a, b, &shape);
#elif WGMMA_COMPILED
#define WGMMA_START(columns, D)                                                               \
    if constexpr (IS_HALF)                                                                    \
        asm volatile(WGMMA_SHARED_##columns("f16") : D("+f", d) : "l"(a), "l"(b) : "memory"); \
    else                                                                                      \
        asm volatile(WGMMA_SHARED_##columns("bf16") : D("+f", d) : "l"(a), "l"(b) : "memory")
    if constexpr (TILES == 8) {
        WGMMA_START(64, WGMMA_D32);
    } else if constexpr (TILES == 16) {
        WGMMA_START(128, WGMMA_D64);
    } else {
        WGMMA_START(256, WGMMA_D128);
    }
#undef WGMMA_START
#else
    (void)d, (void)a, (void)b, (void)IS_HALF;
    __trap();
#endif
}

/* The products started since the last commit are a group. */
__device__ __forceinline__ void wgmma_commit()
{
#if !defined(__CUDACC__)
    simt_wgmma_commit();
#elif WGMMA_COMPILED
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/* Waits until at most PENDING of the latest groups are unfinished. */
template <int PENDING> __device__ __forceinline__ void wgmma_wait_but()
{
#if !defined(__CUDACC__)
    simt_wgmma_wait(PENDING);
#elif WGMMA_COMPILED
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
#endif
}

/* The same; a: operands of the products that are done then. */
template <int PENDING, int PRODUCTS>
__device__ __forceinline__ void wgmma_wait_but(uint32_t (&a)[PRODUCTS][4])
{
    wgmma_wait_but<PENDING>();
#if WGMMA_COMPILED
#pragma unroll
    for (int i = 0; i < 4 * PRODUCTS; i++)
        asm volatile("" : "+r"(a[i / 4][i % 4])::"memory"); /* in use until now */
#else
    (void)a;
#endif
}

/* Waits for all groups, the last of which makes d. */
template <int COUNT> __device__ __forceinline__ void wgmma_wait(float (&d)[COUNT][4])
{
    wgmma_wait_but<0>();
#if WGMMA_COMPILED
#pragma unroll
    for (int j = 0; j < COUNT; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            asm volatile("" : "+f"(d[j][e])::"memory"); /* read after, not before */
#else
    (void)d;
#endif
}

/* All threads of a warpgroup take registers that others have given: so many a thread from here on, a multiple of 8. The
 * kernel has launch bounds with one block a multiprocessor. */
template <int REGISTERS> __device__ __forceinline__ void warpgroup_take_registers()
{
#if WGMMA_COMPILED
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}
template <int REGISTERS> __device__ __forceinline__ void warpgroup_give_registers()
{
#if WGMMA_COMPILED
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}

#endif
