/*
 * strips.cuh - how kernels read strips.h.
 */
#ifndef FORMATS_STRIPS_CUH
#define FORMATS_STRIPS_CUH

#include "formats/strips.h"

/* The segment of a place of the strip. */
__device__ __forceinline__ int segment_of(const strip &s, int place)
{
    const unsigned up_to_it = (2u << place % STRIP) - 1;
    return s.segment + __popc(s.starts & up_to_it);
}

#endif
