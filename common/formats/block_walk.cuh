/*
 * block_walk.cuh - what a warp reads of the lists of block_walk.h.
 */
#ifndef FORMATS_BLOCK_WALK_CUH
#define FORMATS_BLOCK_WALK_CUH

#include "device/warp.cuh"

/* An entry of a bundle: the work of a stripe in a step. All lanes have the same, but for `block`. */
struct bundle_entry {
    int input;        /* input block, or -1: none */
    unsigned stripes; /* that have the same input */
    int block;        /* lane j: weight block of output j of the group, or -1: none */
};

/* Entries of a stripe in a few steps, as a warp holds them: a lane has an int, so one load brings them. GROUP outputs of a
 * group. All lanes call. */
template <int GROUP> struct bundle_entries {
    static constexpr int INTS = (1 + GROUP + 1 + 3) / 4 * 4; /* the list's stride */
    static constexpr int STEPS = WARP_SIZE / INTS;
    int word; /* lane i: int i % INTS of step i / INTS */

    /* Loads from `step` on; behind the last step, entries without input. */
    static __device__ __forceinline__ bundle_entries at(const int *entry, int step, int end,
                                                        int stripes, int stripe)
    {
        const int ahead = lane_id() / INTS;
        const bool is_there = ahead < STEPS && step + ahead < end;
        const size_t first = ((size_t)(step + ahead) * stripes + stripe) * INTS;
        return {is_there ? entry[first + lane_id() % INTS] : -1};
    }

    __device__ __forceinline__ bundle_entry operator[](int step) const
    {
        const int first = step * INTS, lane = lane_id();
        const int block = __shfl_sync(FULL_MASK, word, first + 1 + (lane < GROUP ? lane : 0));
        return {__shfl_sync(FULL_MASK, word, first),
                (unsigned)__shfl_sync(FULL_MASK, word, first + INTS - 1),
                lane < GROUP ? block : -1};
    }
};

#endif
