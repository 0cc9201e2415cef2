/*
 * block_walk.cuh - what a warp reads of the lists of block_walk.h.
 */
#ifndef FORMATS_BLOCK_WALK_CUH
#define FORMATS_BLOCK_WALK_CUH

#include "device/warp.cuh"

/* An entry: the work of a step. All lanes have the same input. */
struct walk_entry {
    int input; /* input block, or -1: none */
    int block; /* lane j: weight block of output j of the group, or -1: none */
};

/* A few neighbouring entries, as a warp holds them: a lane has an int, so one load brings them. GROUP outputs of a group.
 * All lanes call. */
template <int GROUP> struct walk_entries {
    static constexpr int INTS = (1 + GROUP + 3) / 4 * 4; /* the list's stride */
    static constexpr int STEPS = WARP_SIZE / INTS;
    int word; /* lane i: int i % INTS of step i / INTS */

    /* Loads from `step` on; behind the last step, entries without input. */
    static __device__ __forceinline__ walk_entries at(const int *entry, int step, int end)
    {
        const int lane = lane_id(), ahead = lane / INTS;
        const bool is_there = ahead < STEPS && step + ahead < end;
        return {is_there ? entry[(size_t)step * INTS + lane] : -1};
    }

    __device__ __forceinline__ walk_entry operator[](int step) const
    {
        const int first = step * INTS, lane = lane_id();
        const int block = __shfl_sync(FULL_MASK, word, first + 1 + (lane < GROUP ? lane : 0));
        return {__shfl_sync(FULL_MASK, word, first), lane < GROUP ? block : -1};
    }
};

#endif
