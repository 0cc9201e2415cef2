/*
 * in_place.h - which SpMM serves where A's values are new in each run: those labs that keep no copy of them.
 */
#ifndef MODELS_IN_PLACE_H
#define MODELS_IN_PLACE_H

#include "ops/spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names of the labs that read A's values where they are, in fp32. In 16 bits none does. */
enum { NUM_IN_PLACE = 4 };
extern const char *const IN_PLACE[NUM_IN_PLACE];

/* The place in IN_PLACE of the one with the least estimate; 0, lab 5, where no model holds. */
int in_place_fastest(const row_stats *stats, int N);

#ifdef __cplusplus
}
#endif
#endif
