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

/* d = a * b, or d += a * b: a warp's 16 rows of 64, and n columns. `b` describes B in shared memory, as
 * device/wgmma.cuh makes it: a row holds a column of B, or, `across`, a row of it. d has n / 2 floats, which are set at
 * the wait for the product's group at the latest; here, exactly then. simt_wgmma_shared: A lies there as well, 16 rows of
 * it, each a column of A. */
struct simt_wgmma_shape {
    enum simt_mma_kind kind;
    int n;
    bool across, add;
};
void simt_wgmma(float *d, const uint32_t *a, uint64_t b, const struct simt_wgmma_shape *shape);
void simt_wgmma_shared(float *d, uint64_t a, uint64_t b, const struct simt_wgmma_shape *shape);
/* Before the first product, and again after a wait. */
void simt_wgmma_fence(void);
void simt_wgmma_commit(void);
/* Waits until at most `pending` of the warp's latest groups are unfinished. */
void simt_wgmma_wait(int pending);

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
/* Copies may use the barriers that were made so far. */
void simt_mbarrier_publish(void);
/* One arrival at another block's barrier, at the same place as this one. */
void simt_mbarrier_arrive_in(void *barrier, unsigned rank);

/* A matrix of 16-bit numbers in global memory, and the box of it that a copy takes. */
struct simt_tensor_map {
    const void *base;
    size_t rows, columns;
    int box_rows, box_columns;
};
/* Copies the box at (row, column), swizzled, into each block of the set; what lies outside the matrix is 0. It counts
 * at the barrier of each block. blocks: bit r is rank r's. See device/tensor_map.cuh. */
void simt_tensor_copy(void *shared, const struct simt_tensor_map *map, int row, int column,
                      void *barrier, unsigned blocks);

/* Blocks of a cluster: see device/cluster.cuh. */
void simt_cluster_sync(void);
/* The place of `shared`, an address in the block's own dynamic shared memory, in that of block `rank`. */
void *simt_cluster_shared(const void *shared, unsigned rank);
}

SIMT_INLINE void simt_async_copy(void *shared, const void *global, int bytes, int source_bytes)
{
    simt_async_copy_start(shared, global, bytes, source_bytes);
    SIMT_NOT_A_TAIL_CALL();
}

#endif
