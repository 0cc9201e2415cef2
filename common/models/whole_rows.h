/*
 * whole_rows.h - the time of kernels that gather rows of B for whole rows of A: labs 6 and 7. The
 * bins of lab 11 have the bound in common with them.
 *
 * Rates and steps are fitted on an H200, to pruned weights of like rows (LOG.md of labs 10 and 11), and follow this
 * device's (rates.h). How many SMs and warps there are is asked of it.
 */
#ifndef MODELS_WHOLE_ROWS_H
#define MODELS_WHOLE_ROWS_H

#include "matrix/stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Microseconds for a launch and the longer of two things: the longest row, which an H200 walks in
 * `longest` microseconds, and all rows, at this device's `rate` of flops a microsecond. Where both take equally long
 * it is a quarter more. */
double gather_estimate(const row_stats *stats, int N, double longest, double rate);

/* Whether rows differ so little in length that several may share a warp, or a panel, as they
 * come. */
bool rows_are_alike(const row_stats *stats);

/* Says whether rows are as full as those of pruned weights and small dense graphs. The models of
 * labs 6, 7, 10, 12 and 21 were fitted to such rows. */
bool rows_are_dense(const row_stats *stats);

/* Microseconds of lab 6's kernel (roma) and of lab 7's (subwarp); INFINITY for rows that are not
 * dense. At N = 256 lab 6 is within 15 % of all measured rows, and lab 7 of those of up to 512
 * rows; at other N three quarters of lab 6's are. */
double roma_estimate(const row_stats *stats, int N);
double subwarp_estimate(const row_stats *stats, int N);

/* Microseconds of lab 6's kernel on rows by length (row_swizzle): those of lab 6, where it gains
 * from an order. That is where rows differ in length, do not all run at once, and lab 7 is not
 * faster. */
double swizzled_estimate(const row_stats *stats, int N);

/* Microseconds of lab 8's kernel (mixed), in 16 bits. */
double mixed_estimate(const row_stats *stats, int N);

/* Nonzeros of a row from which lab 8's kernel cuts it. */
int mixed_split(const row_stats *stats);

/* Rows that lab 6 works on at a time on this device: a warp each. */
int roma_resident_rows(void);

#ifdef __cplusplus
}
#endif
#endif
