/*
 * reduced_features.h - what cuBLAS lacks of block importance: features reduced by blocks, before its product, and what is not
 * finite counted as 0, after it. Plain kernels: a thread a number, and a warp a block of weights.
 */
#ifndef BASELINES_REDUCED_FEATURES_H
#define BASELINES_REDUCED_FEATURES_H

#include "ops/block_importance.h"

#ifdef __cplusplus
extern "C" {
#endif

/* R of `lines` blocks of features of all tokens, [tokens][lines] in the plan's precision, enqueued on `stream`. */
cudaError_t reduced_features(const block_importance_plan *plan, const void *x, int lines, void *R,
                             cudaStream_t stream);

/* norm[blocks] of the plan's weights. */
cudaError_t reduced_weights(const block_importance_plan *plan, const void *W, float *norm,
                            cudaStream_t stream);

/* x = x, or 0 where it is not finite, plus old, which may be NULL. */
cudaError_t finite_plus_old(float *x, const float *old, int64_t count, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
