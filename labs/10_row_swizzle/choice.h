/*
 * choice.h - which family and settings for which matrix: every threshold of lab 10 is here.
 *
 * The rule sees the statistics of the row lengths, rows, cols and N; scripts/compare-choices says how
 * close it comes to an oracle that has tried everything (handout, "Choosing").
 */
#ifndef LAB10_CHOICE_H
#define LAB10_CHOICE_H

#include "ops/spmm.h"

/* Values of FAMILY: kernels of this lab, or the number of the lab whose kernel it is. */
enum family {
    FAMILY_BINS = 0,
    FAMILY_GROUPS = 1,
    FAMILY_LAB5 = 5,
    FAMILY_LAB6 = 6,
    FAMILY_LAB7 = 7
};
/* Values of SWIZZLE beside 0, rows as they come: all rows by length, or a window of rows at a time. */
enum swizzle { SWIZZLE_ALL = 1, SWIZZLE_WINDOW = 4096 };
/* Positions in spmm_plan.tuning. The last three are the settings of the bins. */
enum { TUNE_FAMILY, TUNE_SWIZZLE, TUNE_WIDTH, TUNE_SERIAL, TUNE_PACK };

static inline void choose_by_rule(const row_stats *stats, int N, int *tuning)
{
    /* Nonzeros that one group walks alone: few for balance, many for few sums to combine. */
    const double SERIAL_128_FROM_MEAN = 32, SERIAL_256_FROM_MEAN = 256;
    /* Packets save short rows a chain of three loads, but pad them with holes. With 64 columns a
     * slice a row is twice the work, and its beginning matters less. */
    const double PACK_BELOW_MEAN = 16, PACK_BELOW_MEAN_WIDE = 8;
    /* Long rows use many columns in common with their neighbours, if any two rows do. */
    const double WINDOW_FROM_MEAN = 32;

    /* Few columns under long rows: lab 5's segments share a slice of B of half a megabyte, so that
     * shared memory and instructions bound, and there it needs fewer of both. */
    const double DENSE_FROM_MEAN = 100, DENSE_BELOW_COLS = 8192;

    const bool wide = N % 64 == 0;
    const bool dense = stats->mean >= DENSE_FROM_MEAN && (double)stats->cols < DENSE_BELOW_COLS;
    tuning[TUNE_FAMILY] = dense && N <= 32 ? FAMILY_LAB5 : FAMILY_BINS;
    tuning[TUNE_WIDTH] = wide ? 64 : 32;
    tuning[TUNE_SERIAL] = stats->mean >= SERIAL_256_FROM_MEAN   ? 256
                          : stats->mean >= SERIAL_128_FROM_MEAN ? 128
                                                                : 64;
    tuning[TUNE_PACK] = stats->mean < (wide ? PACK_BELOW_MEAN_WIDE : PACK_BELOW_MEAN) ? 16 : 0;
    tuning[TUNE_SWIZZLE] = stats->mean >= WINDOW_FROM_MEAN ? SWIZZLE_WINDOW : SWIZZLE_ALL;
}

#endif
