/*
 * atomics.h - atomic functions of the CUDA C++ programming guide. The _block and _system variants
 * are the device-wide ones: those are strong enough for both.
 *
 * Every atomic is one call of simt_atomic. So one place, common/simt/atomics.cc, sees a misaligned
 * address, a thread that spins and (in an instrumented build) the access itself.
 */
#ifndef SIMT_ATOMICS_H
#define SIMT_ATOMICS_H

#include "simt/base.h"

enum simt_atomic_op {
    SIMT_ADD_U32,
    SIMT_ADD_U64,
    SIMT_ADD_F32,
    SIMT_ADD_F64,
    SIMT_ADD_F16,
    SIMT_ADD_F16X2,
    SIMT_ADD_BF16,
    SIMT_ADD_BF16X2,
    SIMT_EXCH_32,
    SIMT_EXCH_64,
    SIMT_CAS_16,
    SIMT_CAS_32,
    SIMT_CAS_64,
    SIMT_MIN_U32,
    SIMT_MIN_U64,
    SIMT_MIN_S32,
    SIMT_MIN_S64,
    SIMT_MAX_U32,
    SIMT_MAX_U64,
    SIMT_MAX_S32,
    SIMT_MAX_S64,
    SIMT_AND_32,
    SIMT_AND_64,
    SIMT_OR_32,
    SIMT_OR_64,
    SIMT_XOR_32,
    SIMT_XOR_64,
    SIMT_INC_U32,
    SIMT_DEC_U32
};

/* Returns the old value. `compare` is for compare-and-swap only. */
extern "C" uint64_t simt_atomic(void *address, uint64_t operand, uint64_t compare,
                                enum simt_atomic_op op);

template <class T> SIMT_INLINE T simt_atomic_of(T *address, T operand, simt_atomic_op op)
{
    uint64_t old = simt_atomic(address, simt_to_bits(operand), 0, op);
    SIMT_NOT_A_TAIL_CALL();
    return simt_from_bits<T>(old);
}
template <class T>
SIMT_INLINE T simt_compare_and_swap(T *address, T compare, T value, simt_atomic_op op)
{
    uint64_t old = simt_atomic(address, simt_to_bits(value), simt_to_bits(compare), op);
    SIMT_NOT_A_TAIL_CALL();
    return simt_from_bits<T>(old);
}

#define SIMT_ATOMIC_SCOPE(NAME, T, OP)               \
    SIMT_INLINE T NAME(T *address, T operand)        \
    {                                                \
        return simt_atomic_of(address, operand, OP); \
    }
#define SIMT_ATOMIC(NAME, T, OP)           \
    SIMT_ATOMIC_SCOPE(NAME, T, OP)         \
    SIMT_ATOMIC_SCOPE(NAME##_block, T, OP) \
    SIMT_ATOMIC_SCOPE(NAME##_system, T, OP)

SIMT_ATOMIC(atomicAdd, int, SIMT_ADD_U32)
SIMT_ATOMIC(atomicAdd, unsigned, SIMT_ADD_U32)
SIMT_ATOMIC(atomicAdd, unsigned long long, SIMT_ADD_U64)
SIMT_ATOMIC(atomicAdd, float, SIMT_ADD_F32)
SIMT_ATOMIC(atomicAdd, double, SIMT_ADD_F64)

SIMT_ATOMIC(atomicExch, int, SIMT_EXCH_32)
SIMT_ATOMIC(atomicExch, unsigned, SIMT_EXCH_32)
SIMT_ATOMIC(atomicExch, float, SIMT_EXCH_32)
SIMT_ATOMIC(atomicExch, unsigned long long, SIMT_EXCH_64)

SIMT_ATOMIC(atomicMin, int, SIMT_MIN_S32)
SIMT_ATOMIC(atomicMin, unsigned, SIMT_MIN_U32)
SIMT_ATOMIC(atomicMin, long long, SIMT_MIN_S64)
SIMT_ATOMIC(atomicMin, unsigned long long, SIMT_MIN_U64)
SIMT_ATOMIC(atomicMax, int, SIMT_MAX_S32)
SIMT_ATOMIC(atomicMax, unsigned, SIMT_MAX_U32)
SIMT_ATOMIC(atomicMax, long long, SIMT_MAX_S64)
SIMT_ATOMIC(atomicMax, unsigned long long, SIMT_MAX_U64)

#define SIMT_ATOMIC_BITWISE(NAME, OP)     \
    SIMT_ATOMIC(NAME, int, OP##_32)       \
    SIMT_ATOMIC(NAME, unsigned, OP##_32)  \
    SIMT_ATOMIC(NAME, long long, OP##_64) \
    SIMT_ATOMIC(NAME, unsigned long long, OP##_64)
SIMT_ATOMIC_BITWISE(atomicAnd, SIMT_AND)
SIMT_ATOMIC_BITWISE(atomicOr, SIMT_OR)
SIMT_ATOMIC_BITWISE(atomicXor, SIMT_XOR)

/* old >= limit ? 0 : old + 1, and (old == 0 || old > limit) ? limit : old - 1 */
SIMT_ATOMIC(atomicInc, unsigned, SIMT_INC_U32)
SIMT_ATOMIC(atomicDec, unsigned, SIMT_DEC_U32)

#define SIMT_ATOMIC_SUB(NAME, ADD)                                    \
    SIMT_INLINE int NAME(int *address, int operand)                   \
    {                                                                 \
        return (int)ADD((unsigned *)address, 0u - (unsigned)operand); \
    }                                                                 \
    SIMT_INLINE unsigned NAME(unsigned *address, unsigned operand)    \
    {                                                                 \
        return ADD(address, 0u - operand);                            \
    }
SIMT_ATOMIC_SUB(atomicSub, atomicAdd)
SIMT_ATOMIC_SUB(atomicSub_block, atomicAdd_block)
SIMT_ATOMIC_SUB(atomicSub_system, atomicAdd_system)

#define SIMT_ATOMIC_CAS(NAME, T, OP)                               \
    SIMT_INLINE T NAME(T *address, T compare, T value)             \
    {                                                              \
        return simt_compare_and_swap(address, compare, value, OP); \
    }
#define SIMT_ATOMIC_CAS_TYPES(NAME)                    \
    SIMT_ATOMIC_CAS(NAME, unsigned short, SIMT_CAS_16) \
    SIMT_ATOMIC_CAS(NAME, int, SIMT_CAS_32)            \
    SIMT_ATOMIC_CAS(NAME, unsigned, SIMT_CAS_32)       \
    SIMT_ATOMIC_CAS(NAME, unsigned long long, SIMT_CAS_64)
SIMT_ATOMIC_CAS_TYPES(atomicCAS)
SIMT_ATOMIC_CAS_TYPES(atomicCAS_block)
SIMT_ATOMIC_CAS_TYPES(atomicCAS_system)

#endif
