/*
 * speed.h - speed by the grader's own clock, and what speed is asked for.
 */
#ifndef GRADER_SPEED_H
#define GRADER_SPEED_H

#include "grader/attempt.h"
#include "grader/bench.h"

/* A speed over the reference's: no points up to `zero`, all from `full` on. */
typedef struct target {
    double zero, full;
} target;

enum { SPEED_TURNS = 4, SPEED_BATCHES = 4 };

/* A program that is timed. */
typedef struct racer {
    const char *program; /* a runner */
    int lab;
    double ms[SPEED_TURNS][SPEED_BATCHES];      /* a run, in each batch of each turn */
    double look_ms[SPEED_TURNS][SPEED_BATCHES]; /* what fingerprints alone take of that */
    char why[400];                              /* what was wrong with it; "" */
    bool out_of_time;
} racer;

/* The share of the points for a speed: linear between. A NAN gets none. */
double speed_share(double speed, target wanted);

/* Returns the target of a test of kind `time` on this GPU: the line of LAB/targets.tsv with its name, the
 * test's dataset and width, else what the test itself says. */
target speed_target(const char *lab_folder, const char *device, const test *t);

/* The bench of a test of kind `time`. */
enum status speed_open(const attempt *a, const test *t, bench *b, error_text *error);

/* Times both, in turns: one other, other one, one other ... A turn is a process of its own, and only one
 * lives at a time: none can disturb the other. Every batch is checked. What fingerprints take in `one`, whose
 * program is trusted, is taken off the times of both. False if something was wrong with one of them. */
bool speed_race(const attempt *a, bench *b, racer *one, racer *other);

/* The median over all batches, and by what fraction the slowest turn's median exceeds the quickest's. */
double speed_ms(const racer *r);
double speed_spread(const racer *r);

/* Result of a race with the reference. */
typedef struct race_verdict {
    double speed;  /* over the reference's */
    double spread; /* of the reference's own turns */
    double credit; /* the fraction that the speed is raised by for it */
    double share;  /* of the points */
} race_verdict;
race_verdict speed_judge(const racer *reference, const racer *submission, target wanted);

#endif
