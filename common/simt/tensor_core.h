/*
 * tensor_core.h - the arithmetic of a tensor core: what mma.cc and wgmma.cc have in common.
 */
#ifndef SIMT_TENSOR_CORE_H
#define SIMT_TENSOR_CORE_H

#include "simt/simt.h"

/* Numbers are widened by so many at a time, and columns are multiplied so: arrays have a multiple of them. */
enum { SIMT_WIDE = 8 };

/* The numbers that the kind's inputs stand for: their bits, of one of 16 bits the lower half. */
void simt_widen(simt_mma_kind kind, const uint32_t *bits, float *numbers, int count);

/* D += A * B, of so many rows, with N columns of B and D: rows lie one after the other. Each sum of D and of K products
 * is made in double and goes to fp32 towards zero. */
void simt_multiply(int rows, int N, int K, const float *A, const float *B, float *D);

#endif
