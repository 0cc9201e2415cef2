/*
 * lane_major_operand.cuh - X: the right operand B in the order in which a lane-major matrix is multiplied.
 *
 * Quads of 64 rows; in each two halves of 32; in each tiles of eight columns; in each 16 bytes for every
 * lane. Lane (g, t) has the eight rows from 8 t on of column g: all that it needs for two fragments, with
 * the columns of A in the order of lane_major_layout.cuh. A step's part of X is one piece of memory.
 *
 * Zeros stand where B has no row or column, and in rows that no element of A multiplies: those may hold NaN
 * or infinities, and all of A's zeros are multiplied.
 */
#ifndef FORMATS_LANE_MAJOR_OPERAND_CUH
#define FORMATS_LANE_MAJOR_OPERAND_CUH

#include "formats/lane_major_layout.cuh"

#include <cuda_fp16.h>

/* Tiles of eight columns that one pass over B of N columns takes: 1, 2, 4 or 8. */
static inline int tiles_of(int N)
{
    return N <= 8 ? 1 : N <= 16 ? 2 : N <= 32 ? 4 : 8;
}

/* Bytes of X for a quad of A: 64 rows of 8 * tiles columns. */
__host__ __device__ static inline unsigned x_bytes(int tiles)
{
    return QUAD_COLUMNS * 8 * tiles * 2;
}

template <class H> struct x_order {
    const H *B;
    const uint64_t *used; /* bits: rows of B that A multiplies */
    int rows, N, column;  /* of B; the first column of X */
    uint4 *X;
    int quads; /* of B's rows, up to a multiple of the ways */
    int tiles;
};

extern "C" {

/* Gets ready on the current device, once for each plan. cudaErrorNoKernelImageForDevice: this program has no
 * code for 9.0 or newer for it, so a kernel launched behind it would not wait (device/pdl.cuh). */
cudaError_t lane_major_operand_prepare(void);

/* Enqueues the ordering of 8 * tiles columns; order->quads of them take quads * x_bytes(tiles). It may start before the
 * kernel before it has ended, and a kernel launched with launch_with_pdl() may follow at once. */
cudaError_t lane_major_operand_order(const x_order<__half> *order, cudaStream_t stream);
}

#endif
