/*
 * float16.h - conversion between fp32 and the two 16-bit formats, to the last bit.
 *
 *   fp16  1 sign, 5 exponent, 10 fraction bits      bf16  1 sign, 8 exponent, 7 fraction bits
 *
 * As on the GPU: round to nearest even, subnormals kept, overflow to infinity, and every NaN
 * becomes the canonical one, 0x7fff.
 */
#ifndef SIMT_FLOAT16_H
#define SIMT_FLOAT16_H

#include <math.h>

#include "simt/base.h"

SIMT_INLINE uint32_t simt_float_bits(float x)
{
    return simt_from_bits<uint32_t>(simt_to_bits(x));
}
SIMT_INLINE float simt_bits_float(uint32_t x)
{
    return simt_from_bits<float>(x);
}

/* The fields of a half land on those of a float 13 bits up, with an exponent that is 127 - 15 = 112
 * too small: multiplying by 2^112 mends it, and normalises subnormals on the way. */
SIMT_INLINE float simt_fp16_to_float(uint16_t half)
{
    uint32_t magnitude = half & 0x7fffu, sign = (uint32_t)(half & 0x8000u) << 16;
    if (magnitude > 0x7c00u) return simt_bits_float(0x7fffffffu);
    if (magnitude == 0x7c00u) return simt_bits_float(sign | 0x7f800000u);
    return simt_bits_float(sign | simt_float_bits(simt_bits_float(magnitude << 13) * 0x1p112f));
}

SIMT_INLINE uint16_t simt_fp16_from_float(float x)
{
    uint32_t bits = simt_float_bits(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fff;
    if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and up round to inf */
    if (magnitude < 0x38800000u) /* below 2^-14: adding 1/2 puts units of 2^-24 in the last place */
        return (uint16_t)(sign |
                          (simt_float_bits(simt_bits_float(magnitude) + 0.5f) - 0x3f000000u));
    /* Rebias by -112, add half a unit less one, and one more if the kept part is odd. */
    return (uint16_t)(sign | ((magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13));
}

SIMT_INLINE float simt_bf16_to_float(uint16_t x)
{
    return simt_bits_float((uint32_t)x << 16);
}

SIMT_INLINE uint16_t simt_bf16_from_float(float x)
{
    uint32_t bits = simt_float_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* The float that rounds to the same 16-bit value as x does: x cut to 24 bits, with the last one set
 * if anything was cut off ("round to odd"). Rounding twice then equals rounding once, because 24 is
 * at least two more than the 11 or 8 bits kept. */
SIMT_INLINE float simt_round_to_odd(double x)
{
    float nearest = (float)x;
    if ((double)nearest == x || x != x) return nearest;
    uint32_t bits = simt_float_bits(nearest);
    if (fabs((double)nearest) > fabs(x)) bits--;
    return simt_bits_float(bits | 1);
}

/* a * b + c of 16-bit values, ready for the one rounding to 16 bits. The product is exact in
 * double. The sum's rounding error is recovered (Knuth's two-sum) and folded into the last bit. */
SIMT_INLINE float simt_fma_to_odd(float a, float b, float c)
{
    double product = (double)a * b, addend = c, sum = product + addend;
    double addend_part = sum - product;
    double error = (product - (sum - addend_part)) + (addend - addend_part);
    uint64_t bits = simt_to_bits(sum);
    if (error == error && error != 0 && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : -1;
    return simt_round_to_odd(simt_from_bits<double>(bits));
}

/* A 16-bit number type: what __half and __nv_bfloat16 have in common. */
template <class H>
concept simt_float16 = requires(H h)
{
    H::from_float(1.0f);
    (float)h;
    typename H::pair;
};
/* Two of them in one 32-bit word. */
template <class P>
concept simt_float16_pair = requires(P p)
{
    typename P::element;
};

template <simt_float16 H> SIMT_INLINE H simt_from_raw(unsigned bits)
{
    return simt_from_bits<H>(bits);
}
template <simt_float16 H> SIMT_INLINE unsigned simt_raw(H h)
{
    return (unsigned)simt_to_bits(h);
}

/* Directed rounding: a step from the nearest value if that is on the wrong side of x. */
template <simt_float16 H> SIMT_INLINE H simt_step(H h, bool up)
{
    unsigned bits = simt_raw(h);
    if ((bits & 0x7fff) == 0) return simt_from_raw<H>(up ? 0x0001 : 0x8001);
    return simt_from_raw<H>((bits & 0x8000) == 0 ? bits + (up ? 1 : -1) : bits + (up ? -1 : 1));
}
template <simt_float16 H> SIMT_INLINE H simt_round_down(float x)
{
    H h = H::from_float(x);
    return (float)h > x ? simt_step(h, false) : h;
}
template <simt_float16 H> SIMT_INLINE H simt_round_up(float x)
{
    H h = H::from_float(x);
    return (float)h < x ? simt_step(h, true) : h;
}
template <simt_float16 H> SIMT_INLINE H simt_round_to_zero(float x)
{
    return x > 0 ? simt_round_down<H>(x) : simt_round_up<H>(x);
}

#endif
