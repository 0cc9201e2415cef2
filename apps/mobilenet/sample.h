/*
 * sample.h - what a check reads of an activation: a few of its images, and whether all its numbers are finite.
 */
#ifndef MOBILENET_SAMPLE_H
#define MOBILENET_SAMPLE_H

#include "ops/precision.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An activation [channel][image][pixel] on the device, fp32 or fp16. */
typedef struct activation {
    const void *at;
    enum precision precision;
    int channels, batch, pixels; /* pixels of one image in one channel */
} activation;

/* Copies `images` of its images, evenly spaced from image `first` on, to the device's floats to[channel][image][pixel]. Image
 * i there is number (first + i * batch / images) % batch; the last one, where some are left out, is the batch's last. */
cudaError_t sample_take(const activation *a, int images, int first, float *to, cudaStream_t stream);

/* Sets *found on the device to 1 if a number of any image is NaN or infinite, else leaves it. */
cudaError_t sample_not_finite(const activation *a, int *found, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
