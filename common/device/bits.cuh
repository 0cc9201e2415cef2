/*
 * bits.cuh - what CUDA C has no function for: any bytes of two words in one instruction, and counts on both sides.
 */
#ifndef DEVICE_BITS_CUH
#define DEVICE_BITS_CUH

#include <stdint.h>

/* Byte i of the result is what digit i of the selector, selector >> 4i & 15, says: below 8 that byte of high:low,
 * and from 8 on eight copies of the top bit of byte digit - 8. The upper half of the selector is not looked at.
 * (__byte_perm masks the digits first, which is another instruction, and knows no copies.) */
__device__ __forceinline__ uint32_t select_bytes(uint32_t low, uint32_t high, uint32_t selector)
{
#ifdef __CUDACC__
    uint32_t result;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(selector));
    return result;
#else
    const uint32_t bytes = __byte_perm(low, high, selector & 0x7777);
    const uint32_t copies = (selector >> 3 & 1) | (selector >> 7 & 1) << 8 |
                            (selector >> 11 & 1) << 16 | (selector >> 15 & 1) << 24;
    const uint32_t tops = (bytes >> 7 & 0x01010101) * 0xff;
    return (bytes & ~(copies * 0xff)) | (tops & copies * 0xff);
#endif
}

/* Counts the set bits, on the host too. */
__host__ __device__ __forceinline__ int count_bits(uint64_t bits)
{
#ifdef __CUDA_ARCH__
    return __popcll(bits);
#else
    return __builtin_popcountll(bits);
#endif
}

#endif
