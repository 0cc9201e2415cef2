/*
 * block_forms.h - weights in blocks as the vendor's libraries want them: with zeros, by rows of blocks, or in lists of one
 * width. Element (i, j) of block b goes to place base[b] + i * row_step + j * col_step.
 */
#ifndef BASELINES_BLOCK_FORMS_H
#define BASELINES_BLOCK_FORMS_H

#include "ops/bsmm.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct block_form {
    size_t element; /* bytes of a number: 2 or 4 */
    int blocks, side;
    int64_t row_step, col_step;
    int64_t *d_base; /* of each block */
} block_form;

/* Where each block begins in the dense matrix of C rows and K columns. The caller frees d_base, on error too. */
cudaError_t block_form_dense(const block_layout *layout, int side, size_t element, block_form *f);

/* Copies all blocks to `to`, and back from `from`, enqueued on `stream`. Other places of `to` stay as they are. */
cudaError_t block_form_scatter(const block_form *f, const void *W, void *to, cudaStream_t stream);
cudaError_t block_form_gather(const block_form *f, const void *from, void *W, cudaStream_t stream);

/* A copy of `bytes` on the device, of one byte at least. The caller frees it. */
cudaError_t block_form_upload(const void *from, size_t bytes, void **d_to);

/* Why a dense contender cannot take a layout of blocks of that side; NULL: it can. */
const char *block_dense_unsuited(const problem *p, int side, bool gated);

#ifdef __cplusplus
}
#endif
#endif
