/*
 * tensor_map.cuh - boxes of a matrix of 16-bit numbers, which the copy engine brings to shared memory (compute
 * capability 9.0 and up; a trap below).
 *
 *     tensor_map X;                                    on the host, for each run: it holds an address
 *     tensor_map_make(&X, base, rows, columns, 128, 64);
 *     kernel(const __grid_constant__ tensor_map X)     a parameter, as it is, or a member of one
 *     tensor_copy(tile, &X, row, column, &full);       one thread; bytes announced as for bulk_copy
 *
 * The copy writes a row of the box after the other. A row is 128, 64 or 32 bytes (64, 32 or 16 numbers) in pieces of 16
 * bytes. The tile begins at a multiple of eight rows. The places of pieces are those of swizzle.cuh. What lies outside the
 * matrix arrives as 0, and counts.
 *
 * PTX ISA, "cp.async.bulk.tensor"; CUDA driver API, "Tensor Map Object Management".
 */
#ifndef DEVICE_TENSOR_MAP_CUH
#define DEVICE_TENSOR_MAP_CUH

#include "device/mbarrier.cuh"

#include <cuda_runtime.h>

#ifdef __CUDACC__
#include <cuda.h>
typedef CUtensorMap tensor_map;
#else
typedef simt_tensor_map tensor_map;
#endif

/* Describes boxes of a row-major matrix without gaps. base: device memory, a multiple of 16; columns: a multiple of 8;
 * box_rows: at most 256; box_columns: 64, 32 or 16. cudaErrorNotSupported: the driver knows no such maps. */
extern "C" cudaError_t tensor_map_make(tensor_map *map, const void *base, size_t rows,
                                       size_t columns, int box_rows, int box_columns);

/* Starts copying the box at (row, column) of the matrix; column is a multiple of 8. */
__device__ __forceinline__ void tensor_copy(void *shared, const tensor_map *map, int row,
                                            int column, mbarrier *b)
{
#if !defined(__CUDACC__)
    simt_tensor_copy(shared, map, row, column, b, 1u << simt_cluster_rank());
#elif __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_window(shared)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_window(b))
                 : "memory");
#else
    __trap();
#endif
}

/* The same into several blocks of the cluster, at the same place of each, and at the same barrier of each. blocks: bit r
 * is rank r's. It is read from L2 once. Compiled for sm_90a; a trap elsewhere, where ptxas calls it slow. */
__device__ __forceinline__ void tensor_copy_multicast(void *shared, const tensor_map *map, int row,
                                                      int column, mbarrier *b, unsigned blocks)
{
#if !defined(__CUDACC__)
    simt_tensor_copy(shared, map, row, column, b, blocks);
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
                 "multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_window(shared)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_window(b)), "h"((uint16_t)blocks)
                 : "memory");
#else
    __trap();
#endif
}

#endif
