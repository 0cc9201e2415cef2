/*
 * models/sddmm_tiles.h - tiles of Y in shared memory: how wide, and how long a sampled product with them takes.
 */
#ifndef MODELS_SDDMM_TILES_H
#define MODELS_SDDMM_TILES_H

#include "matrix/stats.h"
#include "ops/precision.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A slice of features is 128 bytes of a row of Y; 64 bytes hold shorter rows. */
enum { SLICE_BYTES = 128, SHORT_SLICE_BYTES = 64 };

/* Bytes of a row of a tile for K features. */
int sddmm_tiles_row_bytes(int K, enum precision precision);

/* Columns for which shared memory has room; 0 on a device that does not answer. */
int sddmm_tiles_cols(int K, enum precision precision);

/* Microseconds that a product of K features on a pattern of these statistics should take on this device. INFINITY
 * where the model holds nothing of such a pattern (rows that are not full, or column_tiles_unsuited). */
double sddmm_tiles_estimate(const row_stats *stats, int K, enum precision precision);

#ifdef __cplusplus
}
#endif
#endif
