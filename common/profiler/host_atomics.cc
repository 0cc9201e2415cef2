/*
 * host_atomics.cc - -fsanitize=thread also turns the compiler's own atomics (std::atomic, __atomic_*,
 * __sync_*) of a traced file into calls. They do what they did; a kernel's are reported first. Their
 * order (acquire, release) is taken for none: the fences of CUDA C++ are what other code must see.
 */
#include "profiler/profiler.h"

#define BEFORE(BITS, HOW) hooks_compiler_atomic((const void *)p, BITS / 8, HOW, SIMT_CALLER)

#define ATOMICS(BITS)                                                                            \
    uint##BITS##_t __tsan_atomic##BITS##_load(const volatile uint##BITS##_t *p, int)             \
    {                                                                                            \
        BEFORE(BITS, ATOMIC_LOAD);                                                               \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                             \
    }                                                                                            \
    void __tsan_atomic##BITS##_store(volatile uint##BITS##_t *p, uint##BITS##_t v, int)          \
    {                                                                                            \
        BEFORE(BITS, ATOMIC_STORE);                                                              \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                \
    }                                                                                            \
    uint##BITS##_t __tsan_atomic##BITS##_exchange(volatile uint##BITS##_t *p, uint##BITS##_t v,  \
                                                  int)                                           \
    {                                                                                            \
        BEFORE(BITS, ATOMIC_UPDATE);                                                             \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                      \
    }                                                                                            \
    int __tsan_atomic##BITS##_compare_exchange_strong(                                           \
        volatile uint##BITS##_t *p, uint##BITS##_t *expected, uint##BITS##_t v, int, int)        \
    {                                                                                            \
        BEFORE(BITS, ATOMIC_UPDATE);                                                             \
        return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST,              \
                                           __ATOMIC_SEQ_CST);                                    \
    }                                                                                            \
    int __tsan_atomic##BITS##_compare_exchange_weak(                                             \
        volatile uint##BITS##_t *p, uint##BITS##_t *expected, uint##BITS##_t v, int, int)        \
    {                                                                                            \
        BEFORE(BITS, ATOMIC_UPDATE);                                                             \
        return __atomic_compare_exchange_n(p, expected, v, true, __ATOMIC_SEQ_CST,               \
                                           __ATOMIC_SEQ_CST);                                    \
    }                                                                                            \
    uint##BITS##_t __tsan_atomic##BITS##_compare_exchange_val(                                   \
        volatile uint##BITS##_t *p, uint##BITS##_t expected, uint##BITS##_t v, int, int)         \
    {                                                                                            \
        BEFORE(BITS, ATOMIC_UPDATE);                                                             \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        return expected;                                                                         \
    }                                                                                            \
    FETCH(BITS, add)                                                                             \
    FETCH(BITS, sub) FETCH(BITS, and) FETCH(BITS, or) FETCH(BITS, xor) FETCH(BITS, nand)

#define FETCH(BITS, OPERATION)                                                         \
    uint##BITS##_t __tsan_atomic##BITS##_fetch_##OPERATION(volatile uint##BITS##_t *p, \
                                                           uint##BITS##_t v, int)      \
    {                                                                                  \
        BEFORE(BITS, ATOMIC_UPDATE);                                                   \
        return __atomic_fetch_##OPERATION(p, v, __ATOMIC_SEQ_CST);                     \
    }

extern "C" {
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)
void __tsan_atomic_thread_fence(int)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
}
