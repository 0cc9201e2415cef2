/*
 * choice.cu - the rule of lab 10: every threshold is here, or in the kernels' models. It sees the
 * statistics of the row lengths, rows, cols and N. They come from sweeps on an H200;
 * scripts/compare-choices says how close the rule comes to an oracle that has tried everything (handout,
 * "Choosing").
 */
#include "choice.h"

#include "bins.h"
#include "fragments.h"
#include "tile.h"

#include <math.h>

/* What lab 6 or 7 takes for rows of like length on an H200, in microseconds: long rows are walked one
 * round after the other, or there are rows enough to fill the GPU, at so many flops a microsecond. */
static double estimate_rows(const row_stats *stats, int N)
{
    const double flops = 2.0 * stats->nnz * N;
    return N < 64 ? fmax(5.5 + 0.0245 * stats->mean, 4.5 + flops / 5.9e6)
                  : fmax(7 + 0.045 * stats->mean, 5 + flops / 8.9e6);
}

static void set_shape(const fragment_shape &shape, int *tuning)
{
    tuning[TUNE_WIDTH] = shape.width;
    tuning[TUNE_PANEL] = shape.panel_rows;
    tuning[TUNE_SPLIT] = shape.splits;
}

/* A kernel for a dense matrix, and how long it should take. */
struct candidate {
    double time;
    int family, swizzle;
    fragment_shape shape; /* of which other families know only the width */
};

/* Pruned weights, and small dense graphs. */
static void choose_for_dense(const row_stats *stats, int N, bool alike, int *tuning)
{
    /* A panel's longest row decides about its time, and of few rows there are not enough to even that
     * out. */
    constexpr int FEW_ROWS = 2048;
    const int by_length = alike ? 0 : SWIZZLE_ALL;
    tile_shape tile;
    /* Rows that are too few to fill the GPU are cut. */
    const fragment_shape none = {.panel_rows = 16, .width = tuning[TUNE_WIDTH], .splits = 1};
    candidate best = {bins_estimate(stats, N), FAMILY_BINS, SWIZZLE_ALL, none};
    /* Rows that are walked whole: a narrow product has work for subwarps if there are rows enough. */
    if (alike && estimate_rows(stats, N) <= best.time)
        best = {estimate_rows(stats, N), N < 64 && stats->rows >= 6144 ? FAMILY_LAB7 : FAMILY_LAB6,
                0, none};
    /* Shared memory delivers rows of B four times as fast as L2, once tiles are filled. */
    const double tiles = tile_choose(stats, N, &tile);
    if (tiles < best.time) best = {tiles, FAMILY_TILES, 0, none};
    /* Tensor cores multiply all the zeros between nonzeros, and so fast that half of the time they are
     * worth it. */
    if (alike || stats->rows >= FEW_ROWS) {
        candidate c = {0, FAMILY_FRAGMENTS, by_length, none};
        c.time = fragments_choose(stats, N, PRECISION_FP32, &c.shape);
        if (c.time < best.time) best = c;
    }
    tuning[TUNE_FAMILY] = best.family;
    tuning[TUNE_SWIZZLE] = best.swizzle;
    set_shape(best.shape, tuning);
}

/* Graphs, and whatever has rows of very different length. */
static void choose_for_graphs(const row_stats *stats, int N, int *tuning)
{
    /* Packets save short rows a chain of three loads, but pad them with holes. */
    const double PACK_BELOW_MEAN = 32;
    /* Long rows use many columns in common with their neighbours, if any two rows do. */
    const double WINDOW_FROM_MEAN = 32;
    /* Rows that are long and no more different than that need no order, and narrow slices of B stay in
     * L2; a narrow product is lab 5's. */
    const bool long_and_alike = stats->mean >= 256 && stats->cov < 1;

    tuning[TUNE_FAMILY] = long_and_alike && N < 64 ? FAMILY_LAB5 : FAMILY_BINS;
    tuning[TUNE_SERIAL] = bins_serial(stats, N);
    tuning[TUNE_PACK] = stats->mean < PACK_BELOW_MEAN ? 16 : 0;
    tuning[TUNE_SWIZZLE] = long_and_alike                    ? 0
                           : stats->mean >= WINDOW_FROM_MEAN ? SWIZZLE_WINDOW
                                                             : SWIZZLE_ALL;
    if (long_and_alike) tuning[TUNE_WIDTH] = 32;
}

static bool is_dense(const row_stats *stats)
{
    return stats->density >= 0.02 && stats->mean >= 64;
}

void choose_by_rule(const row_stats *stats, int N, int *tuning)
{
    const bool alike = stats->cov < 0.5;
    set_shape({.panel_rows = 16, .width = N % 64 == 0 ? 64 : 32, .splits = 1}, tuning);
    tuning[TUNE_SERIAL] = 64;
    tuning[TUNE_PACK] = 0;
    if (is_dense(stats) && (alike || stats->density >= 0.05))
        choose_for_dense(stats, N, alike, tuning);
    else
        choose_for_graphs(stats, N, tuning);
}

void choose_by_rule_16(const row_stats *stats, int N, int *tuning)
{
    /* What lab 8 takes, fitted to nine pruned weights at two widths: it is within a fifth of them. */
    const double lab8 = 7.5 + 2.0 * stats->nnz * N / 12e6;
    fragment_shape shape = {.panel_rows = 16, .width = 32, .splits = 1};
    const bool can = N % 2 == 0 && is_dense(stats);
    tuning[TUNE_SWIZZLE] = 0;
    set_shape(shape, tuning);
    tuning[TUNE_FAMILY] = FAMILY_LAB8;
    if (!can || fragments_choose(stats, N, PRECISION_FP16, &shape) >= lab8) return;
    tuning[TUNE_FAMILY] = FAMILY_FRAGMENTS;
    tuning[TUNE_SWIZZLE] = stats->cov < 0.5 ? 0 : SWIZZLE_ALL;
    set_shape(shape, tuning);
}
