/*
 * generate_powerlaw.h - a graph of any size by a power law, each of whose rows can be made alone.
 *
 * The rows are ranked, the longest first. Those from rank x on hold
 *
 *     R(x) = nnz ((a - sqrt(x + f)) / (a - sqrt(f)))^2,    a = sqrt(rows + f)
 *
 * entries together, and the row of rank r has round(R(r)) - round(R(r + 1)) of them. It is Lomax's law: the share of rows
 * of more than k entries is about (1 + k / mean)^-2. So the number of rows of k entries falls as k^-3. f flattens the head
 * until the first row is as long as asked. Square roots, products and differences are rounded alike on every machine, and
 * keep an order: no length is negative, and all add up to nnz exactly.
 *
 * Which row has which rank is a permutation that is computed, not stored; so is its inverse. A column is drawn evenly, or
 * as a rank by the same law: u uniform in [0, 1) stands for the rank x with R(x) = u nnz.
 */
#ifndef MATRIX_GENERATE_POWERLAW_H
#define MATRIX_GENERATE_POWERLAW_H

#include "matrix/csr.h"

enum { POWERLAW_ROUNDS = 4 };

/* Popularity of columns. */
enum powerlaw_columns {
    POWERLAW_EVEN, /* all alike */
    POWERLAW_BY_LENGTH /* in proportion to the length of the row of the same number, as in a symmetric matrix */
};

typedef struct powerlaw {
    int64_t rows, nnz;
    enum powerlaw_columns columns;
    uint64_t seed;
    double a, flat, root_flat; /* a, f and sqrt(f) above */
    /* The permutation: rounds of x = x * factor + term, then x ^= x >> shift, modulo 2^bits >= rows. */
    uint64_t factor[POWERLAW_ROUNDS], inverse[POWERLAW_ROUNDS], term[POWERLAW_ROUNDS], mask;
    int shift;
} powerlaw;

/* The lengths that the first row can have for f from 0 to infinity; between them f is found. */
void powerlaw_longest(int64_t rows, int64_t nnz, double *low, double *high);

/* A law of so many rows, 1 to 2^31 - 1, and entries. `longest` outside of the two above counts as the nearer one. */
powerlaw powerlaw_of(int64_t rows, int64_t nnz, double longest, enum powerlaw_columns columns,
                     uint64_t seed);

int64_t powerlaw_length(const powerlaw *law, int64_t row);

/* Makes rows first .. end - 1 alone, as a matrix of end - first rows and law->rows columns, without values: the same rows
 * that the whole has. Columns ascend, none is there twice, and none is the row's own number. No row is longer than
 * rows - 1. All cores work; beside the matrix each takes 4 bytes an entry of the longest row. The caller frees A. */
enum status powerlaw_make(const powerlaw *law, int64_t first, int64_t end, csr_matrix *A,
                          error_text *error);

#endif
