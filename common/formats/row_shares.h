/*
 * row_shares.h - who works on which row, for kernels that walk whole rows of a pattern.
 *
 *   rows of ...              get
 *   more than `segment`      a warp for each segment: `segment` nonzeros, the last one fewer
 *   more than `short_row`    a warp
 *   fewer                    a group of lanes, empty rows too
 *
 * Shares come in this order, those of a kind by length, the longest first. So a launch ends with its
 * shortest work, and groups of one warp have rows alike.
 */
#ifndef FORMATS_ROW_SHARES_H
#define FORMATS_ROW_SHARES_H

#include "ops/device_csr.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A share of a row: nonzeros `first` .. end - 1, or the segment that begins there. */
typedef struct row_share {
    int row, first, end;
    int first_share;                      /* the share with which the row begins */
} __attribute__((aligned(16))) row_share; /* one load */

/* The format. Its array lies on the device. */
typedef struct row_shares {
    int segment;
    int count;    /* of all shares ... */
    int segments; /* ... of rows that are cut: the first ones ... */
    int warps;    /* ... of a warp each: the first ones, segments among them */
    row_share *d_share;
} row_shares;

/* Makes the shares of A's rows on the device. window > 0: rows are sorted by length inside each window of so many
 * neighbouring rows, and windows stay as they come. A->stats need no more than its `max`. The caller frees
 * *shares. On error *shares is NULL and nothing is left allocated. */
cudaError_t row_shares_build(const device_csr *A, int segment, int short_row, int window,
                             row_shares **shares);

/* Bytes of the format: kernels read all of it once. */
size_t row_shares_bytes(const row_shares *shares);

void row_shares_free(row_shares *shares);

#ifdef __cplusplus
}
#endif
#endif
