/*
 * fast_finish.cuh - from a strip's sums to C. Where several blocks share a strip, the one that has its last columns
 * adds what the others leave to its own sums, always from left to right: so the result has the same bits in every run.
 *
 * Nobody says that a part is there: it does so by itself, by being something else than NOT_YET. So no fence is needed, and
 * no counter: what has come to L2 is one load away from its sum. And the code is short, because it runs once, with
 * cold caches: a thousand instructions more were one to two microseconds (fast.md, step 20).
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

/* Of a strip of `group`. */
static __device__ int first_row(const fast_product &p, int group, int strip)
{
    return (group * group_strips(p.A) + strip) * STRIP_ROWS;
}

/* ---- parts of a strip ------------------------------------------------------------------------------- */

/* What stands where a sum will be: bits that no sum has. It may well be NaN, but not this one. On a GPU NaN has one
 * form, 0x7fffffff, where mma and additions make it. On the CPU it keeps bits of an input, which had fewer. */
constexpr uint32_t NOT_YET = 0xffffffff;

/* Where a block leaves its part of a strip, and behind it that of the next one: four numbers a lane for each piece, a
 * tile of a strip. A block leaves parts of one group at most: of that whose last quad is another block's. */
template <int TILES> static __device__ float *part_of(const fast_product &p, int block, int strip)
{
    return p.parts + (size_t)(block * SLOTS + strip) * slot_sums(TILES) + lane_id() * 4;
}

/* Strips of a group that ends in another block. */
template <int TILES, int STRIPS>
static __device__ __forceinline__ void leave_part(const fast_product &p, int block, int strip,
                                                  const float (&sum)[STRIPS][TILES][4])
{
    float *const part = part_of<TILES>(p, block, strip);
#pragma unroll
    for (int k = 0; k < STRIPS * TILES; k++)
        store_vector_relaxed(part + k * 4 * LANES, sum[k / TILES][k % TILES]);
}

/* Adds what the blocks from `first` to the one before `last` have left, or will: all of them began before this one.
 * Parts come from L2, which takes most of a microsecond: so those of BATCH blocks are asked for at once, until
 * all are there, with zeros where there are fewer, and added in order. Then nothing stands there, for the next run. */
template <int TILES, int STRIPS>
static __device__ __forceinline__ void add_parts(const fast_product &p, int first, int last,
                                                 int strip, float (&sum)[STRIPS][TILES][4])
{
    constexpr int PIECES = STRIPS * TILES, BATCH = (TILES == 1 ? 12 : 6) / STRIPS,
                  ALL = BATCH * PIECES;
    const float not_yet = __uint_as_float(NOT_YET),
                nothing[4] = {not_yet, not_yet, not_yet, not_yet};
    const auto is_there = [](const float(&piece)[4]) {
        return __float_as_uint(piece[0]) != NOT_YET;
    };
#pragma unroll 1
    for (int begin = first; begin < last; begin += BATCH) {
        float more[ALL][4] = {}; /* block after block */
        const auto is_part = [=](int i) { return begin + i / PIECES < last; };
        float *const from = part_of<TILES>(p, begin, strip);
        const auto place = [=](int i) {
            return from + i / PIECES * SLOTS * slot_sums(TILES) + i % PIECES * 4 * LANES;
        };
#pragma unroll
        for (int i = 0; i < ALL; i++)
            if (is_part(i)) more[i][0] = not_yet;
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
            if (is_part(i)) store_vector_relaxed(place(i), nothing);
            for (int j = 0; j < 4; j++)
                sum[i % PIECES / TILES][i % TILES][j] += more[i][j];
        }
    }
}

/* The block is done with its quads of a group, whose sums the warp has for some strips, from number `strip` of the
 * group on. */
template <class H, int TILES, int STRIPS>
static __device__ __forceinline__ void finish(const fast_product &p, int block,
                                              const step_cursor &share, int strip,
                                              float (&sum)[STRIPS][TILES][4])
{
    if (share.place + share.in_group() < share.quads) {
        leave_part(p, block, strip, sum);
        return;
    }
    if (share.place > 0) add_parts(p, p.A.start[block].begun_in, block, strip, sum);
#pragma unroll
    for (int i = 0; i < STRIPS; i++)
        store_strip<TILES, H>(p, first_row(p, share.group(), strip + i), sum[i]);
}

#endif
