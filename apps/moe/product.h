/*
 * product.h - products of rows with the weights of their experts: out[r] = rows[r] W[expert of r], on tensor cores.
 *
 * With the rows of tokens and W1 this is sdd: a dense left operand, all W1 side by side, and a result of which only blocks
 * of the layout are made. With hidden rows and W2 it is dsd: a block-sparse left operand, all W2 above each other, and a dense
 * result. Both walk the same list of tiles, which lies on the device (arrange.h): the grid does not depend on it.
 */
#ifndef MOE_PRODUCT_H
#define MOE_PRODUCT_H

#include "arrange.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays on the device, fp16, without gaps. Sums are fp32, rounded once. */
typedef struct product {
    const void *rows;     /* [most_rows][deep] */
    const void *W;        /* [experts][deep][outs] */
    void *out;            /* [most_rows][outs]; rows of no tile stay as they are */
    const row_tile *tile; /* [*tiles], at least one where any row is */
    const int *tiles;
    int64_t most_rows;
    int experts, deep, outs; /* deep, outs: multiples of FEATURE_STEP */
    bool relu;               /* out = max(0, .) */
} product;

/* Two kernels: mma.sync runs from compute capability 8.0 on, wgmma on 9.0 alone. */
enum product_kernel { PRODUCT_MMA, PRODUCT_WGMMA };

/* Whether the device and this program have the kernel. */
bool product_runs_here(enum product_kernel which);

/* Enqueues one product on `stream`. */
cudaError_t product_run(enum product_kernel which, const product *p, cudaStream_t stream);

/* The two, which product_run chooses from. */
cudaError_t product_run_mma(const product *p, cudaStream_t stream);
cudaError_t product_run_wgmma(const product *p, cudaStream_t stream);
bool product_wgmma_is_built(void);

#ifdef __cplusplus
}
#endif
#endif
