/*
 * pieces.h - which rows lab 8 gives to whole blocks, and in which order it takes the others.
 */
#ifndef LAB8_PIECES_H
#define LAB8_PIECES_H

#include "ops/spmm.h"

/* Nonzeros of a row longer than SPLIT, for one block: the whole row, or one of several pieces of
 * nearly equal length. */
typedef struct piece {
    int row, start, end;
    int first, count; /* the row's pieces are numbers first .. first + count - 1 of the list */
} piece;

typedef struct work_list {
    int num_pieces;
    piece *d_pieces; /* in the order in which the rows are taken */
    /* Where the pieces of a row that has several meet: the sum of each, one row of N floats, and how
     * many are there, for up to `slices` slices of columns. Both NULL if no row has several. */
    float *d_sums;
    unsigned *d_arrived;
    /* Rows in the order they are taken, empty and split ones too; NULL: as they come. */
    const int *d_order;
    int *d_bundled; /* d_order, if it was made here */
} work_list;

/* Lists rows longer than `split` in pieces of at most `most` nonzeros. The order is the plan's; if it
 * has none and `bundle` is set, rows of like length are brought together. On error nothing is left
 * allocated. */
cudaError_t work_list_create(const spmm_plan *plan, int split, int most, int slices, bool bundle,
                             work_list *work);
void work_list_free(work_list *work);

#endif
