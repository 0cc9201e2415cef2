/*
 * pairs.cuh - the nonzeros of A in 16 bits with column and value side by side, in the order of CSR:
 * one load brings both.
 *
 *   packed_pair   4 bytes: 16 bits of column, 16 bits of value. For up to 65536 columns.
 *   wide_pair     8 bytes: 32 bits of column, the value as a float. For any matrix.
 *
 * CSR in 16 bits has 6 bytes a nonzero in two arrays.
 */
#ifndef FORMATS_PAIRS_CUH
#define FORMATS_PAIRS_CUH

#include "device/half.cuh"
#include "device/warp.cuh"
#include "ops/spmm.h"

/* Unsigned: published kernels keep signed 16-bit indices, which end at 32768 columns. */
constexpr int PACKED_COLUMNS = 65536;

struct packed_pair {
    unsigned bits; /* value << 16 | column: a bf16 in the high half is a float already */
};

struct wide_pair {
    int column;
    float value;
};

template <class H> __device__ __forceinline__ void make_pair(packed_pair &a, int column, H value)
{
    unsigned short bits;
    memcpy(&bits, &value, sizeof bits);
    a.bits = (unsigned)bits << 16 | (unsigned)column;
}
template <class H> __device__ __forceinline__ void make_pair(wide_pair &a, int column, H value)
{
    a = {column, widen(value)};
}

__device__ __forceinline__ int column_of(packed_pair a)
{
    return a.bits & 0xffff;
}
__device__ __forceinline__ int column_of(wide_pair a)
{
    return a.column;
}

template <class H> __device__ __forceinline__ float value_of(packed_pair a)
{
    return widen(half_of_bits<H>(a.bits >> 16));
}
template <class H> __device__ __forceinline__ float value_of(wide_pair a)
{
    return a.value;
}

/* Gives what lane `from` of the WIDTH around this one holds. Packed it takes one shuffle, not two. */
template <int WIDTH> __device__ __forceinline__ packed_pair shuffle(packed_pair a, int from)
{
    return {__shfl_sync(FULL_MASK, a.bits, from, WIDTH)};
}
template <int WIDTH> __device__ __forceinline__ wide_pair shuffle(wide_pair a, int from)
{
    return {__shfl_sync(FULL_MASK, a.column, from, WIDTH),
            __shfl_sync(FULL_MASK, a.value, from, WIDTH)};
}

/* Tells which kind of pair A's nonzeros have: packed or wide ones. */
inline bool pairs_are_packed(const spmm_matrix *A)
{
    return A->cols <= PACKED_COLUMNS;
}

/* Makes A->nnz pairs of that kind on the device, from 16-bit values of the given precision. The caller
 * frees *d_pairs with cudaFree, whatever is returned. */
cudaError_t pairs_build(const spmm_matrix *A, enum precision precision, void **d_pairs);

#endif
