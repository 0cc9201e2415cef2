/*
 * generate_columns.h - which columns the nonzeros of a generated matrix stand in.
 *
 * Two things decide an SpMM's memory traffic. Locality is how far the columns of a row lie apart.
 * Popularity is how often the same columns come back. A column model states both.
 */
#ifndef MATRIX_GENERATE_COLUMNS_H
#define MATRIX_GENERATE_COLUMNS_H

#include "matrix/csr.h"

enum column_popularity {
    COLUMNS_EVEN,      /* every column alike */
    COLUMNS_BY_LENGTH, /* as the length of the row of the same number (square matrices): what a
                          symmetric matrix has */
    COLUMNS_RANKED     /* the r-th most popular column (r = 0, 1, ...) in proportion to
                          (r + flat)^(1/power - 1), Zipf's law with Mandelbrot's flat head; columns
                          are ranked in an order without pattern */
};

typedef struct column_model {
    enum column_popularity popularity;
    int power, flat;     /* for COLUMNS_RANKED: 1 or more, 0 or more */
    double near;         /* this share of the entries lies within ... */
    int64_t window;      /* ... so many columns of the diagonal (row i's is i * cols / rows); at the
                            edges the 2 * window + 1 columns are shifted inwards */
    double repeats;      /* this share of the entries repeats another column of its row; all other
                            columns of a row differ */
    bool empty_diagonal; /* no entry (i, i) */
} column_model;

/* Fills A->col_idx, columns ascending inside a row. A's sizes and row_ptr are set, and no row is
 * longer than its columns (one less with an empty diagonal); COLUMNS_BY_LENGTH needs rows == cols.
 * Rows are drawn in parallel, each from its own stream of `seed`: the number of threads changes
 * nothing. A near column that finds the window full falls to a free column outside it. Scratch: 4
 * bytes a row, and a bit a column in each thread. */
enum status columns_draw(csr_matrix *A, const column_model *model, uint64_t seed,
                         error_text *error);

#endif
