/*
 * summary.h - what many matrices are like together: medians, and histograms drawn as text.
 */
#ifndef MATRIX_SUMMARY_H
#define MATRIX_SUMMARY_H

#include "matrix/stats.h"

#include <stdio.h>

enum { MAX_BINS = 32 };

/* Bins: value x is in bin i if edge[i] <= x < edge[i + 1]; the last bin has no upper end. */
typedef struct histogram_scale {
    const char *title;
    double edge[MAX_BINS];
    int num_bins;
} histogram_scale;

extern const histogram_scale sparsity_scale, mean_row_scale, cov_scale;

/* The share of zeros, 0 .. 1; NAN for a matrix without cells. */
double sparsity_of(const row_stats *s);

/* Returns the median, for an even number of values the mean of the middle two; NAN for none. Sorts them. */
double median_of(double *values, size_t count);

/* Counts into bins[scale->num_bins]. Values below the first edge are in no bin, nor is NAN. */
void histogram_count(const histogram_scale *scale, const double *values, size_t count,
                     size_t *bins);

/* Draws one line a bin, from the first to the last that is not empty; nothing where all are. */
void histogram_print(FILE *out, const histogram_scale *scale, const double *values, size_t count);

#endif
