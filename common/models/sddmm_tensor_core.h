/*
 * models/sddmm_tensor_core.h - which dense tiles for tensor cores, and how long a sampled product with them
 * should take.
 */
#ifndef MODELS_SDDMM_TENSOR_CORE_H
#define MODELS_SDDMM_TENSOR_CORE_H

#include "matrix/stats.h"
#include "ops/precision.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sddmm_tensor_core_shape {
    int tile_rows; /* 64, 128 or 256, by 128 columns */
    int stages;    /* of shared memory: 2 or 3 */
} sddmm_tensor_core_shape;

/* Finds the shape for which a product of K features on a pattern of these statistics should take the least time
 * on this device. Returns that time in microseconds; INFINITY where the model holds nothing of such a pattern
 * (too sparse, too large for tile_lists.h, a device without such tensor cores), with a shape all the same. */
double sddmm_tensor_core_estimate(const row_stats *stats, int K, enum precision precision,
                                  sddmm_tensor_core_shape *shape);

#ifdef __cplusplus
}
#endif
#endif
