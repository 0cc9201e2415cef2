/*
 * sample.h - tracing a share of a launch's blocks (--sample) and concluding on all of them.
 */
#ifndef PROFILER_SAMPLE_H
#define PROFILER_SAMPLE_H

#include "harness/instruments.h"

/* Which blocks of a launch are traced: of every `period` runs of `run` neighbours one. Neighbours
 * share rows of B and lines of A in the caches, so single blocks would not do; and runs from all
 * over the grid, because one place in a graph is not like another. */
struct block_sample {
    uint64_t blocks, run, period;
    uint64_t traced; /* how many of them are */
    /* The first of these only fill the caches of the machine model, which start empty: what misses
     * then would have been there in a launch traced whole. */
    uint64_t warming;
};

/* Takes about `share` of `blocks` (0 < share <= 1); always one at least. */
block_sample sample_blocks(uint64_t blocks, double share);
bool sample_holds(const block_sample *s, uint64_t block);

/* Makes sums over the traced blocks estimates for all. The longest and the busiest stay: the
 * machine model has extended them itself. */
void sample_scale(counters *n, double factor);
void sample_scale_accesses(access_counters *n, double factor);

#endif
