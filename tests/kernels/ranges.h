/*
 * ranges.h - what every contender of SpMM has to show of matrices beyond the limit of 32-bit offsets: ops/spmm_ranges.h gives
 * it ranges of rows, one after the other. The limit is made small here.
 */
#ifndef TESTS_KERNELS_RANGES_H
#define TESTS_KERNELS_RANGES_H

#include "harness/workbench.h"

/* Says what is wrong with a contender on the awkward shapes in several ranges; NULL: nothing. Where its sums of a row do not
 * depend on other rows, results must be those of a single range, to the bit. The text lives until the next call. */
const char *ranges_failure(const contender *c, const device_info *device);

#endif
