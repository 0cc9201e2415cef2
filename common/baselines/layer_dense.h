/*
 * layer_dense.h - what a user of dense products adds to them to train a sparse layer: W with its zeros, and the update.
 */
#ifndef BASELINES_LAYER_DENSE_H
#define BASELINES_LAYER_DENSE_H

#include "ops/sparse_layer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills dense[rows * cols], row-major, of the contender's precision, with W and its zeros. Entries of the same place add
 * up. Enqueued on stream 0. */
cudaError_t layer_dense_fill(const sparse_layer_plan *plan, void *dense);

/* new_W[z] = W[z] - eta * gradient, and that is gradient[row of z][column of z] of a rows x cols array, row-major, or
 * gradient[z] where `dense` is false. Enqueued on `stream`. */
cudaError_t layer_update(const sparse_layer_plan *plan, const float *gradient, bool dense,
                         float *new_W, cudaStream_t stream);

/* sum[z] += gradient[z] for all nonzeros. Enqueued on `stream`. */
cudaError_t layer_accumulate(const sparse_layer_plan *plan, const float *gradient, float *sum,
                             cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
