/*
 * copy.cuh - one group of A, and the rows of B that it multiplies, on their way to shared
 * memory.
 */
#ifndef LAB9_COPY_CUH
#define LAB9_COPY_CUH

#include "device/async_copy.cuh"
#include "device/half.cuh"
#include "device/warp.cuh"
#include "formats/tca_bme.h"

constexpr int BLOCK = STRIPS * WARP_SIZE; /* a warp a strip */

/* A block's copy of one group; as many values as the longest group has follow in memory. */
template <int TILE_N, class H> struct stage {
    /* Rows of X are 16 bytes longer than a multiple of 32, so that the eight of which ldmatrix takes 16
     * bytes each lie in different banks. Rows of 16 bytes do so anyway. */
    static constexpr int PITCH = TILE_N == 8 ? 8 : TILE_N + 8;
    uint64_t bitmap[GROUP_BITMAPS];
    H X[GROUP_SIDE][PITCH];
};

template <int TILE_N, class H>
static __device__ const uint16_t *values_of(const stage<TILE_N, H> &s)
{
    return reinterpret_cast<const uint16_t *>(&s + 1);
}

/* The source of B's tiles. */
template <class H> struct dense_rows {
    const H *B;
    int N;
    int per_copy;         /* columns that one copy brings: 8, 4, 2 or 1, a divisor of N */
    const uint64_t *used; /* bit k % 64 of word k / 64: whether A's column k has an element */
};

/* Starts copying rows `first` to `first` + 63, columns j .. j + TILE_N - 1; bit i of `used`: whether an
 * element of A multiplies row first + i. One that none does is not read, whatever it holds: it becomes
 * zero, as do those after the last one. */
template <int PER_COPY, int TILE_N, class H>
static __device__ void copy_vectors(const dense_rows<H> &from, size_t first, uint64_t used, int j,
                                    stage<TILE_N, H> &to)
{
    constexpr int COPIES = TILE_N / PER_COPY,
                  BYTES = PER_COPY * sizeof(H); /* of a row; of a copy */
#pragma unroll 1 /* or its addresses take the registers of the sums */
    for (unsigned i = threadIdx.x; i < GROUP_SIDE * COPIES; i += BLOCK) {
        const unsigned row = i / COPIES, column = i % COPIES * PER_COPY;
        const bool wanted = (used >> row & 1) && j + (int)column < from.N;
        const H *const source = from.B + (wanted ? (first + row) * from.N + j + column : 0);
        if constexpr (BYTES > 2)
            async_copy_zfill<BYTES>(&to.X[row][column], source, wanted ? BYTES : 0);
        else /* which is too little for an asynchronous copy */
            to.X[row][column] = wanted ? *source : half_of_bits<H>(0);
    }
}

template <int TILE_N, class H>
static __device__ void copy_rows(const dense_rows<H> &from, size_t first, uint64_t used, int j,
                                 stage<TILE_N, H> &to)
{
    switch (from.per_copy) {
    case 8:
        copy_vectors<8>(from, first, used, j, to);
        break;
    case 4:
        copy_vectors<4>(from, first, used, j, to);
        break;
    case 2:
        copy_vectors<2>(from, first, used, j, to);
        break;
    default:
        copy_vectors<1>(from, first, used, j, to);
    }
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
