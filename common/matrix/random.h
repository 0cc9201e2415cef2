/*
 * random.h - reproducible random numbers that can be drawn in any order and from any thread.
 *
 * The i-th number of a stream is a hash of (seed, i). So a parallel loop gives the same data for
 * any number of threads. The hash is splitmix64 (Steele, Lea & Flood 2014, "Fast splittable
 * pseudorandom number generators").
 */
#ifndef MATRIX_RANDOM_H
#define MATRIX_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Number `index` of the stream `seed`: 64 uniform bits. */
static inline uint64_t random_bits(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A seed for an independent stream of the same run: one for A's values, one for B, one a row ... */
static inline uint64_t random_substream(uint64_t seed, uint64_t which)
{
    return random_bits(seed ^ UINT64_C(0xd1b54a32d192ed03), which);
}

/* Uniform double in [0, 1), from the top 53 bits. */
static inline double random_unit(uint64_t seed, uint64_t index)
{
    return (double)(random_bits(seed, index) >> 11) * 0x1p-53;
}

/* Uniform float in [-1, 1): a multiple of 2^-23, so every value is exact in fp32. */
static inline float random_symmetric(uint64_t seed, uint64_t index)
{
    int32_t k = (int32_t)(random_bits(seed, index) >> 40) - (1 << 23);
    return (float)k * 0x1p-23f;
}

/* Uniform integer in [0, bound), bound >= 1; the multiply-shift reduction of 64 bits, whose bias is
 * below bound * 2^-64. */
static inline uint64_t random_below(uint64_t seed, uint64_t index, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)random_bits(seed, index) * bound) >> 64);
}

#endif
