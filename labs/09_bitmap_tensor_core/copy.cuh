/*
 * copy.cuh - one group of A on its way to shared memory; the rows of B that it multiplies come by
 * device/dense_rows.cuh.
 */
#ifndef LAB9_COPY_CUH
#define LAB9_COPY_CUH

#include "device/async_copy.cuh"
#include "device/dense_rows.cuh"
#include "device/warp.cuh"
#include "formats/tca_bme.h"

constexpr int BLOCK = STRIPS * WARP_SIZE; /* a warp a strip */

/* A block's copy of one group; as many values as the longest group has follow in memory. */
template <int TILE_N, class H> struct stage {
    uint64_t bitmap[GROUP_BITMAPS];
    H X[GROUP_SIDE][dense_pitch(TILE_N)];
};

template <int TILE_N, class H>
static __device__ const uint16_t *values_of(const stage<TILE_N, H> &s)
{
    return reinterpret_cast<const uint16_t *>(&s + 1);
}

/* Starts copying a group's bitmaps, and its values, which are numbers start .. end - 1. */
template <int TILE_N, class H>
static __device__ void copy_group(const tca_bme &A, size_t group, int start, int end,
                                  stage<TILE_N, H> &to)
{
    const unsigned t = threadIdx.x;
    const uint64_t *const bitmap = A.bitmap + group * GROUP_BITMAPS;
    uint16_t *own = const_cast<uint16_t *>(values_of(to)) + t * GROUP_ALIGNMENT;
    if (t < GROUP_BITMAPS / 2) async_copy<16>(&to.bitmap[2 * t], &bitmap[2 * t]);
#pragma unroll 1
    for (int i = start + t * GROUP_ALIGNMENT; i < end; i += BLOCK * GROUP_ALIGNMENT) {
        async_copy<16>(own, &A.values[i]);
        own += BLOCK * GROUP_ALIGNMENT;
    }
}

#endif
