/*
 * generate_lengths.h - how many nonzeros each row of a generated matrix has.
 *
 * Lengths are made in place. A generator writes the length of row i to row_ptr[i + 1], and at last
 * turns lengths into offsets. So it needs no second array as long as the matrix.
 */
#ifndef MATRIX_GENERATE_LENGTHS_H
#define MATRIX_GENERATE_LENGTHS_H

#include "matrix/csr.h"

/* A positive weight for row `row`; asked several times, so always the same answer. */
typedef double (*row_weight)(const void *model, int64_t row);

/* Shares `total` entries among `rows` rows in proportion to their weights, no row getting more than
 * `cap`: rows that would are full, and the others share what is left. The lengths add up to `total`
 * exactly (0 <= total <= rows * cap). */
void lengths_share(int64_t *length, int64_t rows, int64_t total, int64_t cap, row_weight weight,
                   const void *model);

/* The weight that makes all rows equally long, to within one. */
double equal_weight(const void *unused, int64_t row);

/* Weights with a log-normal law: exp(sigma z), z nearly normal. `log_normal_of` gives the model whose weights have that
 * coefficient of variation; it is a row_weight's model. */
typedef struct log_normal {
    double sigma;
    uint64_t seed;
} log_normal;
log_normal log_normal_of(double cov, uint64_t seed);
double log_normal_weight(const void *model, int64_t row);

/* Every order of the lengths equally likely, decided by `seed`. */
void lengths_shuffle(int64_t *length, int64_t rows, uint64_t seed);

/* Turns lengths in row_ptr[1 .. rows] into offsets. */
void lengths_to_offsets(csr_matrix *A);

#endif
