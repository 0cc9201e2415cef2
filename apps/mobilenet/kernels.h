/*
 * kernels.h - what of MobileNet is no product: the stem, depthwise convolutions, the average of each plane.
 *
 * A plane is one channel of one image. Activations are [channel][image][row][column] in fp32 or fp16; sums and biases are
 * fp32, and a result is rounded once. Convolutions are 3x3 with a border of one zero, and finish with bias and ReLU. No load
 * leaves its array. Functions enqueue on `stream`.
 */
#ifndef MOBILENET_KERNELS_H
#define MOBILENET_KERNELS_H

#include "ops/precision.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One of them. Arrays lie on the device and begin as cudaMalloc aligns; bf16 is not among the precisions. */
typedef struct planes {
    enum precision precision; /* of x, weights and y */
    int in, out;              /* channels; alike but for the stem, which has 3 */
    int batch, in_side, out_side, stride;
    const void *x,
        *weights;      /* weights: [out][in * 9] of the stem, [out][9] of a depthwise convolution */
    const float *bias; /* [out] */
    void *y;
} planes;

cudaError_t stem_run(const planes *p, cudaStream_t stream);
cudaError_t depthwise_run(const planes *p, cudaStream_t stream);

/* y[channel][image] = the mean of the plane. */
cudaError_t pool_run(const planes *p, cudaStream_t stream);

/* A kernel that does nothing: what a launch costs. */
cudaError_t nothing_run(cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
