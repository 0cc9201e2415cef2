/*
 * prescale.h - what prepare decides about 32-bit byte offsets for matrices too large for a test.
 */
#ifndef TESTS_KERNELS_PRESCALE_H
#define TESTS_KERNELS_PRESCALE_H

#include "harness/tuning.h"

/* The place of the tunable PRESCALE, or -1 for a contender that has none. */
int prescale_tunable(const contender *c);

/* Whether the contender leaves PRESCALE on for a B of cols x N floats. */
bool prescale_stays_on(const contender *c, int cols, int N);

#endif
