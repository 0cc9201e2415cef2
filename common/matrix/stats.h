/*
 * stats.h - row-length statistics: what decides which SpMM kernel suits a matrix.
 */
#ifndef MATRIX_STATS_H
#define MATRIX_STATS_H

#include "matrix/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ROW_QUANTILES = 7 };

typedef struct row_stats {
    int64_t rows, cols, nnz;
    int64_t empty_rows;
    int64_t max;    /* nonzeros in the longest row */
    double mean;    /* nnz / rows; 0 for a matrix without rows */
    double cov;     /* coefficient of variation: population standard deviation over mean */
    double gini;    /* 0 = all rows equally long, towards 1 = one row holds everything */
    double density; /* nnz / (rows * cols) */
    /* Row length at quantile row_quantile_levels[i] (nearest rank: the smallest length that at
     * least that share of the rows does not exceed). */
    int64_t quantile[ROW_QUANTILES];
} row_stats;

extern const double row_quantile_levels[ROW_QUANTILES]; /* .01 .10 .25 .50 .75 .90 .99 */

/* O(rows + longest row), with a histogram of row lengths as scratch (STATUS_MEMORY if there is no
 * room for it). A matrix without rows or without entries gives zeros, not NaN. */
enum status row_stats_compute(const csr_matrix *A, row_stats *stats, error_text *error);

#ifdef __cplusplus
}
#endif
#endif
