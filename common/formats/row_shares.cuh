/*
 * row_shares.cuh - how kernels read row_shares.h.
 */
#ifndef FORMATS_ROW_SHARES_CUH
#define FORMATS_ROW_SHARES_CUH

#include "formats/row_shares.h"

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
