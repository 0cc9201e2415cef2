/*
 * scan.h - prefix sums on the device, for every prepare that packs variable-length pieces.
 */
#ifndef DEVICE_SCAN_H
#define DEVICE_SCAN_H

#include <cuda_runtime_api.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Replaces d_data[i] by d_data[0] + ... + d_data[i-1] for 0 <= i < count, so that d_data[0] becomes
 * 0: an exclusive scan in place. The caller sees to it that the total fits an int. Enqueued on
 * `stream` and waited for; allocates and frees a workspace. */
cudaError_t device_exclusive_scan(int *d_data, int count, cudaStream_t stream);

/* The same in a workspace of the caller's, device_scan_workspace(count) ints (about count / 1023); not
 * waited for. */
size_t device_scan_workspace(int count);
cudaError_t device_exclusive_scan_in(int *d_workspace, int *d_data, int count, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
