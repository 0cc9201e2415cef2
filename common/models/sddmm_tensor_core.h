/*
 * models/sddmm_tensor_core.h - which dense tiles for tensor cores, and how long a sampled product with them
 * should take.
 */
#ifndef MODELS_SDDMM_TENSOR_CORE_H
#define MODELS_SDDMM_TENSOR_CORE_H

#include "matrix/stats.h"
#include "ops/precision.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The only devices that have products of a warpgroup (device/wgmma.cuh). */
enum { WARPGROUP_CAPABILITY = 90 };

typedef struct sddmm_tensor_core_shape {
    int tile_rows;     /* 64 or 128, by 128 columns */
    bool by_warpgroup; /* multiplied by four warps together (device/wgmma.cuh), in fp32 */
} sddmm_tensor_core_shape;

/* Finds the shape for which a product of K features on a pattern of these statistics should take the least time
 * on this device. Returns that time in microseconds. Returns INFINITY, with a shape all the same, where the
 * model holds nothing of such a pattern. Then it is too sparse, too large for tile_lists.h, or the device has
 * no such tensor cores. */
double sddmm_tensor_core_estimate(const row_stats *stats, int K, enum precision precision,
                                  sddmm_tensor_core_shape *shape);

#ifdef __cplusplus
}
#endif
#endif
