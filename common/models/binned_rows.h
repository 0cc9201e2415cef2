/*
 * binned_rows.h - settings and time of products with binned rows (formats/binned_rows.h; labs 11,
 * 13, 14).
 *
 * Thresholds and rates are fitted on an H200 (LOG.md of labs 11 and 13), and rates follow this device's (rates.h).
 * How many SMs and warps there are is asked of it.
 */
#ifndef MODELS_BINNED_ROWS_H
#define MODELS_BINNED_ROWS_H

#include "matrix/stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills WIDTH, SERIAL, PACK, WINDOW and ORDER, the first five of tuning[], from row lengths, rows
 * and N. */
void binned_rows_choose(const row_stats *stats, int N, int *tuning);

/* Microseconds that whole rows in bins should take with SERIAL = 64, in one launch: lab 11. */
double length_bins_estimate(const row_stats *stats, int N);

/* Whether rows are so long that segments of them are worth a launch for each column block. */
bool rows_are_long(const row_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
