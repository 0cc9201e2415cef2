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
    FAMILY_GROUPS = 1,
    FAMILY_LAB5 = 5,
    FAMILY_LAB6 = 6,
    FAMILY_LAB7 = 7
};
/* Values of SWIZZLE beside 0, rows as they come: all rows by length, or a window of rows at a time. */
enum swizzle { SWIZZLE_ALL = 1, SWIZZLE_WINDOW = 4096 };
/* Positions in spmm_plan.tuning. The last three are the settings of the bins. */
enum { TUNE_FAMILY, TUNE_SWIZZLE, TUNE_WIDTH, TUNE_SERIAL, TUNE_PACK };

/* Fills tuning[] from the row lengths, rows, cols and N. */
void choose_by_rule(const row_stats *stats, int N, int *tuning);

#endif
