/*
 * head_pattern.h - the pattern of several heads: one sparse matrix in place of H equal ones.
 *
 * Arrays of heads lie as [node][head][d], so a node's head is a row of d numbers of a matrix with rows * H rows. In
 * that view A with H heads is a pattern of rows * H rows and cols * H columns: row i * H + h has the columns j * H + h
 * of A's row i, in its order. A kernel for one head, given it, makes all heads in one launch, each row of d numbers
 * being a whole row of its operands. It costs 4 bytes a nonzero and head.
 *
 * Scores on it are in the order of softmax.h: the n scores of row i and head h begin at H * row_ptr[i] + h * n.
 */
#ifndef FORMATS_HEAD_PATTERN_H
#define FORMATS_HEAD_PATTERN_H

#include "ops/device_csr.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The pattern; A has no values. With one head it borrows the arrays it was built of. */
typedef struct head_pattern {
    device_csr A;
    csr_matrix host;
    row_stats stats;
    int *d_row_ptr, *d_col_idx; /* its own; NULL with one head */
} head_pattern;

/* Builds it on the host and uploads it; *out is NULL on failure. cudaErrorNotSupported: rows * heads, cols * heads or
 * nnz * heads is no int. */
cudaError_t head_pattern_build(const device_csr *A, int heads, head_pattern **out);

/* Bytes of device memory that it takes beside A. */
size_t head_pattern_bytes(const head_pattern *p);

void head_pattern_free(head_pattern *p);

#ifdef __cplusplus
}
#endif
#endif
