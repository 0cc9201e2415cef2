/*
 * scan.h - prefix sums on the device, for every prepare that packs variable-length pieces.
 */
#ifndef DEVICE_SCAN_H
#define DEVICE_SCAN_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Replaces d_data[i] by d_data[0] + ... + d_data[i-1] for 0 <= i < count, so that d_data[0] becomes
 * 0: an exclusive scan in place. The caller sees to it that the total fits an int. Enqueued on
 * `stream`; allocates and frees a workspace of about count / 1024 ints. */
cudaError_t device_exclusive_scan(int *d_data, int count, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
