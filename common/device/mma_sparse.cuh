/*
 * mma_sparse.cuh - products of a warp on sparse tensor cores: of each four neighbouring elements of a row of A two
 * are stored, and metadata say which ("2:4"). A product of K = 32 costs what one of K = 16 does.
 *
 * All 32 lanes must take part. A is 16 x 32, of which a row stores 16 elements; B is 32 x 8, column-major; C and D
 * are 16 x 8. With g = lane / 4 and t = lane % 4, and columns of A's stored elements, 0 to 15:
 *
 *   A      four words of two, in the layout of mma.cuh's 16 x 16. Stored columns 2j and 2j + 1 are of the j-th
 *          four: so a[0] holds two elements of row g of the t-th four, columns 4t to 4t + 3; a[1] the same of
 *          row g + 8; a[2] and a[3] of the four t + 4, columns 16 + 4t and up
 *   B      b[i] holds rows 8i + 2t (low half) and 8i + 2t + 1 (high) of column g
 *   C, D   as in mma.cuh
 *
 *   metadata   16 bits a row and half of it: of each four, from the lowest bits up, two bits for the place of
 *              the first stored element and two for that of the second, which must be larger:
 *
 *                  bits    0 1    2 3    4 5    6 7    ...   14 15
 *                        first second  first second  ...    second
 *                        columns 0..3   columns 4..7  ...    columns 12..15
 *
 *              The two lanes of each g that a SELECTOR names pass them: lanes t = 2 SELECTOR the columns 0 to 15,
 *              lanes t = 2 SELECTOR + 1 the columns 16 to 31; row g in the low half of the word, row g + 8 in the
 *              high one. Words of other lanes are not looked at. So one word a lane serves two products.
 *
 * PTX ISA, "Multiply-and-Accumulate Instruction: mma.sp", figures of .m16n8k32 with .f16 and .bf16. From version 8.5
 * on it calls metadata in ascending order ".ordered_metadata"; other metadata are slow on some GPUs.
 */
#ifndef DEVICE_MMA_SPARSE_CUH
#define DEVICE_MMA_SPARSE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <stdint.h>
#include <type_traits>

#if defined(__CUDACC__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1205
#define MMA_SP "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32."
#else /* an assembler of PTX before 8.5 */
#define MMA_SP "mma.sp.sync.aligned.m16n8k32.row.col.f32."
#endif

/* Adds a product of fragments of format H, __half or __nv_bfloat16, to sum. SELECTOR: 0 or 1, whose metadata count.
 * Compute capability 8.0 and up; a trap below. */
template <class H, int SELECTOR>
__device__ __forceinline__ void mma_sp_m16n8k32(float (&sum)[4], const uint32_t (&a)[4],
                                                const uint32_t (&b)[4], uint32_t metadata)
{
    static_assert(SELECTOR == 0 || SELECTOR == 1);
#if !defined(__CUDACC__)
    simt_mma_sp(std::is_same_v<H, __half> ? SIMT_MMA_K16_F16 : SIMT_MMA_K16_BF16, sum, a, b,
                metadata, SELECTOR);
#elif __CUDA_ARCH__ >= 800
    if constexpr (std::is_same_v<H, __half>)
        asm volatile(MMA_SP "f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, "
                            "{%0,%1,%2,%3}, %12, %13;"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]),
                       "r"(b[3]), "r"(metadata), "n"(SELECTOR));
    else
        asm volatile(MMA_SP "bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, "
                            "{%0,%1,%2,%3}, %12, %13;"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]),
                       "r"(b[3]), "r"(metadata), "n"(SELECTOR));
#else
    __trap();
#endif
}

#undef MMA_SP

#endif
