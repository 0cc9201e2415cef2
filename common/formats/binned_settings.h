/*
 * binned_settings.h - settings of products with binned rows, and what N allows of them: for kernels
 * and for the rules that choose, in C.
 */
#ifndef FORMATS_BINNED_SETTINGS_H
#define FORMATS_BINNED_SETTINGS_H

/* Positions in spmm_plan.tuning. A contender's own settings follow; HOST is the last of all. */
enum { TUNE_WIDTH, TUNE_SERIAL, TUNE_PACK, TUNE_WINDOW, TUNE_ORDER, NUM_BINNED_TUNABLES };

/* Values of ORDER: the order of segments that are alike in column block, bin and, where that
 * counts, window and length. As their rows come, or by a column that the row has: rows that share
 * the column then run side by side and find its row of B in L1. Only column block 0 is ordered:
 * others need not have that column. */
enum row_order { AS_THEY_COME, BY_FIRST_COLUMN, BY_LAST_COLUMN };

/* The width asked for (16, 32 or 64) if N allows it, else 32: 64 needs whole slices, 16 whole
 * vectors of four columns. */
static inline int slice_width(int N, int width)
{
    return (width == 64 && N % 64) || (width == 16 && N % 4) ? 32 : width;
}

/* Lanes that share a nonzero in a slice: 32 columns with the widest vectors that fit a row of B;
 * four lanes have 16 columns. `width` is one that N allows. */
static inline int slice_lane_count(int N, int width)
{
    return width == 16 ? 4 : N % 4 == 0 ? 8 : N % 2 == 0 ? 16 : 32;
}

#endif
