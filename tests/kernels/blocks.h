/*
 * blocks.h - what labs of block-sparse operations have to show: layouts of every kind, with all choices of the problem.
 */
#ifndef TESTS_KERNELS_BLOCKS_H
#define TESTS_KERNELS_BLOCKS_H

#include "harness/workbench.h"

/* Whether it is of a block-sparse operation: one whose first choice of the problem is the side of a block. */
bool multiplies_blocks(const contender *c);

/* Says what is wrong with a contender. Layouts go from no block to lists of hundreds, and widths from 1 to 256. It runs in
 * every pass, gated and not; to sweep, with each of its settings. NULL: nothing; the text lives until the next call. */
const char *blocks_failure(const contender *c, const device_info *device, bool sweep);

#endif
