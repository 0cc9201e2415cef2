/*
 * csv.h - CSV by RFC 4180, but with \n as the line end and no line breaks inside of cells.
 */
#ifndef RESULTS_CSV_H
#define RESULTS_CSV_H

#include <stdio.h>

/* The most columns of a file of rows that are read. */
enum { MAX_CELLS = 512 };

/* One line. The cells are in the text that was split, in place. */
typedef struct csv_line {
    char *cells[MAX_CELLS];
    int count;
} csv_line;

/* Splits `line`, which it changes. */
void csv_split(char *line, csv_line *to);

/* The place of the column that the first line calls `name`; -1: there is none. */
int csv_column(const csv_line *header, const char *name);

/* The cell of `r` in that column; NULL: there is none. */
const char *csv_cell(const csv_line *header, const csv_line *r, const char *name);

/* Writes one cell: quoted where it holds a comma, a quote or a line break, quotes doubled. */
void csv_text(FILE *out, const char *text);

/* Write a comma and one cell: a text, or a number of 7 digits, of which NAN leaves the cell empty. */
void csv_add_text(FILE *out, const char *text);
void csv_add_number(FILE *out, double value);

#endif
