/*
 * kernels.h - what a layer computes beside its products: LayerNorm, biases, and dense attention's masked softmax.
 *
 * Arrays are row-major, on the device. All calls are enqueued on the default stream.
 */
#ifndef SPARSE_TRANSFORMER_KERNELS_H
#define SPARSE_TRANSFORMER_KERNELS_H

#include "ops/precision.h"

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Added to the variance of a row before its root is taken. */
#define NORM_EPSILON 1e-6f

/* y = (x - mean) / sqrt(variance + NORM_EPSILON) * gain + shift; both are of a row of `width` numbers. */
cudaError_t layer_norm(int rows, int width, const float *x, const float *gain, const float *shift,
                       float *y);

/* Adds bias[width] to each row of x; with `relu` negative sums become 0. */
cudaError_t add_bias(int rows, int width, const float *bias, bool relu, float *x);

/* Words of 32 bits that a row of a mask of n columns takes. */
static inline size_t mask_words(int n)
{
    return ((size_t)n + 31) / 32;
}

/* Softmax of each row of logits[heads][n][n], fp32 or fp16, into shares, which may be the same array. Shares of masked
 * columns are 0. Row i may attend to column j where bit j % 32 of allowed[i * mask_words(n) + j / 32] is set; without
 * `allowed`, to all j <= i. No row may be without a column. Sums are fp32. */
cudaError_t masked_softmax(enum precision precision, int n, int heads, const uint32_t *allowed,
                           const void *logits, void *shares);

/* Rounds `count` numbers to fp16, and back. */
cudaError_t narrow_to_fp16(size_t count, const float *from, void *to);
cudaError_t widen_from_fp16(size_t count, const void *from, float *to);

#ifdef __cplusplus
}
#endif
#endif
