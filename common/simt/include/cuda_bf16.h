/*
 * cuda_bf16.h - __nv_bfloat16 and __nv_bfloat162 on the CPU backend: exact conversions, correctly
 * rounded arithmetic.
 */
#ifndef SIMT_CUDA_BF16_H
#define SIMT_CUDA_BF16_H

#include <cuda_runtime.h>

#include "simt/float16_conversion.h"

SIMT_FLOAT16_TYPES(__nv_bfloat16, __nv_bfloat162, simt_bf16_from_float, simt_bf16_to_float)
SIMT_FLOAT16_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#include "simt/float16_arithmetic.h"

SIMT_INLINE int __hisinf(__nv_bfloat16 a)
{
    return a.bits == 0x7f80 ? 1 : a.bits == 0xff80 ? -1 : 0;
}

SIMT_ATOMIC(atomicAdd, __nv_bfloat16, SIMT_ADD_BF16)
SIMT_ATOMIC(atomicAdd, __nv_bfloat162, SIMT_ADD_BF16X2)

#endif
