/*
 * sampled.h - what a user of a vendor's product adds to it to have an SDDMM: the weights, or the
 * elements of a dense product that the pattern names.
 */
#ifndef BASELINES_SAMPLED_H
#define BASELINES_SAMPLED_H

#include "ops/sddmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues D[z] *= W[z], in the precision of the plan. Without weights it enqueues nothing. */
cudaError_t sampled_weigh(const sddmm_plan *plan, void *D, cudaStream_t stream);

/* Enqueues D[z] = W[z] * product[row of z][column of z]. The product is rows x cols, row-major, in
 * the precision of the plan. */
cudaError_t sampled_pick(const sddmm_plan *plan, const void *product, void *D, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
