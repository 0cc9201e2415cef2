/*
 * prescale.h - what prepare decides about 32-bit byte offsets for matrices too large for a test.
 */
#ifndef TESTS_KERNELS_PRESCALE_H
#define TESTS_KERNELS_PRESCALE_H

/* One TAP test per lab that has the tunable PRESCALE. */
void test_prescale(void);

#endif
