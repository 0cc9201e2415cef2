/*
 * atomics.cc - atomic functions: real ones, since several blocks run at once. As in CUDA they order
 * nothing else (relaxed).
 */
#include "simt/simt.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* The address an atomic was called with, and where. */
struct target {
    void *address;
    const void *site;
};

/* It must be a multiple of the operand's size, as for any access. */
template <class T> static inline T *aligned(target where)
{
    if (__builtin_expect((uintptr_t)where.address % sizeof(T), 0))
        simt_fail(cudaErrorMisalignedAddress, where.site,
                  "misaligned atomic: address %p is not a multiple of %zu", where.address,
                  sizeof(T));
    return (T *)where.address;
}

/* Replaces the value at `where` by change(old) and returns the old one. */
template <class T, class Change> static inline uint64_t update(target where, Change change)
{
    T *p = aligned<T>(where);
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &old, (T)change(old), true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
    }
    return old;
}

/* The same for numbers that have no integer atomics: `Bits` is the integer of T's size. */
template <class T, class Bits, class Change>
static inline uint64_t update_number(target where, Change change)
{
    return update<Bits>(
        where, [&](Bits old) { return (Bits)simt_to_bits(change(simt_from_bits<T>(old))); });
}

template <class T> static inline uint64_t add(target where, T value)
{
    return __atomic_fetch_add(aligned<T>(where), value, __ATOMIC_RELAXED);
}
template <class T> static inline uint64_t exchange(target where, T value)
{
    return __atomic_exchange_n(aligned<T>(where), value, __ATOMIC_RELAXED);
}
template <class T> static inline uint64_t compare_and_swap(target where, T compare, T value)
{
    __atomic_compare_exchange_n(aligned<T>(where), &compare, value, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    return compare;
}
template <class T, class Bits> static inline uint64_t minimum(target where, T value)
{
    return update<Bits>(where, [=](Bits old) { return (T)old < value ? (T)old : value; });
}
template <class T, class Bits> static inline uint64_t maximum(target where, T value)
{
    return update<Bits>(where, [=](Bits old) { return (T)old > value ? (T)old : value; });
}

static uint64_t perform(target p, uint64_t v, uint64_t compare, simt_atomic_op op)
{
    switch (op) {
    case SIMT_ADD_U32:
        return add(p, (uint32_t)v);
    case SIMT_ADD_U64:
        return add(p, v);
    case SIMT_ADD_F32:
        return update_number<float, uint32_t>(
            p, [=](float a) { return a + simt_from_bits<float>(v); });
    case SIMT_ADD_F64:
        return update_number<double, uint64_t>(
            p, [=](double a) { return a + simt_from_bits<double>(v); });
    case SIMT_ADD_F16:
        return update_number<__half, uint16_t>(
            p, [=](__half a) { return a + simt_from_bits<__half>(v); });
    case SIMT_ADD_F16X2:
        return update_number<__half2, uint32_t>(
            p, [=](__half2 a) { return a + simt_from_bits<__half2>(v); });
    case SIMT_ADD_BF16:
        return update_number<__nv_bfloat16, uint16_t>(
            p, [=](__nv_bfloat16 a) { return a + simt_from_bits<__nv_bfloat16>(v); });
    case SIMT_ADD_BF16X2:
        return update_number<__nv_bfloat162, uint32_t>(
            p, [=](__nv_bfloat162 a) { return a + simt_from_bits<__nv_bfloat162>(v); });
    case SIMT_EXCH_32:
        return exchange(p, (uint32_t)v);
    case SIMT_EXCH_64:
        return exchange(p, v);
    case SIMT_CAS_16:
        return compare_and_swap(p, (uint16_t)compare, (uint16_t)v);
    case SIMT_CAS_32:
        return compare_and_swap(p, (uint32_t)compare, (uint32_t)v);
    case SIMT_CAS_64:
        return compare_and_swap(p, compare, v);
    case SIMT_MIN_U32:
        return minimum<uint32_t, uint32_t>(p, (uint32_t)v);
    case SIMT_MIN_U64:
        return minimum<uint64_t, uint64_t>(p, v);
    case SIMT_MIN_S32:
        return minimum<int32_t, uint32_t>(p, (int32_t)v);
    case SIMT_MIN_S64:
        return minimum<int64_t, uint64_t>(p, (int64_t)v);
    case SIMT_MAX_U32:
        return maximum<uint32_t, uint32_t>(p, (uint32_t)v);
    case SIMT_MAX_U64:
        return maximum<uint64_t, uint64_t>(p, v);
    case SIMT_MAX_S32:
        return maximum<int32_t, uint32_t>(p, (int32_t)v);
    case SIMT_MAX_S64:
        return maximum<int64_t, uint64_t>(p, (int64_t)v);
    case SIMT_AND_32:
        return __atomic_fetch_and(aligned<uint32_t>(p), (uint32_t)v, __ATOMIC_RELAXED);
    case SIMT_AND_64:
        return __atomic_fetch_and(aligned<uint64_t>(p), v, __ATOMIC_RELAXED);
    case SIMT_OR_32:
        return __atomic_fetch_or(aligned<uint32_t>(p), (uint32_t)v, __ATOMIC_RELAXED);
    case SIMT_OR_64:
        return __atomic_fetch_or(aligned<uint64_t>(p), v, __ATOMIC_RELAXED);
    case SIMT_XOR_32:
        return __atomic_fetch_xor(aligned<uint32_t>(p), (uint32_t)v, __ATOMIC_RELAXED);
    case SIMT_XOR_64:
        return __atomic_fetch_xor(aligned<uint64_t>(p), v, __ATOMIC_RELAXED);
    case SIMT_INC_U32:
        return update<uint32_t>(p, [=](uint32_t old) { return old >= v ? 0 : old + 1; });
    case SIMT_DEC_U32:
        return update<uint32_t>(
            p, [=](uint32_t old) { return old == 0 || old > v ? (uint32_t)v : old - 1; });
    }
    __builtin_unreachable();
}

/* Independent thread scheduling promises progress to every thread, even to the one that holds the
 * lock another lane of its warp spins on. A lane that has done this many atomics and fences without
 * waiting once may be spinning: the others get a turn. */
static const unsigned PATIENCE = 256;

static inline void maybe_spinning(void)
{
    if (__builtin_expect(++simt_worker->atomics_since_switch >= PATIENCE, 0)) simt_yield();
}

uint64_t simt_atomic_at(void *address, uint64_t operand, uint64_t compare, simt_atomic_op op,
                        const void *site)
{
    maybe_spinning();
    return perform({address, site}, operand, compare, op);
}

extern "C" uint64_t simt_atomic(void *address, uint64_t operand, uint64_t compare,
                                simt_atomic_op op)
{
    return simt_atomic_at(address, operand, compare, op, SIMT_CALLER);
}

extern "C" void simt_load_relaxed(const void *from, uint64_t to[2])
{
    to[0] = __atomic_load_n((const uint64_t *)from, __ATOMIC_ACQUIRE);
    to[1] = __atomic_load_n((const uint64_t *)from + 1, __ATOMIC_RELAXED);
}

extern "C" void simt_store_relaxed(void *to, const uint64_t from[2])
{
    __atomic_store_n((uint64_t *)to + 1, from[1], __ATOMIC_RELAXED);
    __atomic_store_n((uint64_t *)to, from[0], __ATOMIC_RELEASE);
}

extern "C" void simt_fence(simt_scope scope)
{
    maybe_spinning();
    if (scope == SIMT_SCOPE_BLOCK)
        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a block lives on one OS thread */
    else
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
