/*
 * pace.h - speed by the grader's own clock, and what speed is asked for.
 */
#ifndef GRADER_PACE_H
#define GRADER_PACE_H

#include "grader/attempt.h"
#include "grader/bench.h"

/* A speed over the reference's: no points up to `zero`, all from `full` on. */
typedef struct target {
    double zero, full;
} target;

/* The share of the points for a speed: linear between. A NAN gets none. */
double pace_share(double speed, target wanted);

/* What a test of kind `time` asks for on this GPU: the line of LAB/targets.tsv with its name, the
 * test's dataset and width, else what the test itself says. */
target pace_target(const char *lab_folder, const char *device, const test *t);

/* The bench of a test of kind `time`. */
enum status pace_open(const attempt *a, const test *t, bench *b, error_text *error);

/* Milliseconds of a run of `lab` in the runner at `program`: the median of several batches, every one
 * checked. NAN, with why, if something was wrong. */
double pace_measure(const attempt *a, bench *b, const char *program, int lab, char *why,
                    size_t bytes);

#endif
