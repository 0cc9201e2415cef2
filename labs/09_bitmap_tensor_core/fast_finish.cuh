/*
 * fast_finish.cuh - from a strip's sums to C. A block that has all columns of a strip stores them. Where
 * several blocks share a strip, each leaves its part, and the one that ends last adds them up, always
 * in the order of the columns: so the result has the same bits in every run.
 */
#ifndef LAB9_FAST_FINISH_CUH
#define LAB9_FAST_FINISH_CUH

#include "fast_ways.cuh"

#include "device/vec.cuh"
#include "tca_bme_parts.cuh"

/* Two neighbours of C where that needs more than one store of 4 bytes: because A names elements again, or
 * because N is odd. Not inlined: it is rarely needed, and the kernel's code comes from memory. */
template <class H>
static __device__ __noinline__ void store_two_slowly(const fast_product &p, int row, int column,
                                                     float x, float y)
{
    const dense_rows<H> B = {.B = (const H *)p.B, .N = p.N};
    const float sum[2] = {x, y};
    for (int i = 0; i < 2 && column + i < p.N; i++) {
        float more = 0;
        if (p.repeated.num_repeats) more = repeated_products(p.repeated, B, row, column + i);
        ((H *)p.C)[(size_t)row * p.N + column + i] = narrow<H>(sum[i] + more);
    }
}

/* A lane's elements of 16 rows from `row` on. */
template <int TILES, class H>
static __device__ __forceinline__ void store_strip(const fast_product &p, int row,
                                                   const float (&sum)[TILES][4])
{
    const bool slow = p.repeated.num_repeats || p.N % 2 != 0;
    row += lane_id() / 4;
#pragma unroll
    for (int n = 0; n < TILES; n++)
#pragma unroll
        for (int lower = 0; lower < 2; lower++) {
            const int r = row + 8 * lower, c = p.column + 8 * n + lane_id() % 4 * 2;
            const float x = sum[n][2 * lower], y = sum[n][2 * lower + 1];
            if (r >= p.A.rows || c >= p.N) continue;
            if (slow) {
                store_two_slowly<H>(p, r, c, x, y);
            } else {
                const H two[2] = {narrow<H>(x), narrow<H>(y)};
                store_vector((H *)p.C + (size_t)r * p.N + c, two);
            }
        }
}

/* Of the strip whose sums are those of a slot of `group`. */
static __device__ int first_row(const fast_product &p, int group, int slot)
{
    return (group * group_strips(p.A) + slot) * STRIP_ROWS;
}

/* Where a block leaves its part of a strip: 4 * TILES numbers a lane. It has parts of two groups at most:
 * of the last one, if that begins in it, and of the first one, if it does not. */
template <int TILES>
static __device__ float *part_of(const fast_product &p, uint32_t block, bool begins, int slot)
{
    const uint32_t part = (block * 2 + begins) * SLOTS + slot;
    return p.parts + (size_t)part * slot_sums(TILES) + lane_id() * 4;
}

/* The block is done with its quads of `group`, which begins in it, and ends, or not: C, or what others
 * wait for. */
template <int TILES, class H>
static __device__ __forceinline__ void finish(const fast_product &p, int worker, int group,
                                              bool begins, bool ends,
                                              const float (&sum)[WARP_STRIPS][TILES][4])
{
#pragma unroll
    for (int strip = 0; strip < WARP_STRIPS; strip++) {
        const int slot = WARP_STRIPS * worker + strip;
        if (begins && ends) {
            store_strip<TILES, H>(p, first_row(p, group, slot), sum[strip]);
        } else {
            float *const part = part_of<TILES>(p, blockIdx.x, begins, slot);
#pragma unroll
            for (int n = 0; n < TILES; n++)
                store_vector(part + n * 4 * LANES, sum[strip][n]);
        }
    }
}

/* A worker's strips of a group of which the blocks from `first` to `last` have left parts: in the first of
 * them it begins. Parts come from L2, which takes most of a microsecond: those of BATCH blocks are asked
 * for at once, for all strips, with zeros where there are fewer, and added in order. */
template <int TILES, class H>
static __device__ __forceinline__ void add_parts(const fast_product &p, uint32_t first,
                                                 uint32_t last, int group, int worker)
{
    constexpr int BATCH = 16 / TILES;
    float sum[WARP_STRIPS][TILES][4] = {};
#pragma unroll 1
    for (uint32_t begin = first; begin <= last; begin += BATCH) {
        float4 more[BATCH][WARP_STRIPS][TILES];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
#pragma unroll
            for (int strip = 0; strip < WARP_STRIPS; strip++) {
                const uint32_t block = begin + i;
                const float *const part =
                    part_of<TILES>(p, block, block == first, WARP_STRIPS * worker + strip);
#pragma unroll
                for (int n = 0; n < TILES; n++)
                    more[i][strip][n] = block <= last
                                            ? __ldcg((const float4 *)(part + n * 4 * LANES))
                                            : make_float4(0, 0, 0, 0);
            }
#pragma unroll
        for (int i = 0; i < BATCH; i++)
#pragma unroll
            for (int strip = 0; strip < WARP_STRIPS; strip++)
#pragma unroll
                for (int n = 0; n < TILES; n++)
                    add_to(sum[strip][n], more[i][strip][n]);
    }
#pragma unroll
    for (int strip = 0; strip < WARP_STRIPS; strip++)
        store_strip<TILES, H>(p, first_row(p, group, WARP_STRIPS * worker + strip), sum[strip]);
}

/* When the block has left all its parts, it says so to those who share its first and its last group, at
 * once: lanes 0 and 1 do. So a block waits for memory only here, when it has nothing else to do. */
template <int TILES, class H> static __device__ void settle(const fast_product &p, int worker)
{
    const uint32_t quads = p.A.quads, all = p.A.groups * quads, blocks = p.A.shape.blocks;
    const uint32_t begin = first_quad(all, blocks, blockIdx.x);
    const uint32_t end = first_quad(all, blocks, blockIdx.x + 1);
    const int group = (lane_id() == 0 ? begin : end - 1) / quads;
    const uint32_t first = owner_of(all, blocks, group * quads);
    const uint32_t last = owner_of(all, blocks, (group + 1) * quads - 1);
    const bool answers = lane_id() == 0 || (lane_id() == 1 && group * quads > begin);
    bool complete = false;
    __threadfence();
    __syncwarp();
    if (answers && first < last) /* the last of them makes it zero again */
        complete = atomicInc(&p.arrived[group * WORKERS + worker], last - first) == last - first;
    const unsigned ready = __ballot_sync(FULL_MASK, complete);
    if (ready == 0) return;
    __syncwarp();
    __threadfence();
#pragma unroll 1
    for (int lane = 0; lane < 2; lane++)
        if (ready >> lane & 1)
            add_parts<TILES, H>(p, __shfl_sync(FULL_MASK, first, lane),
                                __shfl_sync(FULL_MASK, last, lane),
                                __shfl_sync(FULL_MASK, group, lane), worker);
}

#endif
