/*
 * models/sddmm_tiles.h - which tiles of Y in shared memory, and how long a sampled product with them should take.
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

typedef struct sddmm_tiles_shape {
    int threads; /* of a block: 512 or 768; an SM holds one */
    int buffers; /* 2: the next slice is copied while one is worked on; 1: shared memory has one, twice as wide */
} sddmm_tiles_shape;

/* Bytes of a row of a tile for K features. */
int sddmm_tiles_row_bytes(int K, enum precision precision);

/* Columns for which shared memory has room; 0 on a device that does not answer. */
int sddmm_tiles_cols(int K, enum precision precision, int buffers);

/* Finds the shape for which a product of K features on a pattern of these statistics should take the least time
 * on this device. Returns that time in microseconds; INFINITY where the model holds nothing of such a pattern
 * (rows that are not full, or column_tiles_unsuited), with a shape all the same. */
double sddmm_tiles_estimate(const row_stats *stats, int K, enum precision precision,
                            sddmm_tiles_shape *shape);

#ifdef __cplusplus
}
#endif
#endif
