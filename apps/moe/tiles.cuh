/*
 * tiles.cuh - what both kernels of product.h share: which tile a thread block makes, where numbers lie in shared memory.
 */
#ifndef MOE_TILES_CUH
#define MOE_TILES_CUH

#include "device/half.cuh"
#include "device/swizzle.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "product.h"

constexpr int DEEP = FEATURE_STEP; /* of a step */

/* A tile of the result: rows of one expert, and columns from `column` on. */
struct job {
    row_tile rows;
    int column;
};

/* Job number `i` of *tiles * stripes. All tiles of a band come before the next stripe of columns: thread blocks that run
 * together share a stripe of W, and the band's rows are still in L2 for the next one. */
static __device__ __forceinline__ job job_at(const row_tile *tile, int stripes, int columns, int i)
{
    const row_tile any = tile[i / stripes];
    const int inside = i - any.band * stripes;
    return {tile[any.band + inside % any.of_band], inside / any.of_band * columns};
}

/* Where piece `c`, 16 bytes, of row `r` lies in a tile with rows of 64 numbers: in numbers, as tensor_copy leaves it. */
static __device__ __forceinline__ int place(int r, int c)
{
    return r * DEEP + swizzled_piece<2 * DEEP>(r, c) * 8;
}

static __device__ __forceinline__ __half finish(float sum, bool relu)
{
    return narrow<__half>(relu && sum < 0 ? 0 : sum); /* a NaN stays */
}

#endif
