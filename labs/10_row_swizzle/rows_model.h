/*
 * rows_model.h - what kernels that gather rows of B take on an H200: the bound that bins have in common
 * with the kernels of labs 6 and 7, and the estimates of those two.
 */
#ifndef LAB10_ROWS_MODEL_H
#define LAB10_ROWS_MODEL_H

#include "matrix/stats.h"

/* Microseconds for a launch, and for what takes longer: the longest row, which is walked in `longest`, or
 * all rows, at `rate` flops a microsecond. Where both take about as long it is up to a quarter more. */
double gather_estimate(const row_stats *stats, int N, double longest, double rate);

/* Microseconds of lab 6's kernel and, where N is 64 or more, of lab 7's. */
double roma_estimate(const row_stats *stats, int N);
double subwarp_estimate(const row_stats *stats, int N);

/* Rows that lab 6 works on at a time: a warp each. */
constexpr int ROMA_RESIDENT_ROWS = 132 * 32;

#endif
