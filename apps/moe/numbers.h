/*
 * numbers.h - every input of the layer, element by element: filled in on the device, and computed again on the host where a
 * check wants it. All of them are fp16 numbers without rounding.
 *
 * NUMBERS_RANDOM are odd multiples of a power of two. NUMBERS_EXACT are whole numbers, and experts whose results take a
 * few operations: hidden number h of expert e is one number of x or its negative. Output c is the
 * sum of one hidden number and twice another. So each number of each token's row can be checked, to
 * the bit, and tells the expert it came from.
 */
#ifndef MOE_NUMBERS_H
#define MOE_NUMBERS_H

#include <stdint.h>

#ifdef __cplusplus
#define ON_BOTH __host__ __device__
#else
#define ON_BOTH
#endif

enum numbers { NUMBERS_RANDOM, NUMBERS_EXACT };

/* Parameters of all numbers. scale_*: powers of two. */
typedef struct number_source {
    enum numbers kind;
    uint64_t seed;
    int features, hidden, experts;
    float scale_up, scale_down, scale_router;
} number_source;

/* Number `index` of a stream of 64 random bits (G. Steele, D. Lea, C. Flood, SplitMix, 2014). */
ON_BOTH static inline uint64_t numbers_bits(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* An odd multiple of 2^-7 in (-1, 1). */
ON_BOTH static inline float numbers_symmetric(uint64_t bits)
{
    return (float)(2 * (int)(bits >> 57) - 127) * (1.0f / 128);
}

/* x[token][feature] */
ON_BOTH static inline float number_of_x(const number_source *n, int64_t token, int feature)
{
    const uint64_t bits = numbers_bits(n->seed, (uint64_t)(token * n->features + feature));
    return n->kind == NUMBERS_EXACT ? (float)((int)(bits >> 60) - 7) : numbers_symmetric(bits);
}

/* The router's weight [feature][expert]. */
ON_BOTH static inline float number_of_router(const number_source *n, int64_t feature, int expert)
{
    const uint64_t at = (uint64_t)(feature * n->experts + expert);
    return n->scale_router * numbers_symmetric(numbers_bits(n->seed + 1, at));
}

/* The feature that hidden number h of the exact ones is, and its sign. */
ON_BOTH static inline int exact_feature(const number_source *n, int expert, int h)
{
    return (h + 7 * expert + 3) % n->features;
}
ON_BOTH static inline float exact_sign(int expert, int h)
{
    return numbers_bits((uint64_t)expert, (uint64_t)h) >> 63 ? -1.0f : 1.0f;
}

/* The hidden numbers that output c is the sum of: one, and twice another. */
ON_BOTH static inline int exact_once(const number_source *n, int expert, int c)
{
    return (5 * c + 11 * expert + 1) % n->hidden;
}
ON_BOTH static inline int exact_twice(const number_source *n, int expert, int c)
{
    return (c + n->hidden / 2 + expert) % n->hidden;
}

/* W1[expert][feature][h] */
ON_BOTH static inline float number_of_up(const number_source *n, int expert, int feature, int h)
{
    const int64_t at = ((int64_t)expert * n->features + feature) * n->hidden + h;
    if (n->kind == NUMBERS_RANDOM)
        return n->scale_up * numbers_symmetric(numbers_bits(n->seed + 2, (uint64_t)at));
    return feature == exact_feature(n, expert, h) ? exact_sign(expert, h) : 0.0f;
}

/* W2[expert][h][feature] */
ON_BOTH static inline float number_of_down(const number_source *n, int expert, int h, int feature)
{
    const int64_t at = ((int64_t)expert * n->hidden + h) * n->features + feature;
    if (n->kind == NUMBERS_RANDOM)
        return n->scale_down * numbers_symmetric(numbers_bits(n->seed + 3, (uint64_t)at));
    return (h == exact_once(n, expert, feature) ? 1.0f : 0.0f) +
           (h == exact_twice(n, expert, feature) ? 2.0f : 0.0f);
}

#endif
