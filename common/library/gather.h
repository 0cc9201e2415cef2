/*
 * gather.h - numbers in another order.
 */
#ifndef LIBRARY_GATHER_H
#define LIBRARY_GATHER_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues to[i] = from[place[i]] for all i below `count`. All arrays lie on the device; `bytes` of an element: 2 or 4.
 * cudaErrorInvalidValue: other bytes. */
cudaError_t gather(int count, const int *place, size_t bytes, const void *from, void *to,
                   cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
