/*
 * wide_vectors.h - functions that are compiled for several widths of vectors, of which the processor takes the widest.
 */
#ifndef OPS_WIDE_VECTORS_H
#define OPS_WIDE_VECTORS_H

#include <stdint.h> /* defines __GLIBC__, where it is that */

/* Stands before a function whose loops take long: oracles, first of all. Code for every x86 has vectors of two doubles;
 * most machines have four or eight. What it calls takes part if it is WIDE_INLINE. The loader makes the choice, which
 * wants glibc, and which the instruments of -fsanitize do not survive. Results are the same but for the order of
 * `omp simd reduction`. */
#if defined __x86_64__ && defined __GLIBC__ && defined __OPTIMIZE__ && \
    !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__ && !defined __clang__
#define WIDE_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE_VECTORS
#endif

/* Stands before functions that such a one calls in its loops. */
#define WIDE_INLINE static inline __attribute__((always_inline))

#endif
