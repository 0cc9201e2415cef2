#include "ops/precision.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Below so many elements a thread starts later than the work ends. */
enum { WORTH_THREADS = 10000 };

static const number_format FORMATS[NUM_PRECISIONS] = {
    [PRECISION_FP32] = {"fp32", 4, 0x1p-24, 0x1p-149, FLT_MAX},
    [PRECISION_FP16] = {"fp16", 2, 0x1p-11, 0x1p-24, 65504},
    [PRECISION_BF16] = {"bf16", 2, 0x1p-8, 0x1p-133, 0x1.fep127},
};

/* Describes a 16-bit format beside a float. `shift` says how many fraction bits fewer than 23 it has.
 * `rebias` says by how much the exponent's bias is smaller than 127. `least_normal` is the least number
 * that is not subnormal. */
typedef struct layout {
    int shift;
    uint32_t rebias; /* in a float's bits */
    double least_normal;
    uint16_t infinity;
} layout;

static const layout LAYOUTS[NUM_PRECISIONS] = {
    [PRECISION_FP16] = {13, 112u << 23, 0x1p-14, 0x7c00},
    [PRECISION_BF16] = {16, 0, 0x1p-126, 0x7f80},
};

const number_format *precision_format(enum precision precision)
{
    return &FORMATS[precision];
}

const char *precision_name(enum precision precision)
{
    return FORMATS[precision].name;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint16_t to_16_bits(enum precision precision, float x)
{
    const layout *to = &LAYOUTS[precision];
    const uint16_t sign = bits_of(x) >> 16 & 0x8000;
    uint32_t magnitude = bits_of(x) & 0x7fffffff;
    if (isnan(x)) return 0x7fff; /* as the GPU converts it */
    /* Subnormals are multiples of the least number, and so is the least normal one. */
    if (float_of(magnitude) < to->least_normal)
        return sign | (uint16_t)nearbyint(float_of(magnitude) / FORMATS[precision].least);
    /* Half a unit less one, and one more if the part that is kept is odd; a carry out of the
     * fraction raises the exponent, as it should. */
    magnitude -= to->rebias;
    magnitude += (1u << (to->shift - 1)) - 1 + (magnitude >> to->shift & 1);
    magnitude >>= to->shift;
    return sign | (uint16_t)(magnitude < to->infinity ? magnitude : to->infinity);
}

static float from_16_bits(enum precision precision, uint16_t bits)
{
    const layout *from = &LAYOUTS[precision];
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    if (bits == UINT16_MAX) return float_of(UINT32_MAX);
    if (magnitude >= from->infinity)
        return float_of(sign | 0x7f800000 | (magnitude - from->infinity) << from->shift);
    const float x = float_of((magnitude << from->shift) + from->rebias);
    if (x >= from->least_normal) return float_of(bits_of(x) | sign);
    return float_of(bits_of((float)(magnitude * FORMATS[precision].least)) | sign);
}

float precision_round(enum precision precision, float x)
{
    return precision == PRECISION_FP32 ? x : from_16_bits(precision, to_16_bits(precision, x));
}

void precision_narrow(enum precision precision, const float *from, void *to, size_t count)
{
    uint16_t *halves = to;
    if (precision == PRECISION_FP32) {
        memcpy(to, from, count * sizeof *from);
        return;
    }
#pragma omp parallel for schedule(static) if (count > WORTH_THREADS)
    for (size_t i = 0; i < count; i++)
        halves[i] = to_16_bits(precision, from[i]);
}

void precision_widen(enum precision precision, const void *from, float *to, size_t count)
{
    const uint16_t *halves = from;
    if (precision == PRECISION_FP32) {
        memcpy(to, from, count * sizeof *to);
        return;
    }
#pragma omp parallel for schedule(static) if (count > WORTH_THREADS)
    for (size_t i = 0; i < count; i++)
        to[i] = from_16_bits(precision, halves[i]);
}
