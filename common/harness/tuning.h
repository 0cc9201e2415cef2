/*
 * tuning.h - which value each tunable of a contender takes.
 */
#ifndef HARNESS_TUNING_H
#define HARNESS_TUNING_H

#include "harness/workbench.h"

/* Gives the problem the knobs that --set names. */
void tuning_knobs(problem *p, const options *o);

/* Fills tuning[] by the contender's own rule, or as --set says. With --tune it measures every
 * combination of what --set leaves open, or the contender's short list with what --set says. Each
 * one is checked, and wrong ones are never chosen. The choice is remembered in the user's cache
 * (tuning_cache.h). Where that cannot be written, one line on standard error says so. */
void tuning_choose(workbench *w, const contender *c, int *tuning);

/* Iterates over all combinations of a contender's tunables: sets tuning[] to the first one; to the
 * next one, or returns false after the last. What --set fixes, and what only changes how prepare
 * works, does not vary. */
void tuning_first(const contender *c, const options *o, int *tuning);
bool tuning_next(const contender *c, const options *o, int *tuning);

/* "D=2 C=4", or "" for a contender without tunables. */
void tuning_text(const contender *c, const int *tuning, char *text, size_t bytes);

/* Adds the settings whose names are not in `text` yet. */
void tuning_add_text(const contender *c, const int *tuning, char *text, size_t bytes);

#endif
