/*
 * length_bins.h - which bin a segment of a row belongs to, by its length. binned_rows.h has the
 * table of bins.
 */
#ifndef FORMATS_LENGTH_BINS_H
#define FORMATS_LENGTH_BINS_H

#include <cuda_runtime_api.h>

enum bin { LONG, MEDIUM, SHORT, PACK_16, PACK_8, PACK_4, PACK_2, PACK_1, EMPTY, NUM_BINS };

/* Slots of a pack, and how many of them a row has in a bin of packed rows. */
constexpr int PACK_SLOTS = 16;
__host__ __device__ constexpr int slots_of(int bin)
{
    return PACK_SLOTS >> (bin - PACK_16);
}

/* MEDIUM segments have 4 times as many groups as SHORT ones, chunks of LONG ones 16 times as many,
 * whatever the size of a group. */
constexpr int MEDIUM_GROUPS = 4, LONG_GROUPS = 16;

/* The bin of a segment of `length` nonzeros. pack: rows up to this length are packed (0 or 16). */
__host__ __device__ inline int bin_of(int length, int serial, int pack)
{
    if (length == 0) return EMPTY;
    if (length <= pack)
        return length > 8   ? PACK_16
               : length > 4 ? PACK_8
               : length > 2 ? PACK_4
               : length > 1 ? PACK_2
                            : PACK_1;
    return length <= serial ? SHORT : length <= MEDIUM_GROUPS * serial ? MEDIUM : LONG;
}

#endif
