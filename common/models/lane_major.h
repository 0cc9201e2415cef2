/*
 * lane_major.h - the rule that cuts a matrix for the lane-major format.
 */
#ifndef MODELS_LANE_MAJOR_H
#define MODELS_LANE_MAJOR_H

#include "formats/lane_major.h"
#include "matrix/stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Chooses step, ways and even for a product with N columns on this device, by the quads of a block and the
 * density. Its thresholds come from sweeps on an H200 with 40 to 70 % zeros (lab 20's LOG.md). Blocks: one a
 * multiprocessor, as far as the format allows. */
lane_major_shape lane_major_choose(const row_stats *stats, int N);

#ifdef __cplusplus
}
#endif
#endif
