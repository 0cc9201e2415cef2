/*
 * bits.cuh - instructions on the bytes of a word for which CUDA C has no function of one instruction.
 */
#ifndef DEVICE_BITS_CUH
#define DEVICE_BITS_CUH

#include <stdint.h>

/* Byte i of the result is byte (selector >> 4i & 7) of high:low, for i = 0 to 3. The upper half of the
 * selector is not looked at; its digits must be below 8. (__byte_perm does the same and masks the
 * digits first, which is another instruction.) */
__device__ __forceinline__ uint32_t select_bytes(uint32_t low, uint32_t high, uint32_t selector)
{
#ifdef __CUDACC__
    uint32_t result;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(selector));
    return result;
#else
    return __byte_perm(low, high, selector);
#endif
}

#endif
