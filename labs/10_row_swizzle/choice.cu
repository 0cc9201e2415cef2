/*
 * choice.cu - the rule of lab 10: every threshold is here. It sees the statistics of the row lengths,
 * rows, cols and N. They come from sweeps on an H200; scripts/compare-choices says how close the rule
 * comes to an oracle that has tried everything (handout, "Choosing").
 */
#include "choice.h"

/* Of an H200. */
constexpr int SMS = 132, RESIDENT_GROUPS = SMS * 40 * 4; /* groups of 8 lanes */

/* How full the last wave of blocks leaves the GPU if each computes 64 rows, as row groups do. */
static double wave_share(const row_stats *stats)
{
    const double blocks = stats->rows / 64.0;
    return blocks / SMS / (1 + (int)((blocks - 1) / SMS));
}

/* Pruned weights: dense, rows of like length. */
static void choose_for_weights(const row_stats *stats, int N, int *tuning)
{
    /* The fuller the rows, the more of them need the same row of B. Blocks of row groups are large:
     * a last wave of few of them costs more than that saves, unless much is saved. */
    const bool full = stats->density >= 0.25 && stats->rows >= 8192;
    const bool wide = stats->density >= 0.15 && N >= 64 && wave_share(stats) >= 0.9;
    /* A narrow product has work for subwarps if there are rows enough for them. */
    const bool narrow = N < 64 && stats->rows >= 6144;
    tuning[TUNE_FAMILY] = full || wide ? FAMILY_GROUPS : narrow ? FAMILY_LAB7 : FAMILY_LAB6;
    tuning[TUNE_SWIZZLE] = 0;
}

/* Graphs, and whatever has rows of very different length. */
static void choose_for_graphs(const row_stats *stats, int N, int *tuning)
{
    /* Nonzeros that one group walks alone: many for few sums to combine, but fewer where there is not
     * enough work for all groups, for balance. */
    const double SERIAL_128_FROM_MEAN = 32, SERIAL_256_FROM_MEAN = 256;
    const double each = (double)stats->nnz / RESIDENT_GROUPS * (N / 64 > 1 ? N / 64 : 1);
    /* Packets save short rows a chain of three loads, but pad them with holes. */
    const double PACK_BELOW_MEAN = 16;
    /* Long rows use many columns in common with their neighbours, if any two rows do. */
    const double WINDOW_FROM_MEAN = 32;

    tuning[TUNE_FAMILY] = FAMILY_BINS;
    tuning[TUNE_SERIAL] = stats->mean >= SERIAL_256_FROM_MEAN && each >= 256   ? 256
                          : stats->mean >= SERIAL_128_FROM_MEAN && each >= 128 ? 128
                                                                               : 64;
    tuning[TUNE_PACK] = stats->mean < PACK_BELOW_MEAN ? 16 : 0;
    tuning[TUNE_SWIZZLE] = stats->mean >= WINDOW_FROM_MEAN ? SWIZZLE_WINDOW : SWIZZLE_ALL;
}

void choose_by_rule(const row_stats *stats, int N, int *tuning)
{
    const bool dense = stats->density >= 0.02 && stats->mean >= 64;
    tuning[TUNE_WIDTH] = N % 64 == 0 ? 64 : 32;
    tuning[TUNE_SERIAL] = 64;
    tuning[TUNE_PACK] = 0;
    if (dense && stats->cov < 0.5) {
        choose_for_weights(stats, N, tuning);
    } else if (dense && stats->density >= 0.05) {
        /* A small dense graph: rows of one length after the swizzle share B; a slice of B of half a
         * megabyte is no bottleneck for lab 5's segments, and they need fewer instructions. */
        tuning[TUNE_FAMILY] = N >= 128 ? FAMILY_GROUPS : FAMILY_LAB5;
        tuning[TUNE_SWIZZLE] = N >= 128 ? SWIZZLE_ALL : 0;
    } else {
        choose_for_graphs(stats, N, tuning);
    }
}
