/*
 * models/row_fragments.h - which panels of rows for tensor cores, and how long a product with them should
 * take.
 */
#ifndef MODELS_ROW_FRAGMENTS_H
#define MODELS_ROW_FRAGMENTS_H

#include "formats/row_fragments.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the shape for which a product of rows of these statistics and N columns should take the least time
 * on this device. Returns that time in microseconds; INFINITY where the model holds nothing of such a matrix
 * (rows that are not full, too few rows that differ, or row_fragments_unsuited), with a shape all the same. */
double row_fragments_estimate(const row_stats *stats, int N, enum precision precision,
                              row_fragments_shape *shape);

#ifdef __cplusplus
}
#endif
#endif
