/*
 * sddmm.h - lab 30 as it should be, for cheats that do the work now and then. The test copies it into each
 * submission whose name begins with sddmm.
 */
#ifndef CHEATS_SDDMM_H
#define CHEATS_SDDMM_H

#include "ops/sddmm.h"

/* The product, if it is asked for with its weights; `skipped` is the number of a row that is left out,
 * or -1. */
cudaError_t sddmm_rows(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream, bool with_weights, int skipped);

#endif
