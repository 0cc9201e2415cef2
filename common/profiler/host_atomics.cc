/*
 * host_atomics.cc - -fsanitize=thread also turns the host code's atomics (std::atomic, __atomic_*)
 * of a traced file into calls. They do what they did.
 */
#include <stdint.h>

#define ATOMICS(BITS)                                                                           \
    uint##BITS##_t __tsan_atomic##BITS##_load(const volatile uint##BITS##_t *p, int)            \
    {                                                                                           \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                            \
    }                                                                                           \
    void __tsan_atomic##BITS##_store(volatile uint##BITS##_t *p, uint##BITS##_t v, int)         \
    {                                                                                           \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                               \
    }                                                                                           \
    uint##BITS##_t __tsan_atomic##BITS##_exchange(volatile uint##BITS##_t *p, uint##BITS##_t v, \
                                                  int)                                          \
    {                                                                                           \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                     \
    }                                                                                           \
    int __tsan_atomic##BITS##_compare_exchange_strong(                                          \
        volatile uint##BITS##_t *p, uint##BITS##_t *expected, uint##BITS##_t v, int, int)       \
    {                                                                                           \
        return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST,             \
                                           __ATOMIC_SEQ_CST);                                   \
    }                                                                                           \
    int __tsan_atomic##BITS##_compare_exchange_weak(                                            \
        volatile uint##BITS##_t *p, uint##BITS##_t *expected, uint##BITS##_t v, int, int)       \
    {                                                                                           \
        return __atomic_compare_exchange_n(p, expected, v, true, __ATOMIC_SEQ_CST,              \
                                           __ATOMIC_SEQ_CST);                                   \
    }                                                                                           \
    FETCH(BITS, add)                                                                            \
    FETCH(BITS, sub) FETCH(BITS, and) FETCH(BITS, or) FETCH(BITS, xor) FETCH(BITS, nand)

#define FETCH(BITS, OPERATION)                                                         \
    uint##BITS##_t __tsan_atomic##BITS##_fetch_##OPERATION(volatile uint##BITS##_t *p, \
                                                           uint##BITS##_t v, int)      \
    {                                                                                  \
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
