/*
 * activations.h - what a perceptron does to its arrays beside products: biases, tanh, the loss. Arrays lie on the device, [rows][N] row-major; every
 * function enqueues on `stream` and returns what the launch said.
 */
#ifndef TRAINING_ACTIVATIONS_H
#define TRAINING_ACTIVATIONS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Y[i][n] += b[i], and then tanh of it where `bend` is set. */
cudaError_t add_biases(int rows, int N, const float *b, bool bend, float *Y, cudaStream_t stream);

/* dY[i][n] *= 1 - Y[i][n]^2: back through tanh. */
cudaError_t tanh_backward(int rows, int N, const float *Y, float *dY, cudaStream_t stream);

/* sums[i] = the sum of row i of dY. A warp a row. */
cudaError_t bias_gradient(int rows, int N, const float *dY, float *sums, cudaStream_t stream);

/* Cross entropy of logits [classes][N], with label[n] below `classes`: loss[n] is that of column n over N, and `gradient` its
 * gradient by the logits. */
cudaError_t columns_loss(int classes, int N, const float *logits, const int *label, float *loss,
                         float *gradient, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
