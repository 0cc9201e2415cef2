/*
 * tensor_core.h - the arithmetic of a tensor core: what mma.cc and wgmma.cc have in common.
 */
#ifndef SIMT_TENSOR_CORE_H
#define SIMT_TENSOR_CORE_H

#include "simt/simt.h"

/* Counts the numbers that are widened, and the columns that are multiplied, at once: arrays have a multiple of them. */
enum { SIMT_WIDE = 8 };

/* Turns bits of the kind's inputs into numbers. Inputs of 16 bits lie in the lower half; the upper half is ignored. */
void simt_widen(simt_mma_kind kind, const uint32_t *bits, float *numbers, int count);

/* Adds A * B to D. A is rows x K, B is K x N, D is rows x N, all row-major. Each sum of D and of K products is made in double
 * and goes to fp32 towards zero. */
void simt_multiply(int rows, int N, int K, const float *A, const float *B, float *D);

#endif
