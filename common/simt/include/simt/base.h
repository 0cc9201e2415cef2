/*
 * base.h - what the headers of the device language share.
 */
#ifndef SIMT_BASE_H
#define SIMT_BASE_H

#include <stdint.h>
#include <string.h>

#include "simt/trace.h"

/* Inlined even without optimisation: a call into the backend then comes from the kernel itself, and
 * the address it returns to is that of the kernel's source line. */
#define SIMT_INLINE static inline __attribute__((always_inline))

/* After such a call, so that it is never a function's last act: the compiler would make that a
 * jump, and the backend would not know where it was called from. */
#define SIMT_NOT_A_TAIL_CALL() __asm__ volatile("" ::: "memory")

/* The bits of a value of 1 to 8 bytes, and back. */
template <class T> SIMT_INLINE uint64_t simt_to_bits(T value)
{
    static_assert(sizeof(T) <= 8, "at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T> SIMT_INLINE T simt_from_bits(uint64_t bits)
{
    T value;
    memcpy(static_cast<void *>(&value), &bits, sizeof value);
    return value;
}

#endif
