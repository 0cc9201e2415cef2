/*
 * lines.cuh - device functions of lines.cu that stand in another file. Marks: see there.
 */
#ifndef TESTS_COUNTERS_LINES_CUH
#define TESTS_COUNTERS_LINES_CUH

static __device__ __forceinline__ float inlined(const float *p)
{
    return p[threadIdx.x]; /* @inlined */
}

static __device__ __noinline__ void called(float *p, float x)
{
    p[threadIdx.x] = x; /* @called */
}

#endif
