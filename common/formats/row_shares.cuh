/*
 * row_shares.cuh - how kernels read row_shares.h.
 */
#ifndef FORMATS_ROW_SHARES_CUH
#define FORMATS_ROW_SHARES_CUH

#include "device/vec.cuh"
#include "formats/row_shares.h"

/* Share number i, by one load. */
__device__ __forceinline__ row_share share_at(const row_share *share, int i)
{
    int x[4];
    load_vector(x, &share[i].row);
    return {x[0], x[1], x[2], x[3]};
}

/* Nonzeros of a share. */
__host__ __device__ __forceinline__ int share_length(const row_share &s, int segment)
{
    const int left = s.end - s.first;
    return left < segment ? left : segment;
}

/* Shares of the row that share number i belongs to. The ones before it have `segment` nonzeros each. */
__host__ __device__ __forceinline__ int shares_of_row(const row_share &s, int i, int segment)
{
    const int left = s.end - s.first;
    return i - s.first_share + (left > segment ? (left - 1) / segment + 1 : 1);
}

#endif
