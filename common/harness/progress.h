/*
 * progress.h - a progress bar on standard error, for people only.
 */
#ifndef HARNESS_PROGRESS_H
#define HARNESS_PROGRESS_H

#include <stddef.h>

/* Shows that step `done` of `total` begins, with what it does: at once, since a step may take long.
 * Prints nothing unless standard error is a terminal. */
void progress_show(size_t done, size_t total, const char *what);

/* Shows that `share` (0 to 1) of a part of the current step is done: `detail` names the part. May be
 * called often. */
void progress_within(const char *detail, double share);

/* Removes the bar, so that ordinary output can follow. */
void progress_clear(void);

#endif
