/*
 * argsort.h - sorting on the device, for every prepare that puts rows in an order.
 */
#ifndef DEVICE_ARGSORT_H
#define DEVICE_ARGSORT_H

#include <cuda_runtime_api.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rearranges d_order, a permutation of 0 .. count-1, so that d_key[d_order[i]] ascends. The sort is
 * stable: what has equal keys stays in the order it had. So a second call with another key sorts by
 * that one first, and by the earlier one among equals. The result is the same in every run. Keys lie
 * in 0 .. largest_key, and every 8 bits of that cost one pass over the data. Enqueued on `stream` and
 * waited for; allocates and frees a workspace of about count * 5 bytes, 12 below 2^18 of them. */
cudaError_t device_argsort(const int *d_key, int largest_key, int *d_order, int count,
                           cudaStream_t stream);

/* The same in a workspace of the caller's, device_argsort_workspace(count) ints; not waited for. */
size_t device_argsort_workspace(int count);
cudaError_t device_argsort_in(int *d_workspace, const int *d_key, int largest_key, int *d_order,
                              int count, cudaStream_t stream);

/* d_order[i] = i. */
cudaError_t device_identity(int *d_order, int count, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
