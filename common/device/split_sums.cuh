/*
 * split_sums.cuh - split-K: blocks share rows of C, each leaves its sums in fp32, and who adds them up does so in the
 * order of the splits. So every run gives the same bits.
 */
#ifndef DEVICE_SPLIT_SUMS_CUH
#define DEVICE_SPLIT_SUMS_CUH

#include "device/epilogue.cuh"
#include "device/half.cuh"
#include "device/vec.cuh"

#include <stdint.h>

constexpr int SPLITS[] = {1, 2, 3, 4, 6}; /* what the tunable SPLIT may be */
constexpr int WIDEST_TILE = 64;

/* Sums of the splits, in fp32. */
struct split_sums {
    int splits;         /* blocks that share a row of C */
    size_t rows, pitch; /* of each split: C's, up to whole blocks and tiles */
    float *d_sum;       /* splits x rows x pitch; NULL: a block has the whole sum */
};

template <class H> struct dense_result {
    H *C;
    int rows, N;
    row_epilogue epilogue; /* of whole sums */
};

/* Returns the columns of C that a block computes: 8, 16, 32 or 64. */
inline int tile_of(int N)
{
    int tile = 8;
    while (tile < N && tile < WIDEST_TILE)
        tile *= 2;
    return tile;
}

/* Counts such tiles of N columns. */
inline int slices_of(int N)
{
    return (N - 1) / tile_of(N) + 1;
}

/* Chooses SPLIT for rows of `across` groups of 64 columns. A block waits for its copies most of the time, so the more
 * blocks a multiprocessor has the better, up to `enough` splits. But each needs groups enough to be worth its beginning and its end
 * (lab 9's LOG.md). */
inline int choose_splits(int across, int64_t enough = INT64_MAX)
{
    constexpr int LEAST_GROUPS = 8;
    int best = 1;
    for (int splits : SPLITS)
        if (best < enough && across / splits >= LEAST_GROUPS) best = splits;
    return best;
}

/* The most products that one chain of a tensor core adds up. It cuts each sum towards zero, so errors have one sign as long as
 * the sum has. Their share of the bound grows with the root of the products (lab 9's LOG.md). */
constexpr int64_t MOST_PRODUCTS = 6144;

/* Returns how many blocks share a row of groups: `asked`, or the rule's number where that is 0. It is more where one block
 * would add up more than MOST_PRODUCTS of the longest row, if that is spread evenly over the columns. */
inline int splits_for(int asked, int across, int64_t longest)
{
    const int least = (int)((longest + MOST_PRODUCTS - 1) / MOST_PRODUCTS);
    const int wanted = asked == 0 ? choose_splits(across) : asked;
    return max(1, min(max(wanted, least), across));
}

/* Stores a lane's sums, the first of which is of (row, column) in the layout of mma.cuh: to C, finished and
 * rounded, or in fp32 to its split. */
template <int TILE_N, class H>
static __device__ void store_tile(const split_sums &to, const dense_result<H> &out, int split,
                                  int row, int column, const float (&sum)[TILE_N / 8][4])
{
#pragma unroll
    for (int i = 0; i < TILE_N / 4; i++) {
        const int r = row + i % 2 * 8, c = column + i / 2 * 8;
        float two[2] = {sum[i / 2][i % 2 * 2], sum[i / 2][i % 2 * 2 + 1]};
        if (to.d_sum) {
            store_vector(&to.d_sum[(split * to.rows + r) * to.pitch + c], two);
        } else if (r < out.rows) {
            apply_epilogue(out.epilogue, r, two);
            for (int e = 0; e < 2 && c + e < out.N; e++)
                out.C[(size_t)r * out.N + c + e] = narrow<H>(two[e]);
        }
    }
}

#endif
