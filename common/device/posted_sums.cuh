/*
 * posted_sums.cuh - sums that one block leaves in global memory for another block of the same launch,
 * without a flag, a counter or a fence.
 *
 * The sums announce themselves: bits that no sum has, NOT_POSTED, stand in their place before. Sixteen bytes
 * come and go in one piece (load_vector_relaxed), so a reader looks at them until they are something else.
 * After it has added them it puts NOT_POSTED back, for the next launch. A block may wait only for blocks that
 * began before it: others may never begin (started_block).
 *
 * The code is short on purpose. It runs once, with cold caches: a thousand instructions more cost one to two
 * microseconds on an H200 (LOG.md of lab 20, step 20).
 */
#ifndef DEVICE_POSTED_SUMS_CUH
#define DEVICE_POSTED_SUMS_CUH

#include "device/vec.cuh"
#include "device/warp.cuh"

/* Returns a block's number, for all its threads: all blocks of lower numbers have begun. A GPU begins blocks
 * in ascending order, so long as the launch has no more than it holds at once. The CPU backend may be told
 * to begin with the last: there numbers are drawn from *ticket, which is 0 before and after a launch. That
 * would do on a GPU, too, but took 0.3 to 0.4 us more on an H200. */
static __device__ int started_block(unsigned *ticket)
{
#ifdef __CUDACC__
    return blockIdx.x;
#else
    __shared__ int drawn;
    if (threadIdx.x == 0) drawn = atomicInc(ticket, gridDim.x - 1);
    __syncthreads();
    return drawn;
#endif
}

/* Bits of no sum. They are a NaN, but a GPU's mma and additions make NaN in one form only, 0x7fffffff. On
 * the CPU a NaN keeps bits of an input, which had fewer. All four bytes are alike, for cudaMemset. */
constexpr uint32_t NOT_POSTED = 0xffffffff;

/* Leaves a lane's sums: a piece of four numbers for every tile, pieces of a warp side by side. */
template <int STRIPS, int TILES>
static __device__ __forceinline__ void post_sums(float *to, const float (&sum)[STRIPS][TILES][4])
{
#pragma unroll
    for (int k = 0; k < STRIPS * TILES; k++)
        store_vector_relaxed(to + k * 4 * WARP_SIZE, sum[k / TILES][k % TILES]);
}

/* Adds what the blocks from `first` to the one before `last` post, in this order, so that every run gives
 * the same bits. place_of(block): where the lane's sums of that block will be, DISTANCE numbers behind those
 * of the block before. A load from L2 takes most of a microsecond, so the sums of BATCH blocks are asked for
 * at once, until all are there; zeros stand for blocks that do not exist. */
template <int BATCH, unsigned DISTANCE, int STRIPS, int TILES, class F>
static __device__ __forceinline__ void add_posted_sums(int first, int last, const F &place_of,
                                                       float (&sum)[STRIPS][TILES][4])
{
    constexpr int PIECES = STRIPS * TILES, ALL = BATCH * PIECES;
    const float none = __uint_as_float(NOT_POSTED), nothing[4] = {none, none, none, none};
    const auto is_there = [](const float(&piece)[4]) {
        return __float_as_uint(piece[0]) != NOT_POSTED;
    };
#pragma unroll 1
    for (int begin = first; begin < last; begin += BATCH) {
        float more[ALL][4] = {}; /* block after block */
        const auto exists = [=](int i) { return begin + i / PIECES < last; };
        float *const from = place_of(begin);
        const auto place = [=](int i) {
            return from + i / PIECES * DISTANCE + i % PIECES * 4 * WARP_SIZE;
        };
#pragma unroll
        for (int i = 0; i < ALL; i++)
            if (exists(i)) more[i][0] = none;
        for (bool complete = false; !complete;) {
#pragma unroll
            for (int i = 0; i < ALL; i++)
                if (!is_there(more[i])) load_vector_relaxed(more[i], place(i));
            complete = true;
#pragma unroll
            for (int i = 0; i < ALL; i++)
                complete &= is_there(more[i]);
        }
#pragma unroll
        for (int i = 0; i < ALL; i++) {
            if (exists(i)) store_vector_relaxed(place(i), nothing);
            for (int j = 0; j < 4; j++)
                sum[i % PIECES / TILES][i % TILES][j] += more[i][j];
        }
    }
}

#endif
