/*
 * half.cuh - the two 16-bit formats as floats and back, under one name each, for kernels that are
 * templates over the format. A float stays what it is.
 *
 *     __half          1 sign, 5 exponent, 10 fraction bits    largest 65504, 11 bits of precision
 *     __nv_bfloat16   1 sign, 8 exponent,  7 fraction bits    a float's range, 8 bits of precision
 */
#ifndef DEVICE_HALF_CUH
#define DEVICE_HALF_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string.h>
#include <type_traits>

/* Exact. */
__device__ __forceinline__ float widen(__half x)
{
    return __half2float(x);
}
__device__ __forceinline__ float widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
__device__ __forceinline__ float widen(float x)
{
    return x;
}

/* The nearest number of format H, ties to even. */
template <class H> __device__ __forceinline__ H narrow(float x)
{
    if constexpr (std::is_same_v<H, float>)
        return x;
    else if constexpr (std::is_same_v<H, __half>)
        return __float2half_rn(x);
    else
        return __float2bfloat16_rn(x);
}

/* The number that these 16 bits are. */
template <class H> __device__ __forceinline__ H half_of_bits(unsigned short bits)
{
    H x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
