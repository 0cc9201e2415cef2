/*
 * float16_arithmetic.h - the arithmetic that cuda_fp16.h and cuda_bf16.h share: for every H in
 * {__half, __nv_bfloat16} and its pair.
 *
 * One operation is one rounding. Sums, products, quotients and square roots are taken in fp32
 * first: its 24 bits are at least twice 11 plus 2, so the second rounding cannot do harm (Figueroa
 * 1995).
 */
#ifndef SIMT_FLOAT16_ARITHMETIC_H
#define SIMT_FLOAT16_ARITHMETIC_H

#include <math.h>

#include "simt/arithmetic.h"
#include "simt/float16.h"

/* ---- one number ---------------------------------------------------------------------------- */

#define SIMT_FLOAT16_BINARY(NAME, EXPRESSION)                \
    template <simt_float16 H> SIMT_INLINE H NAME(H a_, H b_) \
    {                                                        \
        float a = (float)a_, b = (float)b_;                  \
        return H::from_float(EXPRESSION);                    \
    }
SIMT_FLOAT16_BINARY(__hadd, a + b)
SIMT_FLOAT16_BINARY(__hsub, a - b)
SIMT_FLOAT16_BINARY(__hmul, a *b)
SIMT_FLOAT16_BINARY(__hdiv, a / b)
SIMT_FLOAT16_BINARY(__hadd_rn, a + b)
SIMT_FLOAT16_BINARY(__hsub_rn, a - b)
SIMT_FLOAT16_BINARY(__hmul_rn, a *b)
SIMT_FLOAT16_BINARY(__hadd_sat, __saturatef(a + b))
SIMT_FLOAT16_BINARY(__hsub_sat, __saturatef(a - b))
SIMT_FLOAT16_BINARY(__hmul_sat, __saturatef(a *b))

template <simt_float16 H> SIMT_INLINE H __hfma(H a, H b, H c)
{
    return H::from_float(simt_fma_to_odd((float)a, (float)b, (float)c));
}
template <simt_float16 H> SIMT_INLINE H __hfma_relu(H a, H b, H c)
{
    float sum = simt_fma_to_odd((float)a, (float)b, (float)c);
    return H::from_float(sum < 0 ? 0.0f : sum);
}
template <simt_float16 H> SIMT_INLINE H __hneg(H a)
{
    return simt_from_raw<H>(simt_raw(a) ^ 0x8000);
}
template <simt_float16 H> SIMT_INLINE H __habs(H a)
{
    return simt_from_raw<H>(simt_raw(a) & 0x7fff);
}
template <simt_float16 H> SIMT_INLINE bool __hisnan(H a)
{
    return (float)a != (float)a;
}

/* Returns the number, where the other is a NaN; +0 is above -0. */
template <simt_float16 H> SIMT_INLINE H __hmax(H a, H b)
{
    if ((float)a == (float)b) return simt_raw(a) & 0x8000 ? b : a;
    return H::from_float(fmaxf((float)a, (float)b));
}
template <simt_float16 H> SIMT_INLINE H __hmin(H a, H b)
{
    if ((float)a == (float)b) return simt_raw(a) & 0x8000 ? a : b;
    return H::from_float(fminf((float)a, (float)b));
}

/* With a NaN the plain comparison is false, __hne too, and the one that ends in u is true. The
 * operators are those of C++, where only != is true of a NaN. */
#define SIMT_FLOAT16_COMPARE(NAME, OP)                               \
    template <simt_float16 H> SIMT_INLINE bool NAME(H a, H b)        \
    {                                                                \
        return !__hisnan(a) && !__hisnan(b) && (float)a OP(float) b; \
    }                                                                \
    template <simt_float16 H> SIMT_INLINE bool NAME##u(H a, H b)     \
    {                                                                \
        return __hisnan(a) || __hisnan(b) || (float)a OP(float) b;   \
    }                                                                \
    template <simt_float16 H> SIMT_INLINE bool operator OP(H a, H b) \
    {                                                                \
        return (float)a OP(float) b;                                 \
    }
SIMT_FLOAT16_COMPARE(__heq, ==)
SIMT_FLOAT16_COMPARE(__hne, !=)
SIMT_FLOAT16_COMPARE(__hlt, <)
SIMT_FLOAT16_COMPARE(__hle, <=)
SIMT_FLOAT16_COMPARE(__hgt, >)
SIMT_FLOAT16_COMPARE(__hge, >=)

#define SIMT_FLOAT16_OPERATOR(OP, FUNCTION, PAIR_FUNCTION)                  \
    template <simt_float16 H> SIMT_INLINE H operator OP(H a, H b)           \
    {                                                                       \
        return FUNCTION(a, b);                                              \
    }                                                                       \
    template <simt_float16 H> SIMT_INLINE H &operator OP##=(H &a, H b)      \
    {                                                                       \
        return a = FUNCTION(a, b);                                          \
    }                                                                       \
    template <simt_float16_pair P> SIMT_INLINE P operator OP(P a, P b)      \
    {                                                                       \
        return PAIR_FUNCTION(a, b);                                         \
    }                                                                       \
    template <simt_float16_pair P> SIMT_INLINE P &operator OP##=(P &a, P b) \
    {                                                                       \
        return a = PAIR_FUNCTION(a, b);                                     \
    }
template <simt_float16 H> SIMT_INLINE H operator-(H a)
{
    return __hneg(a);
}

#define SIMT_FLOAT16_FUNCTION(NAME, FUNCTION)                  \
    template <simt_float16 H> SIMT_INLINE H h##NAME(H a)       \
    {                                                          \
        return H::from_float(FUNCTION((float)a));              \
    }                                                          \
    template <simt_float16_pair P> SIMT_INLINE P h2##NAME(P a) \
    {                                                          \
        return P(h##NAME(a.x), h##NAME(a.y));                  \
    }
SIMT_FLOAT16_FUNCTION(sqrt, sqrtf)
SIMT_FLOAT16_FUNCTION(rsqrt, rsqrtf)
SIMT_FLOAT16_FUNCTION(rcp, __frcp_rn)
SIMT_FLOAT16_FUNCTION(exp, expf)
SIMT_FLOAT16_FUNCTION(exp2, exp2f)
SIMT_FLOAT16_FUNCTION(log, logf)
SIMT_FLOAT16_FUNCTION(log2, log2f)
SIMT_FLOAT16_FUNCTION(tanh, tanhf)
SIMT_FLOAT16_FUNCTION(floor, floorf)
SIMT_FLOAT16_FUNCTION(ceil, ceilf)
SIMT_FLOAT16_FUNCTION(trunc, truncf)
SIMT_FLOAT16_FUNCTION(rint, rintf)

/* ---- pairs: the same, element by element --------------------------------------------------- */

#define SIMT_FLOAT16_PAIRWISE(NAME, FUNCTION)                   \
    template <simt_float16_pair P> SIMT_INLINE P NAME(P a, P b) \
    {                                                           \
        return P(FUNCTION(a.x, b.x), FUNCTION(a.y, b.y));       \
    }
SIMT_FLOAT16_PAIRWISE(__hadd2, __hadd)
SIMT_FLOAT16_PAIRWISE(__hsub2, __hsub)
SIMT_FLOAT16_PAIRWISE(__hmul2, __hmul)
SIMT_FLOAT16_PAIRWISE(__h2div, __hdiv)
SIMT_FLOAT16_PAIRWISE(__hadd2_rn, __hadd)
SIMT_FLOAT16_PAIRWISE(__hsub2_rn, __hsub)
SIMT_FLOAT16_PAIRWISE(__hmul2_rn, __hmul)
SIMT_FLOAT16_PAIRWISE(__hadd2_sat, __hadd_sat)
SIMT_FLOAT16_PAIRWISE(__hsub2_sat, __hsub_sat)
SIMT_FLOAT16_PAIRWISE(__hmul2_sat, __hmul_sat)
SIMT_FLOAT16_PAIRWISE(__hmax2, __hmax)
SIMT_FLOAT16_PAIRWISE(__hmin2, __hmin)

/* Element by element 1.0 or 0.0, and whether it holds for both. */
#define SIMT_FLOAT16_PAIR_COMPARE(NAME)                                                   \
    template <simt_float16_pair P> SIMT_INLINE P __h##NAME##2(P a, P b)                   \
    {                                                                                     \
        typedef typename P::element H;                                                    \
        return P(H::from_float(__h##NAME(a.x, b.x)), H::from_float(__h##NAME(a.y, b.y))); \
    }                                                                                     \
    template <simt_float16_pair P> SIMT_INLINE bool __hb##NAME##2(P a, P b)               \
    {                                                                                     \
        return __h##NAME(a.x, b.x) && __h##NAME(a.y, b.y);                                \
    }
SIMT_FLOAT16_PAIR_COMPARE(eq)
SIMT_FLOAT16_PAIR_COMPARE(ne)
SIMT_FLOAT16_PAIR_COMPARE(lt)
SIMT_FLOAT16_PAIR_COMPARE(le)
SIMT_FLOAT16_PAIR_COMPARE(gt)
SIMT_FLOAT16_PAIR_COMPARE(ge)
SIMT_FLOAT16_PAIR_COMPARE(equ)
SIMT_FLOAT16_PAIR_COMPARE(neu)
SIMT_FLOAT16_PAIR_COMPARE(ltu)
SIMT_FLOAT16_PAIR_COMPARE(leu)
SIMT_FLOAT16_PAIR_COMPARE(gtu)
SIMT_FLOAT16_PAIR_COMPARE(geu)

SIMT_FLOAT16_OPERATOR(+, __hadd, __hadd2)
SIMT_FLOAT16_OPERATOR(-, __hsub, __hsub2)
SIMT_FLOAT16_OPERATOR(*, __hmul, __hmul2)
SIMT_FLOAT16_OPERATOR(/, __hdiv, __h2div)

template <simt_float16_pair P> SIMT_INLINE P __hfma2(P a, P b, P c)
{
    return P(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
template <simt_float16_pair P> SIMT_INLINE P __hfma2_relu(P a, P b, P c)
{
    return P(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
}
template <simt_float16_pair P> SIMT_INLINE P __hneg2(P a)
{
    return P(__hneg(a.x), __hneg(a.y));
}
template <simt_float16_pair P> SIMT_INLINE P operator-(P a)
{
    return __hneg2(a);
}
template <simt_float16_pair P> SIMT_INLINE P __habs2(P a)
{
    return P(__habs(a.x), __habs(a.y));
}

/* ---- taking pairs apart and putting them together ------------------------------------------ */

template <simt_float16_pair P> SIMT_INLINE float __low2float(P a)
{
    return (float)a.x;
}
template <simt_float16_pair P> SIMT_INLINE float __high2float(P a)
{
    return (float)a.y;
}
template <simt_float16_pair P> SIMT_INLINE P __lowhigh2highlow(P a)
{
    return P(a.y, a.x);
}
#endif
