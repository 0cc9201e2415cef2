/*
 * gather.h - the product by gathering rows of B, pass after pass.
 */
#ifndef LAB20_GATHER_H
#define LAB20_GATHER_H

#include "passes.h"

/* Lanes of a group for slices of `width` columns (16, 32, 64), and how many slices C has: 64 needs N
 * divisible by 64, 16 needs N divisible by 4; *width becomes what is possible. */
void gather_fit(int N, int *width, int *lanes, int *slices);

/* Enqueues C = A B. passes->shape has the lanes and slices that gather_fit said for width and N. */
cudaError_t gather_run(const passes_plan *passes, int N, int width, const float *B, float *C,
                       cudaStream_t stream);

#endif
