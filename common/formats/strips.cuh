/*
 * strips.cuh - the arrays of strips.h, as the builder writes and kernels read them.
 */
#ifndef FORMATS_STRIPS_CUH
#define FORMATS_STRIPS_CUH

#include "formats/strips.h"

struct __align__(8) strip
{
    int segment;     /* that the first place belongs to */
    unsigned starts; /* bit i: place i begins a segment; never bit 0 */

    /* The segment of place `place`, counted from the strip's first or from the first of all. */
    __device__ __forceinline__ int segment_of(int place) const
    {
        return segment + __popc(starts & ((2u << place % STRIP) - 1));
    }
};

struct strip_arrays {
    const strip *__restrict__ strips;
    const int *__restrict__ row; /* of each segment */
    const int
        *__restrict__ offset; /* of each segment: from a place to the position in CSR; NULL: all are 0 */
    const int
        *__restrict__ column; /* of each place: of a pattern without places of its own that is CSR's array */
};

struct strips {
    int places, segments, blocks;
    strip_arrays d;
    int *d_own_columns; /* NULL: d.column is CSR's */
};

#endif
