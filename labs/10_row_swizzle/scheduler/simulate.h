/*
 * simulate.h - how well blocks of unlike work fill a GPU, by the order they start in.
 *
 * The model: blocks start in the order of their numbers. The first wave fills every place of every
 * multiprocessor (SM), as the published formula deals it out; after that a block starts wherever
 * a place becomes free first (guided self-scheduling). The blocks of an SM share its throughput
 * equally, but none gets more than 1 / saturation of it: one block alone cannot keep an SM busy.
 */
#ifndef LAB10_SIMULATE_H
#define LAB10_SIMULATE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct scheduler_model {
    int sms;
    int blocks_per_sm;  /* resident at a time */
    int saturation;     /* blocks that keep an SM busy, at most blocks_per_sm */
    int rows_per_block; /* rows that run side by side: a block takes as long as its longest */
    double row_cost;    /* what a row costs beside its nonzeros, in nonzeros */
} scheduler_model;

/* The SM of block `block` of the first wave: pairs of SMs (a TPC each on Volta) are dealt one block
 * after the other, and then the second SM of each: 2 (b mod pairs) + (b / pairs) mod 2. An odd SM out
 * comes last. T. Gale et al., SC 2020, for the 80 SMs of a V100. */
int first_wave_sm(int block, int sms);

/* The share of balanced throughput: the time in which the SMs would do the work of all rows if it
 * were spread evenly, over the simulated time. Row order[i] is at position i, of `rows` positions (a
 * row may be at several: a strip of its columns each); order NULL: rows as they come. 1 where there
 * is no work, negative if memory runs out. */
double balanced_share(const scheduler_model *model, const int64_t *row_length, const int *order,
                      int64_t rows);

#ifdef __cplusplus
}
#endif
#endif
