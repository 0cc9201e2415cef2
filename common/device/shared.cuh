/*
 * shared.cuh - addresses in the block's dynamic shared memory as 32-bit numbers, for kernels that
 * compute with them: a pointer of C++ has 64 bits, and what adds to it adds twice.
 *
 * The addresses are those of the shared window, as PTX's ld.shared takes them. Dynamic shared memory
 * begins at a multiple of 256 there, wherever a kernel has no static one.
 */
#ifndef DEVICE_SHARED_CUH
#define DEVICE_SHARED_CUH

#include <stdint.h>

/* Returns the address of a byte of dynamic shared memory. */
__device__ __forceinline__ uint32_t shared_address(const void *p)
{
#ifdef __CUDACC__
    return (uint32_t)__cvta_generic_to_shared(p);
#else
    const uint32_t BEGIN = 1024; /* where a GPU's begins: the first KB is the system's */
    return BEGIN + (uint32_t)((const char *)p - (const char *)simt_dynamic_shared());
#endif
}

/* Returns p, which points into the block's shared memory, as something that the compiler keeps in a register. Else it may make
 * the address anew at each use. In a cluster that reads the block's number from a special register, which takes 30 cycles:
 * many, where one warp's instructions follow each other. */
template <class T> __device__ __forceinline__ T *shared_in_register(T *p)
{
#ifdef __CUDACC__
    uint32_t address = (uint32_t)__cvta_generic_to_shared(p);
    asm volatile("" : "+r"(address)); /* might have changed it, for all that the compiler knows */
    return (T *)__cvta_shared_to_generic(address);
#else
    return p;
#endif
}

/* Loads any type of 1 to 16 bytes, at a multiple of its size. */
template <class T> __device__ __forceinline__ T load_shared(uint32_t address)
{
#ifdef __CUDACC__
    return *(const T *)__cvta_shared_to_generic(address);
#else
    return *(const T *)((const char *)simt_dynamic_shared() + (address - 1024));
#endif
}

#endif
