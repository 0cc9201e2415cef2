/*
 * long_rows.h - segments of the rows that lab 8 gives to whole blocks, and the order in which it takes
 * the other rows.
 */
#ifndef LAB8_LONG_ROWS_H
#define LAB8_LONG_ROWS_H

#include "ops/spmm.h"

/* Nonzeros start .. end-1 of a row longer than SPLIT, for one block: the whole row, or one of several
 * segments of nearly equal length. */
typedef struct segment {
    int row, start, end;
    int first, count; /* the row's segments are numbers first .. first + count - 1 of the list */
} segment;

typedef struct work_list {
    int num_segments;
    segment *d_segments; /* in the order in which the rows are taken */
    /* Sums and counters of rows that have several segments: the sum of each, one row of N floats, and
     * how many are there, for each slice of columns. Both NULL if no row has several. */
    float *d_sums;
    unsigned *d_arrived;
    /* Rows in the order they are taken, empty and split ones too; NULL: as they come. */
    const int *d_order;
    int *d_bundled; /* d_order, if it was made here */
} work_list;

/* Lists rows longer than `split` in segments of at most `most` nonzeros. The order is the plan's; if it
 * has none and `bundle` is set, rows of like length are brought together. On error nothing is left
 * allocated. */
cudaError_t work_list_create(const spmm_plan *plan, int split, int most, int slices, bool bundle,
                             work_list *work);
void work_list_free(work_list *work);

#endif
