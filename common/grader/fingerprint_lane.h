/*
 * fingerprint_lane.h - the one step of a fingerprint, for the host's compiler and the device's.
 */
#ifndef GRADER_FINGERPRINT_LANE_H
#define GRADER_FINGERPRINT_LANE_H

#include "grader/fingerprint.h"

#ifdef __cplusplus
#define ON_EITHER static inline __host__ __device__
#else
#define ON_EITHER static inline
#endif

/* As random_bits() of matrix/random.h, which is the host's alone. */
ON_EITHER uint64_t fingerprint_mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Two chains take in each word in different ways, so that no change cancels out in both. */
ON_EITHER void fingerprint_lane(const uint64_t *words, int64_t count, int64_t lane, int64_t lanes,
                                uint64_t key, uint64_t state[2])
{
    uint64_t a = fingerprint_mix(key ^ (uint64_t)lane), b = fingerprint_mix(a);
    for (int64_t i = lane; i < count; i += lanes) {
        a = fingerprint_mix(a ^ words[i]);
        b = fingerprint_mix(b + words[i]);
    }
    state[0] = a;
    state[1] = b;
}

#endif
