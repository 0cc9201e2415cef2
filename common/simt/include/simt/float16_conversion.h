/*
 * float16_conversion.h - the conversions of cuda_fp16.h and cuda_bf16.h. Their names differ only in
 * a tag: __float2half and __float2bfloat16, __half22float2 and __bfloat1622float2.
 */
#ifndef SIMT_FLOAT16_CONVERSION_H
#define SIMT_FLOAT16_CONVERSION_H

#include "simt/arithmetic.h"
#include "simt/atomics.h"
#include "simt/float16.h"

#define SIMT_FLOAT16_CONVERSIONS(TYPE, PAIR, TAG)           \
    /* fp32, fp64 */                                        \
    SIMT_INLINE TYPE __float2##TAG(float a)                 \
    {                                                       \
        return TYPE::from_float(a);                         \
    }                                                       \
    SIMT_INLINE TYPE __float2##TAG##_rn(float a)            \
    {                                                       \
        return TYPE::from_float(a);                         \
    }                                                       \
    SIMT_INLINE TYPE __float2##TAG##_rz(float a)            \
    {                                                       \
        return simt_round_to_zero<TYPE>(a);                 \
    }                                                       \
    SIMT_INLINE TYPE __float2##TAG##_rd(float a)            \
    {                                                       \
        return simt_round_down<TYPE>(a);                    \
    }                                                       \
    SIMT_INLINE TYPE __float2##TAG##_ru(float a)            \
    {                                                       \
        return simt_round_up<TYPE>(a);                      \
    }                                                       \
    SIMT_INLINE TYPE __double2##TAG(double a)               \
    {                                                       \
        return TYPE::from_float(simt_round_to_odd(a));      \
    }                                                       \
    SIMT_INLINE float __##TAG##2float(TYPE a)               \
    {                                                       \
        return (float)a;                                    \
    }                                                       \
    /* integers */                                          \
    SIMT_INLINE TYPE __int2##TAG##_rn(int a)                \
    {                                                       \
        return __double2##TAG(a);                           \
    }                                                       \
    SIMT_INLINE TYPE __uint2##TAG##_rn(unsigned a)          \
    {                                                       \
        return __double2##TAG(a);                           \
    }                                                       \
    SIMT_INLINE TYPE __short2##TAG##_rn(short a)            \
    {                                                       \
        return __double2##TAG(a);                           \
    }                                                       \
    SIMT_INLINE TYPE __ushort2##TAG##_rn(unsigned short a)  \
    {                                                       \
        return __double2##TAG(a);                           \
    }                                                       \
    SIMT_INLINE int __##TAG##2int_rn(TYPE a)                \
    {                                                       \
        return __float2int_rn((float)a);                    \
    }                                                       \
    SIMT_INLINE int __##TAG##2int_rz(TYPE a)                \
    {                                                       \
        return __float2int_rz((float)a);                    \
    }                                                       \
    SIMT_INLINE unsigned __##TAG##2uint_rn(TYPE a)          \
    {                                                       \
        return __float2uint_rn((float)a);                   \
    }                                                       \
    SIMT_INLINE unsigned __##TAG##2uint_rz(TYPE a)          \
    {                                                       \
        return __float2uint_rz((float)a);                   \
    }                                                       \
    /* bits */                                              \
    SIMT_INLINE short __##TAG##_as_short(TYPE a)            \
    {                                                       \
        return (short)simt_raw(a);                          \
    }                                                       \
    SIMT_INLINE unsigned short __##TAG##_as_ushort(TYPE a)  \
    {                                                       \
        return (unsigned short)simt_raw(a);                 \
    }                                                       \
    SIMT_INLINE TYPE __short_as_##TAG(short a)              \
    {                                                       \
        return simt_from_raw<TYPE>((unsigned short)a);      \
    }                                                       \
    SIMT_INLINE TYPE __ushort_as_##TAG(unsigned short a)    \
    {                                                       \
        return simt_from_raw<TYPE>(a);                      \
    }                                                       \
    /* pairs */                                             \
    SIMT_INLINE PAIR __halves2##TAG##2(TYPE a, TYPE b)      \
    {                                                       \
        return PAIR(a, b);                                  \
    }                                                       \
    SIMT_INLINE PAIR make_##TAG##2(TYPE a, TYPE b)          \
    {                                                       \
        return PAIR(a, b);                                  \
    }                                                       \
    SIMT_INLINE PAIR __##TAG##2##TAG##2(TYPE a)             \
    {                                                       \
        return PAIR(a, a);                                  \
    }                                                       \
    SIMT_INLINE PAIR __float2##TAG##2_rn(float a)           \
    {                                                       \
        return __##TAG##2##TAG##2(__float2##TAG(a));        \
    }                                                       \
    SIMT_INLINE PAIR __floats2##TAG##2_rn(float a, float b) \
    {                                                       \
        return PAIR(__float2##TAG(a), __float2##TAG(b));    \
    }                                                       \
    SIMT_INLINE PAIR __float22##TAG##2_rn(float2 a)         \
    {                                                       \
        return __floats2##TAG##2_rn(a.x, a.y);              \
    }                                                       \
    SIMT_INLINE float2 __##TAG##22float2(PAIR a)            \
    {                                                       \
        return make_float2((float)a.x, (float)a.y);         \
    }                                                       \
    SIMT_INLINE TYPE __low2##TAG(PAIR a)                    \
    {                                                       \
        return a.x;                                         \
    }                                                       \
    SIMT_INLINE TYPE __high2##TAG(PAIR a)                   \
    {                                                       \
        return a.y;                                         \
    }                                                       \
    SIMT_INLINE PAIR __low2##TAG##2(PAIR a)                 \
    {                                                       \
        return PAIR(a.x, a.x);                              \
    }                                                       \
    SIMT_INLINE PAIR __high2##TAG##2(PAIR a)                \
    {                                                       \
        return PAIR(a.y, a.y);                              \
    }                                                       \
    SIMT_INLINE PAIR __lows2##TAG##2(PAIR a, PAIR b)        \
    {                                                       \
        return PAIR(a.x, b.x);                              \
    }                                                       \
    SIMT_INLINE PAIR __highs2##TAG##2(PAIR a, PAIR b)       \
    {                                                       \
        return PAIR(a.y, b.y);                              \
    }

/* The two structures of a format: `FROM` and `TO` convert fp32 to its bits and back. A pair is
 * copied as the one 32-bit word it is. */
#define SIMT_FLOAT16_TYPES(TYPE, PAIR, FROM, TO)                                       \
    struct PAIR;                                                                       \
    struct TYPE {                                                                      \
        typedef PAIR pair;                                                             \
        uint16_t bits;                                                                 \
        TYPE() = default;                                                              \
        TYPE(float a) : bits(FROM(a)) {}                                               \
        TYPE(double a) : bits(FROM(simt_round_to_odd(a))) {}                           \
        template <class Integer>                                                       \
        requires std::is_integral_v<Integer> TYPE(Integer a) : TYPE((double)a) {}      \
        static TYPE from_float(float a) { return TYPE(a); }                            \
        operator float() const { return TO(bits); }                                    \
    };                                                                                 \
    struct alignas(4) PAIR {                                                           \
        typedef TYPE element;                                                          \
        TYPE x, y;                                                                     \
        PAIR() = default;                                                              \
        PAIR(TYPE x_, TYPE y_) : x(x_), y(y_) {}                                       \
        PAIR(const PAIR &other) { *this = other; }                                     \
        PAIR &operator=(const PAIR &other)                                             \
        {                                                                              \
            typedef uint32_t word __attribute__((may_alias));                          \
            *reinterpret_cast<word *>(this) = *reinterpret_cast<const word *>(&other); \
            return *this;                                                              \
        }                                                                              \
    };

#endif
