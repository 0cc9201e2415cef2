/*
 * named_rows.h - which rows of B each of P ranks needs, and where they stand in what it gathers.
 *
 *   named    a rank names a row of B that stands in the column of some nonzero of its rows of A; it needs no other
 *   list     rows that a rank takes from one source in one chunk, ascending: chunks are those of arrival_order.h
 *   place    of a row, for a rank: chunk k has the places k * width .. (k + 1) * width - 1, and its lists follow each other
 *            there in the order of their sources. width is the most rows that a chunk of this rank has, at least 1
 *
 * Every rank makes the lists of all, from the pattern of A: none has to be sent.
 */
#ifndef FORMATS_NAMED_ROWS_H
#define FORMATS_NAMED_ROWS_H

#include "formats/arrival_order.h"
#include "matrix/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct named_rows {
    arrival_order order;
    int32_t *rows;  /* all lists, one behind the other: by rank, then by chunk, then by source */
    int64_t *first; /* where each list begins in `rows`, and the end of the last */
    int64_t width[EXCHANGE_MOST_RANKS]; /* places of a chunk, of each rank */
} named_rows;

/* Makes the lists. first_row: where the rows of A of each rank begin. all: as if each rank named all rows. False: no memory.
 * O(nnz + ranks * columns). named_rows_free frees them. */
bool named_rows_make(named_rows *n, const csr_matrix *A, const int64_t *first_row,
                     const arrival_order *order, bool all);
void named_rows_free(named_rows *n);

/* The list of `rank`, chunk and source; sets how many rows it has. */
const int32_t *named_rows_list(const named_rows *n, int rank, int chunk, int source,
                               int64_t *count);

/* The first place of a list. */
int64_t named_rows_place(const named_rows *n, int rank, int chunk, int source);

/* Fills the place of each row of B that the rank names; those of others are left alone. */
void named_rows_places(const named_rows *n, int rank, int32_t *place);

#ifdef __cplusplus
}
#endif
#endif
