/*
 * tensor_core.h - what only labs on tensor cores have to show, which multiply A's zeros along.
 */
#ifndef TESTS_KERNELS_TENSOR_CORE_H
#define TESTS_KERNELS_TENSOR_CORE_H

#include "harness/workbench.h"

/* Both return what is wrong, or NULL; the text lives until the next call. */

/* A contender on weights from none to all pruned, of sides that no tile divides, at widths from 1 to
 * 65. */
const char *weights_failure(const contender *c, const device_info *device);

/* A contender on B with numbers so large that results overflow fp16, and with NaN and infinities in a
 * row that A looks at: they come out where they must, and no other column of C changes. */
const char *extremes_failure(const contender *c, const device_info *device);

#endif
