/*
 * edge_list.h - lists of edges as text, one "source target" a line: SNAP's and OGB's raw files.
 */
#ifndef MATRIX_EDGE_LIST_H
#define MATRIX_EDGE_LIST_H

#include "matrix/csr.h"
#include "matrix/text.h"

enum { EDGE_LIST_ANY = -1 };

/* Reads edges up to the end of the text: row = source, column = target, ids from 0, separated by
 * blanks, tabs or one comma. Blank lines and comments from '#' or '%' to the line's end count for
 * nothing. Neither does a first line that begins with a letter or a quote: it names columns. Each
 * line is one directed edge, as given; duplicates and self loops are kept.
 * A third number on a line is the edge's value; a fourth, a time as a rule, is passed over. All lines
 * have as many as the first: in a list of neighbours, which is refused, they differ.
 * The matrix is square with `vertices` rows, or with the largest id + 1 for EDGE_LIST_ANY; then an
 * id far beyond the number of edges is refused. `edges` is how many there must be, or EDGE_LIST_ANY.
 * On success the caller frees *A, a pattern if lines have two numbers. */
enum status edge_list_read(text_input *in, int64_t vertices, int64_t edges, csr_matrix *A,
                           error_text *error);

#endif
