/*
 * column_tiles.cuh - how the work of column_tiles.h is cut, and which nonzeros a cut is between.
 */
#ifndef FORMATS_COLUMN_TILES_CUH
#define FORMATS_COLUMN_TILES_CUH

#include "formats/column_tiles.h"

/* Where part `i` of `parts` equal parts of so much work begins: a multiple of eight. */
static inline __host__ __device__ int column_tiles_part(int64_t work, int i, int parts)
{
    return (int)(work * i / parts) / GROUP_PLACES * GROUP_PLACES;
}

/* A place, and the segment that holds it. Of a cut within a segment's SEGMENT_COST: its end. */
struct tile_position {
    int segment, place;
};

/* Finds the place behind so much of a tile's work. A segment's places come before its cost, so that as many
 * segments as there are rows before it are paid for. */
__device__ __forceinline__ tile_position find_position(const column_tiles &t, int tile, int work)
{
    const int *const place = t.d_place + (size_t)tile * t.rows;
    const int origin = place[0];
    int low = 0, high = t.rows;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (place[middle] - origin + SEGMENT_COST * middle <= work)
            low = middle;
        else
            high = middle;
    }
    const int inside = work - (place[low] - origin + SEGMENT_COST * low);
    return {tile * t.rows + low, min(place[low] + inside, place[low + 1])};
}

#endif
