/*
 * mma.cuh - matrix products of a warp on tensor cores: d = a * b + c with fp32 accumulation, and
 * the loads that bring 16-bit tiles from shared memory into the layout they want.
 *
 * All 32 lanes must take part. A is 16 x K, row-major; B is K x 8, column-major; C and D are 16
 * x 8. A fragment is what one lane holds. With g = lane / 4 (0..7) and t = lane % 4:
 *
 *   C, D   four floats             column  0 1   2 3   4 5   6 7
 *                                  row 0  |t=0 | t=1 | t=2 | t=3 |   g = 0:  c[0] c[1] of each lane
 *                                  row 1  |    |     |     |     |   g = 1
 *                                   ...
 *                                  row 8  |    |     |     |     |   g = 0:  c[2] c[3]
 *                                   ...
 *          c[e] is element (g + 8 * (e / 2), 2t + e % 2)
 *
 *   A, K = 16, 16-bit elements: four words of two
 *                                  column  0..7       8..15
 *                                  row 0..7  | a[0]  |  a[2]  |
 *                                  row 8..15 | a[1]  |  a[3]  |
 *          in each 8 x 8 quarter lane (g, t) holds row g, columns 2t (low half) and 2t + 1 (high)
 *   A, K = 8, 16-bit: the left half of that, a[0] and a[1]
 *   A, K = 8, tf32: quarters of 8 x 4; lane (g, t) holds row g, column t of each
 *
 *   B, K = 16, 16-bit: b[0] holds rows 2t (low half) and 2t + 1 (high) of column g, b[1] the same
 *          8 rows further down;  K = 8, 16-bit: b[0] alone
 *   B, K = 8, tf32: b[0] is (t, g), b[1] is (t + 4, g)
 *
 * PTX ISA, "Matrix Fragments for mma.m16n8k8" and "... mma.m16n8k16".
 */
#ifndef DEVICE_MMA_CUH
#define DEVICE_MMA_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <stdint.h>
#include <type_traits>

/* fp16, K = 8. Compute capability 7.5 and up. */
__device__ __forceinline__ void mma_m16n8k8_f16(float (&d)[4], const uint32_t (&a)[2],
                                                const uint32_t (&b)[1], const float (&c)[4])
{
#ifdef __CUDACC__
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
#else
    simt_mma(SIMT_MMA_K8_F16, d, a, b, c);
#endif
}

/* fp16, K = 16. Compute capability 8.0 and up; a trap below. */
__device__ __forceinline__ void mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4],
                                                 const uint32_t (&b)[2], const float (&c)[4])
{
#if !defined(__CUDACC__)
    simt_mma(SIMT_MMA_K16_F16, d, a, b, c);
#elif __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]),
                   "f"(c[1]), "f"(c[2]), "f"(c[3]));
#else
    __trap();
#endif
}

/* bf16, K = 16. Compute capability 8.0 and up; a trap below. */
__device__ __forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4],
                                                  const uint32_t (&b)[2], const float (&c)[4])
{
#if !defined(__CUDACC__)
    simt_mma(SIMT_MMA_K16_BF16, d, a, b, c);
#elif __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]),
                   "f"(c[1]), "f"(c[2]), "f"(c[3]));
#else
    __trap();
#endif
}

/* Adds a product of fragments of format H, __half or __nv_bfloat16, to sum. K = 16. */
template <class H>
__device__ __forceinline__ void mma_m16n8k16(float (&sum)[4], const uint32_t (&a)[4],
                                             const uint32_t (&b)[2])
{
    if constexpr (std::is_same_v<H, __half>)
        mma_m16n8k16_f16(sum, a, b, sum);
    else
        mma_m16n8k16_bf16(sum, a, b, sum);
}

/* tf32, K = 8. Compute capability 8.0 and up; a trap below. Inputs are floats as to_tf32 returns
 * them; of others the unit ignores the 13 low bits. */
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4],
                                                 const uint32_t (&b)[2], const float (&c)[4])
{
#if !defined(__CUDACC__)
    simt_mma(SIMT_MMA_K8_TF32, d, a, b, c);
#elif __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]),
                   "f"(c[1]), "f"(c[2]), "f"(c[3]));
#else
    __trap();
#endif
}

/* Rounds a float to the nearest tf32 number (10 fraction bits; ties away from zero). */
__device__ __forceinline__ uint32_t to_tf32(float x)
{
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
    uint32_t r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return r;
#else
    const uint32_t bits = __float_as_uint(x);
    const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
    return finite ? (bits + 0x1000u) & ~0x1fffu : bits;
#endif
}

/* Bounds the error of a product in three parts, in units of 2^-24: a contender's product_rounding. 12 are cut off the low parts.
 * 16 are low * low, which is left out. 4 are cut off the sums of the three. */
constexpr double THREE_PARTS_ROUNDING = 12 + 16 + 4;

/* x = high + low for a product in three parts, high * high + high * low + low * high: then tensor cores
 * come within 2^-19 |x| |y| of each product. Both are for mma_m16n8k8_tf32, which ignores 13 low bits:
 * of x itself that leaves 11 bits, low is the rest, of 13 bits, and of those it cuts two. What is
 * missing is at most 3 * 2^-23 for each factor and 2^-20 for low * low. Two instructions; rounding
 * high instead of cutting it would take a third, for a quarter of the error. An Inf or NaN leaves a NaN
 * in low.
 * Source: Ootomo, Yokota: Recovering single precision accuracy from Tensor Cores (2022), section 3. */
__device__ __forceinline__ void split_tf32(float x, uint32_t &high, uint32_t &low)
{
    high = __float_as_uint(x);
    low = __float_as_uint(x - __uint_as_float(high & ~0x1fffu));
}

/* The number of an operand as EXACT products want it: in two parts; or high alone, rounded to tf32. */
template <bool EXACT>
__device__ __forceinline__ void parts_tf32(float x, uint32_t &high, uint32_t &low)
{
    if constexpr (EXACT) {
        split_tf32(x, high, low);
    } else {
        high = to_tf32(x);
        low = 0;
    }
}

/* Adds a, in parts, times eight columns of fp32 numbers to sum; b: the lane's elements of these. EXACT: three products make
 * one of fp32, the small ones first. Tensor cores cut their sums, so CUDA cores add up the threes. Else one product. */
template <bool EXACT>
__device__ __forceinline__ void mma_m16n8k8_parts(float (&sum)[4], const uint32_t (&a_high)[4],
                                                  const uint32_t (&a_low)[4], const float (&b)[2])
{
    uint32_t high[2], low[2];
    parts_tf32<EXACT>(b[0], high[0], low[0]);
    parts_tf32<EXACT>(b[1], high[1], low[1]);
    if constexpr (EXACT) {
        float part[4] = {};
        mma_m16n8k8_tf32(part, a_low, high, part);
        mma_m16n8k8_tf32(part, a_high, low, part);
        mma_m16n8k8_tf32(part, a_high, high, part);
#pragma unroll
        for (int e = 0; e < 4; e++)
            sum[e] += part[e];
    } else {
        mma_m16n8k8_tf32(sum, a_high, high, sum);
    }
}

/* ldmatrix loads 8 x 8 tiles of 16-bit elements. Lane 8i + r passes the address of row r of tile i:
 * 16 bytes, aligned to 16, in shared memory. Lane (g, t) receives, of each tile, row g, columns 2t
 * and 2t + 1: a quarter of A, or, with the rows of B's columns, b[0] or b[1]. The _trans forms
 * give column g, rows 2t and 2t + 1 instead, for a tile of B stored row-major. Of x1 and x2 the
 * addresses of the upper lanes are not used. Compute capability 7.5 and up. */

__device__ __forceinline__ void ldmatrix_x1(uint32_t (&r)[1], const void *row)
{
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r[0])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
#else
    simt_ldmatrix(r, row, 1, false);
#endif
}

__device__ __forceinline__ void ldmatrix_x1_trans(uint32_t (&r)[1], const void *row)
{
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(r[0])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
#else
    simt_ldmatrix(r, row, 1, true);
#endif
}

__device__ __forceinline__ void ldmatrix_x2(uint32_t (&r)[2], const void *row)
{
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
#else
    simt_ldmatrix(r, row, 2, false);
#endif
}

__device__ __forceinline__ void ldmatrix_x2_trans(uint32_t (&r)[2], const void *row)
{
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
#else
    simt_ldmatrix(r, row, 2, true);
#endif
}

__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], const void *row)
{
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
#else
    simt_ldmatrix(r, row, 4, false);
#endif
}

__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&r)[4], const void *row)
{
#ifdef __CUDACC__
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row))
                 : "memory");
#else
    simt_ldmatrix(r, row, 4, true);
#endif
}

#endif
