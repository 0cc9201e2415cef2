/*
 * pairs.cuh - A's nonzeros as lab 8 reads them: column and value side by side, made once by prepare.
 *
 *   packed_pair   4 bytes: 16 bits of column, 16 bits of value. For up to 65536 columns.
 *   wide_pair     8 bytes: 32 bits of column, the value as a float. For any matrix.
 *
 * CSR in 16 bits has 6 bytes a nonzero in two arrays.
 */
#ifndef LAB8_PAIRS_CUH
#define LAB8_PAIRS_CUH

#include "device/half.cuh"
#include "device/warp.cuh"

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

/* What lane `from` of the LANES around this one holds. Packed it takes one shuffle, not two. */
template <int LANES> __device__ __forceinline__ packed_pair shuffle(packed_pair a, int from)
{
    return {__shfl_sync(FULL_MASK, a.bits, from, LANES)};
}
template <int LANES> __device__ __forceinline__ wide_pair shuffle(wide_pair a, int from)
{
    return {__shfl_sync(FULL_MASK, a.column, from, LANES),
            __shfl_sync(FULL_MASK, a.value, from, LANES)};
}

/* One thread a nonzero. */
template <class H, class P>
static __global__ void make_pairs_kernel(int nnz, const int *__restrict__ col_idx,
                                         const H *__restrict__ values, P *__restrict__ pairs)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < nnz) make_pair(pairs[k], col_idx[k], values[k]);
}

#endif
