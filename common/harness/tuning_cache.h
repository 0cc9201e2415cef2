/*
 * tuning_cache.h - what --tune measured, remembered in the user's cache.
 */
#ifndef HARNESS_TUNING_CACHE_H
#define HARNESS_TUNING_CACHE_H

#include "harness/workbench.h"

/* Fills tuning[] with what was last remembered for this device and driver, build, contender and precision,
 * matrix (its structure, to the checksum), width and options. False, and tuning[] as it was, if nothing was, or nothing that the
 * contender's tunables can be. */
bool tuning_recall(const workbench *w, const contender *c, int *tuning);

/* STATUS_RUNTIME where the cache cannot be written. That costs the next run a measurement, no more. */
enum status tuning_remember(const workbench *w, const contender *c, const int *tuning,
                            error_text *error);

#endif
