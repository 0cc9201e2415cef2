/*
 * choice.h - which family and settings for which matrix. What the settings are called; the rule itself
 * is in choice.cu.
 */
#ifndef LAB10_CHOICE_H
#define LAB10_CHOICE_H

#include "ops/spmm.h"

/* Values of FAMILY: kernels of this lab, or the number of the lab whose kernel it is. */
enum family {
    FAMILY_BINS = 0,
    FAMILY_FRAGMENTS = 2,
    FAMILY_TILES = 3,
    FAMILY_LAB5 = 5,
    FAMILY_LAB6 = 6,
    FAMILY_LAB7 = 7,
    FAMILY_LAB8 = 8 /* in 16 bits, beside fragments */
};
/* Values of SWIZZLE beside 0, rows as they come: all rows by length, or a window of rows at a time. */
enum swizzle { SWIZZLE_ALL = 1, SWIZZLE_WINDOW = 4096 };
/* Positions in spmm_plan.tuning. From WIDTH on they are settings of this lab's own families, in whose
 * plans they come first. In 16 bits SPLIT is the last: there are no bins. */
enum { TUNE_FAMILY, TUNE_SWIZZLE, TUNE_WIDTH, TUNE_PANEL, TUNE_SPLIT, TUNE_SERIAL, TUNE_PACK };

/* Fills tuning[] from the row lengths, rows, cols and N, in fp32 ... */
void choose_by_rule(const row_stats *stats, int N, int *tuning);

/* ... and in 16 bits. */
void choose_by_rule_16(const row_stats *stats, int N, int *tuning);

#endif
