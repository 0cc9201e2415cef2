/*
 * results.h - from what was measured to the rows that are reported.
 */
#ifndef HARNESS_RESULTS_H
#define HARNESS_RESULTS_H

#include "harness/limits.h"
#include "harness/row.h"
#include "harness/workbench.h"
#include "matrix/dataset.h"

/* The row of contender `c` on `p`. `tuning` may be NULL where none was chosen, because it was not
 * run; `limits` may be NULL: then there is no roofline. */
row result_row(const dataset *d, const problem *p, const contender *c, const int *tuning,
               const outcome *out, const options *o, const device_info *device,
               const machine_limits *limits);

/* Fills the speedup columns of the rows of one matrix at one width, in any order and of any
 * precisions. Over the vendor's best and default algorithm: of the same precision. Over the lab
 * before, the fastest of its rows: the nearest lab with a smaller number that has rows of the same
 * precision; where there is none, as for the first lab in 16 bits, the nearest lab with a smaller
 * number, whose precision is then in before_precision. */
void results_compare(row *rows, size_t count);

/* Of two things that went wrong the graver one. */
enum status graver_status(enum status a, enum status b);

/* What the outcomes mean together, PASS being STATUS_OK. What a rival cannot do on this device
 * spoils nothing, nor does a library that lacks the room; but there is no PASS without the last lab,
 * whose program this is. */
enum status results_verdict(const row *rows, const outcome *outcomes, size_t count);

#endif
