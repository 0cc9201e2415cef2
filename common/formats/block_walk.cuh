/*
 * block_walk.cuh - what a warp reads of the lists of block_walk.h.
 */
#ifndef FORMATS_BLOCK_WALK_CUH
#define FORMATS_BLOCK_WALK_CUH

#include "device/warp.cuh"

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

    /* Returns the weight block that this lane holds, or -1: none. */
    __device__ __forceinline__ int block() const
    {
        const int lane = lane_id(), column = lane % INTS - 1;
        return lane < STEPS * INTS && column >= 0 && column < GROUP ? word : -1;
    }
    /* Returns the input block of a step, or -1: none. */
    __device__ __forceinline__ int input(int step) const
    {
        return __shfl_sync(FULL_MASK, word, step * INTS);
    }
    /* Returns which lanes of a set hold blocks of a step: bit j for output j of the group. */
    static __device__ __forceinline__ unsigned columns(unsigned lanes, int step)
    {
        return lanes >> (step * INTS + 1) & ((1u << GROUP) - 1);
    }
};

#endif
