/*
 * block_walk.cuh - what a thread reads of the lists of block_walk.h.
 */
#ifndef FORMATS_BLOCK_WALK_CUH
#define FORMATS_BLOCK_WALK_CUH

#include "device/vec.cuh"

/* An entry of a bundle: the work of a stripe in a step. GROUP outputs of a group. */
template <int GROUP> struct bundle_entry {
    static constexpr int INTS = (1 + GROUP + 1 + 3) / 4 * 4; /* the list's stride */
    int input, block[GROUP];                                 /* -1: none */
    int others[INTS - 1 - GROUP]; /* the last: stripes with the same input */

    __device__ __forceinline__ unsigned stripes() const
    {
        return (unsigned)others[INTS - 2 - GROUP];
    }

    /* Loads the entry of a stripe in a step; behind the last step, one without input. */
    static __device__ __forceinline__ bundle_entry at(const int *entry, int step, int end,
                                                      int stripes, int stripe)
    {
        bundle_entry e;
        const size_t first = ((size_t)step * stripes + stripe) * INTS;
#pragma unroll
        for (int i = 0; i < INTS; i += 4) {
            int four[4] = {-1, -1, -1, -1};
            if (step < end) load_vector(four, entry + first + i);
            memcpy((int *)&e + i, four, sizeof four);
        }
        return e;
    }

    /* Returns which blocks are there and open, bit j for block[j]; their gates go to `mine`. */
    template <bool GATED>
    __device__ __forceinline__ unsigned open(const float *gates, float (&mine)[GROUP]) const
    {
        unsigned open = 0;
#pragma unroll
        for (int j = 0; j < GROUP; j++) {
            if (block[j] < 0) continue;
            if (GATED) mine[j] = gates[block[j]];
            if (!GATED || mine[j] != 0) open |= 1u << j;
        }
        return open;
    }
};

#endif
