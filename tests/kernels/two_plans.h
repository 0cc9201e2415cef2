#ifndef TEST_TWO_PLANS_H
#define TEST_TWO_PLANS_H

#include "harness/workbench.h"

/* Says why a plan of c does not run any more when another plan of c has been prepared for a smaller matrix; NULL: it does.
 * What the driver keeps for a kernel, as the shared memory that it may have, belongs to all of its plans. The text lives
 * until the next call. */
const char *two_plans_failure(const contender *c, const device_info *device);

#endif
