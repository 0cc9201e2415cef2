/*
 * tuning_cache.h - what --tune measured, remembered in the user's cache.
 */
#ifndef HARNESS_TUNING_CACHE_H
#define HARNESS_TUNING_CACHE_H

#include "harness/workbench.h"

/* Fills tuning[] with what was last remembered for this device, build, contender, matrix statistics,
 * N and options. False, and tuning[] as it was, if nothing was, or nothing that the contender's
 * tunables can be. */
bool tuning_recall(const workbench *w, const contender *c, int *tuning);

/* A cache that cannot be written costs the next run a measurement, no more. */
void tuning_remember(const workbench *w, const contender *c, const int *tuning);

#endif
