/*
 * finish.cuh - from a strip's sums to C. Several blocks may share a strip. Then the block that has its
 * last columns adds what the others post to its own sums, always from left to right. So every run gives
 * the same bits.
 */
#ifndef LAB20_FINISH_CUH
#define LAB20_FINISH_CUH

#include "device/half.cuh"
#include "device/posted_sums.cuh"
#include "fetch.cuh"
#include "formats/tca_bme.cuh"

/* Stores two neighbours of C where that needs more than one store of 4 bytes: because A names elements
 * again, or because N is odd. Not inlined: it is rarely needed, and the kernel's code comes from memory. */
template <class H>
static __device__ __noinline__ void store_two_slowly(const product &p, int row, int column, float x,
                                                     float y)
{
    const row_major<H> B = {(const H *)p.B, p.N};
    for (int i = 0; i < 2 && column + i < p.N; i++) {
        float all[] = {(i ? y : x) + repeated_products(p.repeated, B, row, column + i)};
        apply_epilogue(p.epilogue, row, all);
        ((H *)p.C)[(size_t)row * p.N + column + i] = narrow<H>(all[0]);
    }
}

/* Stores a lane's elements of 16 rows from `row` on. */
template <int TILES, class H>
static __device__ __forceinline__ void store_strip(const product &p, int row,
                                                   const float (&sum)[TILES][4])
{
    const bool slow = p.repeated.num_repeats || p.N % 2 != 0;
    row += lane_id() / 4;
#pragma unroll
    for (int n = 0; n < TILES; n++)
#pragma unroll
        for (int lower = 0; lower < 2; lower++) {
            const int r = row + 8 * lower, c = p.column + 8 * n + lane_id() % 4 * 2;
            float x[] = {sum[n][2 * lower], sum[n][2 * lower + 1]};
            if (r >= p.A.rows || c >= p.N) continue;
            if (slow) {
                store_two_slowly<H>(p, r, c, x[0], x[1]);
            } else {
                apply_epilogue(p.epilogue, r, x);
                const H two[2] = {narrow<H>(x[0]), narrow<H>(x[1])};
                store_vector((H *)p.C + (size_t)r * p.N + c, two);
            }
        }
}

/* Finishes the block's quads of a group: of some strips, from number `strip` of the group on. A block posts
 * sums of one group at most: of the group whose last quad is another block's. */
template <class H, int TILES, int STRIPS>
static __device__ __forceinline__ void finish(const product &p, int block, const step_cursor &share,
                                              int strip, float (&sum)[STRIPS][TILES][4])
{
    constexpr int BATCH = (TILES == 1 ? 12 : TILES < 8 ? 6 : 3) / STRIPS; /* by registers */
    const auto place_of = [&](int b) {
        return p.posted + (size_t)(b * SLOTS + strip) * slot_sums(TILES) + lane_id() * 4;
    };
    if (share.place + share.in_group() < share.quads) {
        post_sums(place_of(block), sum);
        return;
    }
    /* BEGIN STUDENT: if the group began in other blocks, add what they have left, or will */
    if (share.place > 0)
        add_posted_sums<BATCH, SLOTS * TILES * 4 * LANES>(p.A.start[block].begun_in, block,
                                                          place_of, sum);
        /* END STUDENT */
#pragma unroll
    for (int i = 0; i < STRIPS; i++)
        store_strip<TILES, H>(p, (share.group() * group_strips(p.A) + strip + i) * STRIP_ROWS,
                              sum[i]);
}

#endif
