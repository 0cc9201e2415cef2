/*
 * device_tools.h - the harness's own small kernels.
 */
#ifndef HARNESS_DEVICE_TOOLS_H
#define HARNESS_DEVICE_TOOLS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A 64-bit hash of `bytes` bytes of device memory, from an address that is a multiple of 4: the sum of
 * a mix of every word with its position, so that no order of threads matters and any changed word
 * changes it. */
cudaError_t device_checksum(const void *d_data, size_t bytes, uint64_t *hash);

/* Enqueues what fills the L2 cache with `d_data`, at least as large as the cache: zeros are written
 * there, and read again. What was written alone would stay in the cache and be written back later.
 * Whoever runs next would pay for it (up to 50 MB on an H200, 12 us). */
cudaError_t device_flush_cache(void *d_data, size_t bytes, cudaStream_t stream);

/* Enqueues a kernel that keeps the device busy for about `microseconds` and touches no memory. What
 * is enqueued meanwhile runs back to back afterwards, however slow the host is. */
cudaError_t device_spin(double microseconds, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
