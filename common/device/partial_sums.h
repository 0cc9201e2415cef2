/*
 * partial_sums.h - memory for results that several blocks share: each leaves its sums, and the block that
 * comes last adds them up (last_block.cuh; in order: partial_sums.cuh).
 */
#ifndef DEVICE_PARTIAL_SUMS_H
#define DEVICE_PARTIAL_SUMS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct partial_sums {
    float *d_sums;       /* in the kernel's own order */
    unsigned *d_arrived; /* blocks done, of each shared result; 0 between runs */
    size_t bytes;        /* of both */
} partial_sums;

/* Allocates room for so many floats and counters, the counters at 0; without counters nothing. On error some of it may be
 * allocated: partial_sums_free, which also takes a zeroed struct, frees it. */
cudaError_t partial_sums_make(size_t floats, size_t counters, partial_sums *p);
void partial_sums_free(partial_sums *p);

#ifdef __cplusplus
}
#endif
#endif
