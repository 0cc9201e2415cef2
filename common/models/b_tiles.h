/*
 * models/b_tiles.h - which tiles of B, and how long a product with them should take.
 */
#ifndef MODELS_B_TILES_H
#define MODELS_B_TILES_H

#include "formats/b_tiles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the shape for which a product of rows of these statistics and N columns should take the least time
 * on this device. Returns that time in microseconds; INFINITY where the model holds nothing of such a
 * matrix (rows that are not full, or b_tiles_unsuited), with a shape all the same. */
double b_tiles_estimate(const row_stats *stats, int N, b_tiles_shape *shape);

#ifdef __cplusplus
}
#endif
#endif
