/*
 * results.h - from what was measured to the rows that are reported.
 */
#ifndef RESULTS_RESULTS_H
#define RESULTS_RESULTS_H

#include "harness/workbench.h"
#include "matrix/dataset.h"
#include "results/limits.h"
#include "results/row.h"

/* The row of contender `c` on `p`. `tuning` may be NULL where none was chosen, because it was not
 * run; `limits` may be NULL: then there is neither a bound nor a
 * gather share. */
row result_row(const dataset *d, const problem *p, const contender *c, const int *tuning,
               const outcome *out, const options *o, const device_info *device,
               const machine_limits *limits);

/* Fills the speedup columns of the rows of one matrix at one width, in any order and of any
 * precisions. Over the vendor's best and default algorithm: of the same precision. Over the step
 * before, the fastest of its rows: the lab's parent, or the nearest ancestor of that, which has rows of
 * the same precision. If none has, as for the first lab in 16 bits, rows of any precision count, and
 * before_precision says of which. */
void results_compare(row *rows, size_t count);

/* Returns the graver one of two things that went wrong. */
enum status graver_status(enum status a, enum status b);

/* Sums up the outcomes, PASS being STATUS_OK. What a rival cannot do on this device
 * spoils nothing, nor does a library that lacks the room; but there is no PASS without the last lab,
 * whose program this is. */
enum status results_verdict(const row *rows, const outcome *outcomes, size_t count);

#endif
