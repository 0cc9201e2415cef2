/*
 * standin_table.h - the tables in datasets/standins: what a stand-in knows of the real graph.
 *
 * A table is text: comments (#), keyword lines, and bins of row lengths in ascending order.
 *
 *     lengths histogram                 where the bins come from, for people
 *     order   shuffled                  rows in random order; or `longest-first S`: the longest
 *                                       share S of the rows first, shuffled within both parts
 *     columns by-length                 how popular columns are: even, by-length, or
 *                                       `ranked POWER FLAT` (generate_columns.h says what each is)
 *     near    SHARE WINDOW              share of the entries within WINDOW of the diagonal
 *     repeats SHARE                     share of the entries that repeat one of their row
 *     seed    N
 *     SHORTEST LONGEST ROWS NNZ         a bin: ROWS rows with NNZ entries together, the shortest
 *                                       and the longest of them exactly as long as said
 */
#ifndef MATRIX_STANDIN_TABLE_H
#define MATRIX_STANDIN_TABLE_H

#include "matrix/generate_columns.h"

enum { MAX_STANDIN_BINS = 256 };

typedef struct length_bin {
    int64_t shortest, longest, rows, nnz;
} length_bin;

typedef struct standin_table {
    char lengths[160], order[64], columns[64]; /* as written in the table */
    double longest_first;                      /* 0: all rows shuffled */
    column_model model;
    uint64_t seed;
    int num_bins;
    length_bin bin[MAX_STANDIN_BINS];
    int64_t rows, nnz; /* of all bins */
} standin_table;

/* Reads and checks a table. STATUS_DATASET with file, line and reason if it cannot be meant. */
enum status standin_table_read(const char *path, standin_table *table, error_text *error);

#endif
