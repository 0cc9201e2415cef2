/*
 * warp.h - barriers and the functions in which the lanes of a warp exchange values.
 *
 * Every *_sync function waits until all lanes of `mask` that have not exited call the same function
 * with the same mask; common/simt/warp.cc does the waiting and reports callers that break a rule.
 */
#ifndef SIMT_WARP_H
#define SIMT_WARP_H

#include "simt/base.h"

enum simt_collective {
    SIMT_SHFL,
    SIMT_SHFL_UP,
    SIMT_SHFL_DOWN,
    SIMT_SHFL_XOR,
    SIMT_BALLOT,
    SIMT_ANY,
    SIMT_ALL,
    SIMT_MATCH_ANY,
    SIMT_MATCH_ALL,
    SIMT_REDUCE_ADD,
    SIMT_REDUCE_MIN_UNSIGNED,
    SIMT_REDUCE_MIN_SIGNED,
    SIMT_REDUCE_MAX_UNSIGNED,
    SIMT_REDUCE_MAX_SIGNED,
    SIMT_REDUCE_AND,
    SIMT_REDUCE_OR,
    SIMT_REDUCE_XOR,
    SIMT_SYNCWARP,
    SIMT_COLLECTIVES
};

enum simt_barrier { SIMT_BARRIER, SIMT_BARRIER_COUNT, SIMT_BARRIER_AND, SIMT_BARRIER_OR };

extern "C" {
uint64_t simt_shuffle(uint32_t mask, uint64_t value, int operand, int width,
                      enum simt_collective how);
uint64_t simt_vote(uint32_t mask, uint64_t value, enum simt_collective how);
int simt_syncthreads(int predicate, enum simt_barrier how);
unsigned simt_activemask(void);
}

/* ---- the block's barrier ------------------------------------------------------------------- */

SIMT_INLINE void __syncthreads(void)
{
    simt_syncthreads(0, SIMT_BARRIER);
    SIMT_NOT_A_TAIL_CALL();
}
SIMT_INLINE int __syncthreads_count(int predicate)
{
    return simt_syncthreads(predicate, SIMT_BARRIER_COUNT);
}
SIMT_INLINE int __syncthreads_and(int predicate)
{
    return simt_syncthreads(predicate, SIMT_BARRIER_AND);
}
SIMT_INLINE int __syncthreads_or(int predicate)
{
    return simt_syncthreads(predicate, SIMT_BARRIER_OR);
}

/* ---- shuffles: any type of 1 to 8 bytes ---------------------------------------------------- */

template <class T> SIMT_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = 32)
{
    return simt_from_bits<T>(simt_shuffle(mask, simt_to_bits(value), source, width, SIMT_SHFL));
}
template <class T>
SIMT_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
    return simt_from_bits<T>(
        simt_shuffle(mask, simt_to_bits(value), (int)delta, width, SIMT_SHFL_UP));
}
template <class T>
SIMT_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32)
{
    return simt_from_bits<T>(
        simt_shuffle(mask, simt_to_bits(value), (int)delta, width, SIMT_SHFL_DOWN));
}
template <class T>
SIMT_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32)
{
    return simt_from_bits<T>(
        simt_shuffle(mask, simt_to_bits(value), lane_mask, width, SIMT_SHFL_XOR));
}

/* ---- votes, matches, reductions ------------------------------------------------------------ */

SIMT_INLINE void __syncwarp(unsigned mask = 0xffffffffu)
{
    simt_vote(mask, 0, SIMT_SYNCWARP);
    SIMT_NOT_A_TAIL_CALL();
}

/* Independent thread scheduling lets a GPU answer with any set of converged lanes. The smallest
 * legal answer is given here, the calling lane alone: code that hopes for more is wrong. */
SIMT_INLINE unsigned __activemask(void)
{
    return simt_activemask();
}

SIMT_INLINE unsigned __ballot_sync(unsigned mask, int predicate)
{
    return (unsigned)simt_vote(mask, predicate != 0, SIMT_BALLOT);
}
SIMT_INLINE int __any_sync(unsigned mask, int predicate)
{
    return (int)simt_vote(mask, predicate != 0, SIMT_ANY);
}
SIMT_INLINE int __all_sync(unsigned mask, int predicate)
{
    return (int)simt_vote(mask, predicate != 0, SIMT_ALL);
}

template <class T> SIMT_INLINE unsigned __match_any_sync(unsigned mask, T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "__match_any_sync compares 4 or 8 bytes");
    return (unsigned)simt_vote(mask, simt_to_bits(value), SIMT_MATCH_ANY);
}
template <class T> SIMT_INLINE unsigned __match_all_sync(unsigned mask, T value, int *all_equal)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "__match_all_sync compares 4 or 8 bytes");
    unsigned same = (unsigned)simt_vote(mask, simt_to_bits(value), SIMT_MATCH_ALL);
    *all_equal = same != 0;
    return same;
}

SIMT_INLINE unsigned __reduce_add_sync(unsigned mask, unsigned value)
{
    return (unsigned)simt_vote(mask, value, SIMT_REDUCE_ADD);
}
SIMT_INLINE int __reduce_add_sync(unsigned mask, int value)
{
    return (int)simt_vote(mask, (unsigned)value, SIMT_REDUCE_ADD);
}
SIMT_INLINE unsigned __reduce_min_sync(unsigned mask, unsigned value)
{
    return (unsigned)simt_vote(mask, value, SIMT_REDUCE_MIN_UNSIGNED);
}
SIMT_INLINE int __reduce_min_sync(unsigned mask, int value)
{
    return (int)simt_vote(mask, (unsigned)value, SIMT_REDUCE_MIN_SIGNED);
}
SIMT_INLINE unsigned __reduce_max_sync(unsigned mask, unsigned value)
{
    return (unsigned)simt_vote(mask, value, SIMT_REDUCE_MAX_UNSIGNED);
}
SIMT_INLINE int __reduce_max_sync(unsigned mask, int value)
{
    return (int)simt_vote(mask, (unsigned)value, SIMT_REDUCE_MAX_SIGNED);
}
SIMT_INLINE unsigned __reduce_and_sync(unsigned mask, unsigned value)
{
    return (unsigned)simt_vote(mask, value, SIMT_REDUCE_AND);
}
SIMT_INLINE unsigned __reduce_or_sync(unsigned mask, unsigned value)
{
    return (unsigned)simt_vote(mask, value, SIMT_REDUCE_OR);
}
SIMT_INLINE unsigned __reduce_xor_sync(unsigned mask, unsigned value)
{
    return (unsigned)simt_vote(mask, value, SIMT_REDUCE_XOR);
}

#endif
