/*
 * memory.h - loads and stores with cache hints, fences, address spaces, clocks.
 *
 * There is no GPU cache to hint at: a hinted access is a plain one.
 */
#ifndef SIMT_MEMORY_H
#define SIMT_MEMORY_H

#include <stddef.h>
#include <type_traits>

#include "simt/base.h"

enum simt_scope { SIMT_SCOPE_BLOCK, SIMT_SCOPE_DEVICE, SIMT_SCOPE_SYSTEM };

extern "C" {
void simt_fence(enum simt_scope scope);
/* Lets the other threads of the block run before the caller goes on. */
void simt_yield(void);
/* 16 bytes that another thread writes or reads meanwhile: who finds the first eight as they are written
 * finds all so. Nothing is said of other memory. */
void simt_load_relaxed(const void *from, uint64_t to[2]);
void simt_store_relaxed(void *to, const uint64_t from[2]);
/* Reports __trap() and does not return. */
__attribute__((noreturn)) void simt_trap(void);
/* The multiprocessor that would run this block if blocks were dealt out in order. */
unsigned simt_sm_id(void);
long long simt_nanoseconds(void);
}

#define SIMT_HINTED_LOAD(NAME)                              \
    template <class T> SIMT_INLINE T NAME(const T *address) \
    {                                                       \
        return *address;                                    \
    }
SIMT_HINTED_LOAD(__ldg)
SIMT_HINTED_LOAD(__ldca)
SIMT_HINTED_LOAD(__ldcg)
SIMT_HINTED_LOAD(__ldcs)
SIMT_HINTED_LOAD(__ldlu)
SIMT_HINTED_LOAD(__ldcv)

#define SIMT_HINTED_STORE(NAME)                                                         \
    template <class T> SIMT_INLINE void NAME(T *address, std::type_identity_t<T> value) \
    {                                                                                   \
        *address = value;                                                               \
    }
SIMT_HINTED_STORE(__stwb)
SIMT_HINTED_STORE(__stcg)
SIMT_HINTED_STORE(__stcs)
SIMT_HINTED_STORE(__stwt)

SIMT_INLINE void __threadfence_block(void)
{
    simt_fence(SIMT_SCOPE_BLOCK);
}
SIMT_INLINE void __threadfence(void)
{
    simt_fence(SIMT_SCOPE_DEVICE);
}
SIMT_INLINE void __threadfence_system(void)
{
    simt_fence(SIMT_SCOPE_SYSTEM);
}

SIMT_INLINE void __nanosleep(unsigned)
{
    simt_yield();
}
[[noreturn]] SIMT_INLINE void __trap(void)
{
    simt_trap();
}
SIMT_INLINE void __brkpt(void) {}

/* One address space: an address of shared memory is the pointer to it. */
SIMT_INLINE size_t __cvta_generic_to_shared(const void *pointer)
{
    return (size_t)pointer;
}
SIMT_INLINE size_t __cvta_generic_to_global(const void *pointer)
{
    return (size_t)pointer;
}

/* clock() is the C library's. Both count time of this machine, not cycles of a GPU. */
SIMT_INLINE long long clock64(void)
{
    return simt_nanoseconds();
}

#endif
