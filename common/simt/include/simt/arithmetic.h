/*
 * arithmetic.h - integer, bit and floating-point intrinsics.
 *
 * The fast functions (__expf, __sinf, rsqrtf, ...) are approximations on a GPU, with error bounds
 * in the programming guide; here they are the C library's, which stays within those bounds.
 */
#ifndef SIMT_ARITHMETIC_H
#define SIMT_ARITHMETIC_H

#include <limits>
#include <math.h>

#include "simt/base.h"

/* ---- bits ---------------------------------------------------------------------------------- */

SIMT_INLINE int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
SIMT_INLINE int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
SIMT_INLINE int __ffs(int x)
{
    return __builtin_ffs(x);
}
SIMT_INLINE int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
SIMT_INLINE int __clz(int x)
{
    return x ? __builtin_clz((unsigned)x) : 32;
}
SIMT_INLINE int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}

/* Reversal: swap neighbouring bits, pairs, nibbles, then bytes. */
SIMT_INLINE unsigned __brev(unsigned x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
SIMT_INLINE unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}

/* The larger of each half, both unsigned. */
SIMT_INLINE unsigned __vmaxu2(unsigned x, unsigned y)
{
    const unsigned low = (x & 0xffffu) > (y & 0xffffu) ? x : y;
    const unsigned high = x >> 16 > y >> 16 ? x : y;
    return (high & 0xffff0000u) | (low & 0xffffu);
}

/* Byte i of the result is byte (selector >> 4i & 7) of y:x. (The fourth bit of a selector digit
 * makes PTX's prmt repeat the sign, but nvcc's __byte_perm masks it off; an H200 was asked.) */
SIMT_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    uint64_t bytes = (uint64_t)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++)
        result |= (unsigned)(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
}

/* 32 bits out of hi:lo. _l and _r take the shift modulo 32, _lc and _rc clamp it to 32. */
SIMT_INLINE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift)
{
    return (unsigned)((((uint64_t)hi << 32 | lo) << (shift & 31)) >> 32);
}
SIMT_INLINE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift)
{
    return (unsigned)(((uint64_t)hi << 32 | lo) >> (shift & 31));
}
SIMT_INLINE unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift)
{
    return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}
SIMT_INLINE unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift)
{
    return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}

/* ---- integers ------------------------------------------------------------------------------ */

SIMT_INLINE int __mulhi(int a, int b)
{
    return (int)((int64_t)a * b >> 32);
}
SIMT_INLINE unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}
SIMT_INLINE long long __mul64hi(long long a, long long b)
{
    return (long long)((__int128)a * b >> 64);
}
SIMT_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
/* The low 32 bits of the product of the operands' low 24 bits, sign-extended for __mul24. */
SIMT_INLINE unsigned __umul24(unsigned a, unsigned b)
{
    return (a & 0xffffff) * (b & 0xffffff);
}
SIMT_INLINE int __mul24(int a, int b)
{
    return (int)((unsigned)((int)((unsigned)a << 8) >> 8) *
                 (unsigned)((int)((unsigned)b << 8) >> 8));
}
SIMT_INLINE unsigned __sad(int a, int b, unsigned sum)
{
    return sum + (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a);
}
SIMT_INLINE unsigned __usad(unsigned a, unsigned b, unsigned sum)
{
    return sum + (a > b ? a - b : b - a);
}
/* c and the products of the bytes of a and b, signed or not. */
SIMT_INLINE int __dp4a(int a, int b, int c)
{
    unsigned sum = (unsigned)c;
    for (int i = 0; i < 32; i += 8)
        sum += (unsigned)((int8_t)(a >> i) * (int8_t)(b >> i));
    return (int)sum;
}
SIMT_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    for (int i = 0; i < 32; i += 8)
        c += (a >> i & 0xff) * (b >> i & 0xff);
    return c;
}

/* min and max for every pair of types that CUDA has them for, with its result type. */
#define SIMT_MIN_MAX(A, B, RESULT)                            \
    SIMT_INLINE RESULT min(A a, B b)                          \
    {                                                         \
        return (RESULT)a < (RESULT)b ? (RESULT)a : (RESULT)b; \
    }                                                         \
    SIMT_INLINE RESULT max(A a, B b)                          \
    {                                                         \
        return (RESULT)a > (RESULT)b ? (RESULT)a : (RESULT)b; \
    }
#define SIMT_MIN_MAX_SIGNS(T)                        \
    SIMT_MIN_MAX(T, T, T)                            \
    SIMT_MIN_MAX(unsigned T, unsigned T, unsigned T) \
    SIMT_MIN_MAX(T, unsigned T, unsigned T)          \
    SIMT_MIN_MAX(unsigned T, T, unsigned T)
SIMT_MIN_MAX_SIGNS(int)
SIMT_MIN_MAX_SIGNS(long)
SIMT_MIN_MAX_SIGNS(long long)
/* Returns the number, where the other is a NaN. */
SIMT_INLINE float min(float a, float b)
{
    return fminf(a, b);
}
SIMT_INLINE float max(float a, float b)
{
    return fmaxf(a, b);
}
SIMT_INLINE double min(double a, double b)
{
    return fmin(a, b);
}
SIMT_INLINE double max(double a, double b)
{
    return fmax(a, b);
}
SIMT_INLINE double min(float a, double b)
{
    return fmin(a, b);
}
SIMT_INLINE double max(float a, double b)
{
    return fmax(a, b);
}
SIMT_INLINE double min(double a, float b)
{
    return fmin(a, b);
}
SIMT_INLINE double max(double a, float b)
{
    return fmax(a, b);
}

/* ---- reinterpretation ---------------------------------------------------------------------- */

SIMT_INLINE int __float_as_int(float x)
{
    return simt_from_bits<int>(simt_to_bits(x));
}
SIMT_INLINE unsigned __float_as_uint(float x)
{
    return simt_from_bits<unsigned>(simt_to_bits(x));
}
SIMT_INLINE float __int_as_float(int x)
{
    return simt_from_bits<float>(simt_to_bits(x));
}
SIMT_INLINE float __uint_as_float(unsigned x)
{
    return simt_from_bits<float>(simt_to_bits(x));
}
SIMT_INLINE long long __double_as_longlong(double x)
{
    return (long long)simt_to_bits(x);
}
SIMT_INLINE double __longlong_as_double(long long x)
{
    return simt_from_bits<double>((uint64_t)x);
}
SIMT_INLINE int __double2hiint(double x)
{
    return (int)(simt_to_bits(x) >> 32);
}
SIMT_INLINE int __double2loint(double x)
{
    return (int)simt_to_bits(x);
}
SIMT_INLINE double __hiloint2double(int hi, int lo)
{
    return simt_from_bits<double>((uint64_t)(unsigned)hi << 32 | (unsigned)lo);
}

/* ---- conversion ---------------------------------------------------------------------------- */

/* As cvt does: out of range becomes the nearest representable value; NaN becomes 0, but if either
 * type has 64 bits, the top bit alone. `x` is already an integer. */
template <class To, class From> SIMT_INLINE To simt_saturate(From x)
{
    const From limit = (From)ldexp(1.0, std::numeric_limits<To>::digits);
    if (x != x)
        return sizeof(To) == 8 || sizeof(From) == 8 ? (To)(UINT64_C(1) << (8 * sizeof(To) - 1))
                                                    : (To)0;
    if (x >= limit) return std::numeric_limits<To>::max();
    if (x < (std::numeric_limits<To>::is_signed ? -limit : 0))
        return std::numeric_limits<To>::min();
    return (To)x;
}

#define SIMT_TO_INTEGER(NAME, FROM, TO)           \
    SIMT_INLINE TO NAME##_rn(FROM x)              \
    {                                             \
        return simt_saturate<TO>((FROM)rint(x));  \
    }                                             \
    SIMT_INLINE TO NAME##_rz(FROM x)              \
    {                                             \
        return simt_saturate<TO>((FROM)trunc(x)); \
    }                                             \
    SIMT_INLINE TO NAME##_ru(FROM x)              \
    {                                             \
        return simt_saturate<TO>((FROM)ceil(x));  \
    }                                             \
    SIMT_INLINE TO NAME##_rd(FROM x)              \
    {                                             \
        return simt_saturate<TO>((FROM)floor(x)); \
    }
SIMT_TO_INTEGER(__float2int, float, int)
SIMT_TO_INTEGER(__float2uint, float, unsigned)
SIMT_TO_INTEGER(__float2ll, float, long long)
SIMT_TO_INTEGER(__float2ull, float, unsigned long long)
SIMT_TO_INTEGER(__double2int, double, int)
SIMT_TO_INTEGER(__double2uint, double, unsigned)
SIMT_TO_INTEGER(__double2ll, double, long long)
SIMT_TO_INTEGER(__double2ull, double, unsigned long long)

SIMT_INLINE float __int2float_rn(int x)
{
    return (float)x;
}
SIMT_INLINE float __uint2float_rn(unsigned x)
{
    return (float)x;
}
SIMT_INLINE float __ll2float_rn(long long x)
{
    return (float)x;
}
SIMT_INLINE float __ull2float_rn(unsigned long long x)
{
    return (float)x;
}
SIMT_INLINE double __int2double_rn(int x)
{
    return x;
}
SIMT_INLINE double __uint2double_rn(unsigned x)
{
    return x;
}
SIMT_INLINE float __double2float_rn(double x)
{
    return (float)x;
}

/* ---- floating point, rounded to nearest: never contracted, never reordered ----------------- */

SIMT_INLINE float __fadd_rn(float a, float b)
{
    return a + b;
}
SIMT_INLINE float __fsub_rn(float a, float b)
{
    return a - b;
}
SIMT_INLINE float __fmul_rn(float a, float b)
{
    return a * b;
}
SIMT_INLINE float __fdiv_rn(float a, float b)
{
    return a / b;
}
SIMT_INLINE float __fmaf_rn(float a, float b, float c)
{
    return fmaf(a, b, c);
}
SIMT_INLINE float __frcp_rn(float a)
{
    return 1.0f / a;
}
SIMT_INLINE float __fsqrt_rn(float a)
{
    return sqrtf(a);
}
SIMT_INLINE float __frsqrt_rn(float a)
{
    return (float)(1.0 / sqrt((double)a));
}
SIMT_INLINE double __dadd_rn(double a, double b)
{
    return a + b;
}
SIMT_INLINE double __dsub_rn(double a, double b)
{
    return a - b;
}
SIMT_INLINE double __dmul_rn(double a, double b)
{
    return a * b;
}
SIMT_INLINE double __ddiv_rn(double a, double b)
{
    return a / b;
}
SIMT_INLINE double __fma_rn(double a, double b, double c)
{
    return fma(a, b, c);
}
SIMT_INLINE double __drcp_rn(double a)
{
    return 1.0 / a;
}
SIMT_INLINE double __dsqrt_rn(double a)
{
    return sqrt(a);
}

/* ---- functions CUDA adds to those of C, and fast ones -------------------------------------- */

SIMT_INLINE float rsqrtf(float a)
{
    return (float)(1.0 / sqrt((double)a));
}
SIMT_INLINE double rsqrt(double a)
{
    return 1.0 / sqrt(a);
}
/* NaN becomes 0. */
SIMT_INLINE float __saturatef(float a)
{
    return a >= 1 ? 1.0f : a > 0 ? a : 0.0f;
}
SIMT_INLINE float __fdividef(float a, float b)
{
    return a / b;
}
/* Macros, since glibc's <math.h> declares functions of these very names. */
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __sincosf sincosf

#endif
