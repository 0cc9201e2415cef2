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
 * on this device. Returns that time in microseconds. Returns INFINITY, with a shape all the same, where the
 * model holds nothing of such a matrix. Then rows are not full, too few rows differ, or
 * row_fragments_unsuited says so. */
double row_fragments_estimate(const row_stats *stats, int N, enum precision precision,
                              row_fragments_shape *shape);

#ifdef __cplusplus
}
#endif
#endif
