/*
 * row_cut.h - the rows of a matrix cut into ranges of like work.
 */
#ifndef MATRIX_ROW_CUT_H
#define MATRIX_ROW_CUT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nonzeros that a row costs besides its own: its offset, its row of C and the start of its walk. */
enum { ROW_RANGES_ROW_COST = 4 };

/* Fills first[0 .. ranges]: range r has the rows first[r] .. first[r + 1] - 1. Each begins at the first row at which the
 * work before, nonzeros and ROW_RANGES_ROW_COST for each row, reaches its share. So each range is off its share by the
 * work of one row at most, and may be empty. row_ptr: rows + 1 offsets on the host; ranges >= 1. O(ranges log rows). */
void row_ranges_cut(const int64_t *row_ptr, int64_t rows, int ranges, int64_t *first);

#ifdef __cplusplus
}
#endif
#endif
