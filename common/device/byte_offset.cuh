/*
 * byte_offset.cuh - 32-bit byte offsets into an array: an address is then one addition, of half the
 * width of an address, where an index costs a 64-bit multiplication.
 */
#ifndef DEVICE_BYTE_OFFSET_CUH
#define DEVICE_BYTE_OFFSET_CUH

#include <stddef.h>
#include <stdint.h>

/* Whether the offset of every element of a rows x columns array fits: 4 GiB do just so. */
static inline bool byte_offsets_fit(int64_t rows, int64_t columns, size_t element)
{
    const uint64_t limit = UINT64_C(1) << 32;
    if (rows <= 0 || columns <= 0) return true;
    return (uint64_t)columns <= limit / element &&
           (uint64_t)rows <= limit / ((uint64_t)columns * element);
}

/* The element `bytes` behind the first. */
template <class T> __device__ __forceinline__ const T *byte_offset(const T *array, size_t bytes)
{
    return reinterpret_cast<const T *>(reinterpret_cast<const char *>(array) + bytes);
}

#endif
