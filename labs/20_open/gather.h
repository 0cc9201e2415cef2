/*
 * gather.h - the product by gathering rows of B, pass after pass.
 */
#ifndef LAB20_GATHER_H
#define LAB20_GATHER_H

#include "passes.h"

/* Lanes of a group for slices of `width` columns (16, 32, 64), and how many slices C has: 64 needs N
 * divisible by 64, 16 needs N divisible by 4; *width becomes what is possible. */
void gather_fit(int N, int *width, int *lanes, int *slices);

/* Whether passes may overlap: a GPU, and code made for one, of compute capability 9.0 or newer. */
cudaError_t gather_can_overlap(bool *can);

/* Enqueues C = A B. passes->shape has the lanes and slices that gather_fit said for width and N. overlap:
 * blocks of a pass begin while the pass before still runs. */
cudaError_t gather_run(const passes_plan *passes, int N, int width, bool overlap, const float *B,
                       float *C, cudaStream_t stream);

#endif
