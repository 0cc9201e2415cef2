/*
 * cuda_fp16.h - __half and __half2 on the CPU backend: exact conversions, correctly rounded
 * arithmetic.
 */
#ifndef SIMT_CUDA_FP16_H
#define SIMT_CUDA_FP16_H

#include <cuda_runtime.h>

#include "simt/float16_conversion.h"

SIMT_FLOAT16_TYPES(__half, __half2, simt_fp16_from_float, simt_fp16_to_float)
SIMT_FLOAT16_CONVERSIONS(__half, __half2, half)
typedef __half half;
typedef __half2 half2;

#include "simt/float16_arithmetic.h"

SIMT_INLINE int __hisinf(__half a)
{
    return a.bits == 0x7c00 ? 1 : a.bits == 0xfc00 ? -1 : 0;
}

SIMT_ATOMIC(atomicAdd, __half, SIMT_ADD_F16)
SIMT_ATOMIC(atomicAdd, __half2, SIMT_ADD_F16X2)

#endif
