/*
 * sweep.h - attention alone, on masks from few nonzeros to many: at which density dense attention takes over.
 */
#ifndef SPARSE_TRANSFORMER_SWEEP_H
#define SPARSE_TRANSFORMER_SWEEP_H

#include "arguments.h"
#include "harness/device.h"

/* Runs, checks and, on a GPU, times sparse attention on masks of `rows` tokens in fp32 and fp16, beside dense attention on
 * all pairs; prints a table a precision and the crossings, and writes rows of the suite's schema to o->csv. Masks are
 * bands alone, and two bands with a share of what lies beyond. STATUS_WRONG where a result is wrong; it has no time. */
enum status sweep_run(const arguments *o, int rows, const device_info *device, error_text *error);

#endif
