/*
 * linear_kernels.h - passes over the weights of a layer. All arrays lie on the device; every function enqueues on `stream`.
 */
#ifndef TRAINING_LINEAR_KERNELS_H
#define TRAINING_LINEAR_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* sum[z] += x[z] for all z below `count`. */
cudaError_t weights_add(int64_t count, const float *x, float *sum, cudaStream_t stream);

/* W[p] -= rate * gradient[p] for the places p = place[z], which differ; place NULL: p = z. */
cudaError_t weights_update(int64_t count, const int *place, float rate, const float *gradient,
                           float *W, cudaStream_t stream);

/* Between a dense array and an array of its nonzeros: dense[place[z]] = x[z], and back. */
cudaError_t weights_scatter(int64_t count, const int *place, const float *x, float *dense,
                            cudaStream_t stream);
cudaError_t weights_gather(int64_t count, const int *place, const float *dense, float *x,
                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
