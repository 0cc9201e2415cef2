/*
 * lt_layer.h - cuBLASLt's dense layer in one kernel, C = max(0, W * B + bias of the row): the fused rival of sparse layers.
 *
 * The functions are missing where the vendor's library is, as on the CPU backend: ask lt_layer_exists first.
 */
#ifndef BASELINES_LT_LAYER_H
#define BASELINES_LT_LAYER_H

#include <cuda_runtime_api.h>
#include <library_types.h>
#include <stdbool.h>

typedef struct lt_layer lt_layer;

/* Row-major arrays on the device: W rows x cols, and with it B cols x N and C rows x N, all of one type. */
typedef struct lt_layer_shape {
    int rows, cols, N;
    cudaDataType type; /* CUDA_R_32F or CUDA_R_16F; sums are fp32 */
    bool tf32, relu;
    const void *d_W, *d_bias; /* [rows] of `type`. Borrowed */
} lt_layer_shape;

/* Tries the algorithms that the library proposes on operands of that shape, and keeps the fastest. The bias is the
 * library's own epilogue or, where it proposes none for rows, the matrix that is added to the product: see
 * lt_layer_epilogue. Works on the legacy default stream. The caller destroys *layer.
 * cudaErrorNotSupported: no algorithm. */
cudaError_t lt_layer_create(const lt_layer_shape *shape, lt_layer **layer) __attribute__((weak));
cudaError_t lt_layer_run(const lt_layer *layer, const void *B, void *C, cudaStream_t stream)
    __attribute__((weak));
void lt_layer_destroy(lt_layer *layer) __attribute__((weak)); /* NULL is allowed */

/* "bias in the epilogue" or "bias as a matrix" */
const char *lt_layer_epilogue(const lt_layer *layer) __attribute__((weak));

static inline bool lt_layer_exists(void)
{
    return lt_layer_create != NULL;
}

#endif
