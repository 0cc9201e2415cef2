/*
 * panels.h - what only attention by panels of neighbouring rows has to show, the tunable ROWS of lab 36.
 */
#ifndef TESTS_KERNELS_PANELS_H
#define TESTS_KERNELS_PANELS_H

#include "harness/workbench.h"

/* Whether the contender has panels. */
bool has_panels(const contender *c);

/* Both return what is wrong, or NULL; the text lives until the next call. */

/* Panels of 2 and 4 rows on masks and on awkward shapes, at several widths and numbers of heads. */
const char *panels_failure(const contender *c, const device_info *device);

/* The rule: panels of 4 rows where neighbours share a band, none where they share nothing. */
const char *panels_rule_failure(const contender *c, const device_info *device);

#endif
