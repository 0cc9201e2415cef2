/*
 * old_rows.h - files of rows as they were written before: rows of schema 1 become rows of schema 2.
 *
 * Schema 1 had roofline_share in place of bound_ms, bound_share and gather_share, and its operation behind
 * lab and contender.
 */
#ifndef RESULTS_OLD_ROWS_H
#define RESULTS_OLD_ROWS_H

#include "results/csv.h"
#include "results/limits.h"

#include <stdio.h>

/* The bound and the gather share of a measured row of schema 1, from its columns alone: a row holds neither
 * the plan nor the matrix. So A is as small as a plan of that contender may have it. B has as many rows as
 * A's longest row names (a dense product: all). NAN where there is no time or nothing is known. */
void old_row_shares(const csv_line *header, const csv_line *r, const machine_limits *limits,
                    double *bound, double *bound_share, double *gather_share);

/* Copies rows of schema 1 from `in` to `out` as rows of schema 2. Other files are copied as they are.
 * `name` is for messages. */
enum status old_rows_convert(FILE *in, const char *name, const machine_limits *limits, FILE *out,
                             error_text *error);

#endif
