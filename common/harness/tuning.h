/*
 * tuning.h - which value each tunable of a contender takes.
 */
#ifndef HARNESS_TUNING_H
#define HARNESS_TUNING_H

#include "harness/workbench.h"

/* Fills tuning[]: by the contender's own rule; with --tune by measuring every combination (each one
 * checked, wrong ones never chosen), remembered in the user's cache for this device, build,
 * contender, N and row statistics; and whatever --set says comes last. */
void tuning_choose(workbench *w, const contender *c, int *tuning);

/* Iterates over all combinations of a contender's tunables, except those that only change how
 * prepare works: sets tuning[] to the first one; to the next one, or returns false after the last.
 */
void tuning_first(const contender *c, int *tuning);
bool tuning_next(const contender *c, int *tuning);

/* "D=2 C=4", or "" for a contender without tunables. */
void tuning_text(const contender *c, const int *tuning, char *text, size_t bytes);

#endif
