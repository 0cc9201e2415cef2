/*
 * choice.cu - the rule of lab 10: every threshold is here, or in the kernels' models. It sees the
 * statistics of the row lengths, rows, cols and N. They come from sweeps on an H200;
 * scripts/compare-choices says how close the rule comes to an oracle that has tried everything (handout,
 * "Choosing").
 */
#include "choice.h"

#include "bins.h"
#include "fragments.h"
#include "rows_model.h"
#include "tile.h"

static void set_shape(const fragment_shape &shape, int *tuning)
{
    tuning[TUNE_WIDTH] = shape.width;
    tuning[TUNE_PANEL] = shape.panel_rows;
    tuning[TUNE_SPLIT] = shape.splits;
}

/* Rows that four in a warp, or a panel, may take as they come. */
static bool are_alike(const row_stats *stats)
{
    return stats->cov < 0.5;
}

/* Rows so full that tensor cores, which multiply the zeros between nonzeros as well, may be worth it. */
static bool are_full(const row_stats *stats)
{
    return stats->density >= 0.02 && stats->mean >= 64;
}

static void choose_bins(const row_stats *stats, int N, int *tuning)
{
    /* Packets save short rows a chain of three loads, but pad them with holes. */
    const double PACK_BELOW_MEAN = 32;
    /* Long rows use many columns in common with their neighbours, if any two rows do. */
    const double WINDOW_FROM_MEAN = 32;
    tuning[TUNE_FAMILY] = FAMILY_BINS;
    tuning[TUNE_SERIAL] = bins_serial(stats, N);
    tuning[TUNE_PACK] = stats->mean < PACK_BELOW_MEAN ? 16 : 0;
    tuning[TUNE_SWIZZLE] = stats->mean >= WINDOW_FROM_MEAN ? SWIZZLE_WINDOW : SWIZZLE_ALL;
}

/* A kernel, and how long it should take. */
struct candidate {
    double time;
    int family, swizzle;
};

/* Rows that are walked whole, by a warp in lab 6 or a part of one in lab 7. */
static candidate choose_whole_rows(const row_stats *stats, int N)
{
    /* A narrow product with rows enough is one for subwarps: measured, not modelled. */
    constexpr int MANY_ROWS = 6144;
    const double warps = roma_estimate(stats, N);
    if (N < 64) return {warps, stats->rows >= MANY_ROWS ? FAMILY_LAB7 : FAMILY_LAB6, 0};
    const double subwarps = subwarp_estimate(stats, N);
    if (subwarps < warps) return {subwarps, FAMILY_LAB7, 0};
    /* The longest rows first, if rows differ and do not all run at once. */
    const bool by_length = stats->cov >= 0.1 && stats->rows > ROMA_RESIDENT_ROWS;
    return {warps, FAMILY_LAB6, by_length ? SWIZZLE_ALL : 0};
}

/* Pruned weights, and small dense graphs: whatever should take the least. */
static void choose_for_dense(const row_stats *stats, int N, int *tuning)
{
    /* A panel's longest row decides about its time, and of few rows there are not enough to even that
     * out. */
    constexpr int FEW_ROWS = 2048;
    const bool alike = are_alike(stats);
    tile_shape tile;
    fragment_shape panel;

    /* Rows that are long, or too few to fill the GPU, are cut. */
    choose_bins(stats, N, tuning);
    candidate best = {bins_estimate(stats, N), FAMILY_BINS, tuning[TUNE_SWIZZLE]};
    const candidate whole = choose_whole_rows(stats, N);
    if (whole.time < best.time) best = whole;
    /* Shared memory delivers rows of B three times as fast as L2, once tiles are filled. */
    const double tiles = tile_choose(stats, N, &tile);
    if (tiles < best.time) best = {tiles, FAMILY_TILES, 0};
    if (are_full(stats) && (alike || stats->rows >= FEW_ROWS)) {
        const double fragments = fragments_choose(stats, N, PRECISION_FP32, &panel);
        if (fragments < best.time) {
            best = {fragments, FAMILY_FRAGMENTS, alike ? 0 : SWIZZLE_ALL};
            set_shape(panel, tuning);
        }
    }
    tuning[TUNE_FAMILY] = best.family;
    tuning[TUNE_SWIZZLE] = best.swizzle;
}

/* Graphs, and whatever has rows of very different length. */
static void choose_for_graphs(const row_stats *stats, int N, int *tuning)
{
    /* Rows that are long and no more different than that need no order, and narrow slices of B stay in
     * L2; a narrow product is lab 5's. */
    const bool long_and_alike = stats->mean >= 256 && stats->cov < 1;
    choose_bins(stats, N, tuning);
    if (!long_and_alike) return;
    tuning[TUNE_SWIZZLE] = 0;
    tuning[TUNE_WIDTH] = 32;
    if (N < 64) tuning[TUNE_FAMILY] = FAMILY_LAB5;
}

void choose_by_rule(const row_stats *stats, int N, int *tuning)
{
    const bool dense = stats->density >= (are_alike(stats) ? 0.02 : 0.05);
    set_shape({.panel_rows = 16, .width = N % 64 == 0 ? 64 : 32, .splits = 1}, tuning);
    if (dense)
        choose_for_dense(stats, N, tuning);
    else
        choose_for_graphs(stats, N, tuning);
}

void choose_by_rule_16(const row_stats *stats, int N, int *tuning)
{
    /* What lab 8 takes, fitted to nine pruned weights at two widths: it is within a fifth of them. */
    const double lab8 = 7.5 + 2.0 * stats->nnz * N / 12e6;
    fragment_shape shape = {.panel_rows = 16, .width = 32, .splits = 1};
    const bool can = N % 2 == 0 && are_full(stats);
    tuning[TUNE_SWIZZLE] = 0;
    set_shape(shape, tuning);
    tuning[TUNE_FAMILY] = FAMILY_LAB8;
    if (!can || fragments_choose(stats, N, PRECISION_FP16, &shape) >= lab8) return;
    tuning[TUNE_FAMILY] = FAMILY_FRAGMENTS;
    tuning[TUNE_SWIZZLE] = are_alike(stats) ? 0 : SWIZZLE_ALL;
    set_shape(shape, tuning);
}
