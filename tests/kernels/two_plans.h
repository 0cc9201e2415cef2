#ifndef TEST_TWO_PLANS_H
#define TEST_TWO_PLANS_H

#include "harness/workbench.h"

/* Prints a test: a plan of c runs as before when another plan of c has been prepared for a smaller matrix. What the driver
 * keeps for a kernel, as the shared memory that it may have, belongs to all of its plans. */
void test_two_plans(const contender *c, const device_info *device);

#endif
