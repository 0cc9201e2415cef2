/*
 * hidden.h - whether a right result was made in sight of the instruments.
 *
 * A result tells what must have been done for it. Every byte of it was written, those with nonzeros
 * behind them by more than a fill. The inputs that it depends on were read. Where fewer bytes were seen,
 * some code has kept its accesses from the instruments: what they counted and checked is not all of it.
 */
#ifndef HARNESS_HIDDEN_H
#define HARNESS_HIDDEN_H

#include "ops/operation.h"

/* Bytes of each array that were seen to be accessed, each byte counted once. */
typedef struct seen_accesses {
    int64_t read[MAX_OPERANDS];   /* by prepare and run */
    int64_t stored[MAX_OUTPUTS];  /* by kernels and copies of run */
    int64_t written[MAX_OUTPUTS]; /* the same, and by fills with one value */
    bool handed; /* the host has given the device data of its own, in prepare or run */
} seen_accesses;

/* Whether a right result of `p` takes more than was seen; then `text` says of which array. */
bool accesses_hidden(const problem *p, const seen_accesses *seen, char *text, size_t bytes);

#endif
