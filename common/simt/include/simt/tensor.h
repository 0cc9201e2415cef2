/*
 * tensor.h - what the wrappers in common/device call where a GPU has an instruction: asynchronous
 * copies, barriers in shared memory, matrix loads and matrix products. Kernels use the wrappers.
 */
#ifndef SIMT_TENSOR_H
#define SIMT_TENSOR_H

#include "simt/base.h"

/* The products d = a * b + c with fp32 accumulation; m is 16, n is 8. */
enum simt_mma_kind { SIMT_MMA_K8_TF32, SIMT_MMA_K8_F16, SIMT_MMA_K16_F16, SIMT_MMA_K16_BF16 };

extern "C" {
/* Fragments as the PTX ISA lays them out over the lanes; see device/mma.cuh. */
void simt_mma(enum simt_mma_kind kind, float d[4], const uint32_t *a, const uint32_t *b,
              const float c[4]);

/* d += a * b, K = 32, of an A of which two of each four elements are stored; SIMT_MMA_K16_F16 or _BF16 names the kind of
 * its stored fragment. `selector`, 0 or 1: whose metadata count; see device/mma_sparse.cuh. */
void simt_mma_sp(enum simt_mma_kind kind, float d[4], const uint32_t *a, const uint32_t *b,
                 uint32_t metadata, int selector);

/* Loads `count` (1, 2, 4) 8x8 matrices of 16-bit elements; lane 8 * i + r passes the address of
 * row r of matrix i, in shared memory and 16-byte aligned. */
void simt_ldmatrix(uint32_t *fragments, const void *row, int count, bool transposed);

/* d = a * b, or d += a * b if `add`, of tf32 numbers: a warp's 16 rows of 64, and 64 columns. `b` describes 8 rows of
 * B in shared memory, as device/wgmma.cuh makes it; d has 32 floats. Done at once, which hardware does not promise. */
void simt_wgmma(float *d, const uint32_t *a, uint64_t b, bool add);

/* Copies source_bytes from global to shared memory and zeroes the rest of `bytes` (4, 8 or 16) -
 * when the wait for it happens: a kernel that forgets the wait must see the old contents. */
void simt_async_copy_start(void *shared, const void *global, int bytes, int source_bytes);
void simt_async_commit(void);
/* Waits until at most `pending` of the latest committed groups are unfinished. */
void simt_async_wait(int pending);
void simt_async_wait_all(void);

/* Barriers in shared memory: see device/mbarrier.cuh. */
void simt_mbarrier_init(void *barrier, unsigned arrivals);
void simt_mbarrier_arrive(void *barrier, unsigned bytes);
void simt_mbarrier_wait(void *barrier, unsigned parity);
void simt_bulk_copy(void *shared, const void *global, unsigned bytes, void *barrier);
}

SIMT_INLINE void simt_async_copy(void *shared, const void *global, int bytes, int source_bytes)
{
    simt_async_copy_start(shared, global, bytes, source_bytes);
    SIMT_NOT_A_TAIL_CALL();
}

#endif
