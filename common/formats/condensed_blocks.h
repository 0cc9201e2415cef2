/*
 * condensed_blocks.h - two rival formats of graphs for tensor cores, TC-GNN and ME-TCF (of DTC-SpMM), for comparison of their
 * bytes: nothing here multiplies.
 *
 * A window is 16 rows. Its distinct columns, in ascending order, are squeezed together, eight to a block: a block is 16
 * x 8, the left operand of an mma of tf32 numbers. A column of a window is then its rank among those.
 *
 *     TC-GNN   CSR, and for each nonzero its row and the rank of its column; for each window its blocks
 *     ME-TCF   nonzeros block by block: a byte for the place in the block (row * 8 + rank % 8), and the value; for each
 *              block its eight columns and where its nonzeros begin, for each window where its blocks begin
 *
 * Values are fp32, 1 where the matrix has none. On the host.
 *
 * Sources: Y. Wang et al., "TC-GNN", USENIX ATC 2023; R. Fan et al., "DTC-SpMM", ASPLOS 2024.
 */
#ifndef FORMATS_CONDENSED_BLOCKS_H
#define FORMATS_CONDENSED_BLOCKS_H

#include "matrix/csr.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CONDENSED_ROWS = 16, CONDENSED_COLUMNS = 8 };

/* All zero: none. */
typedef struct tc_gnn {
    int rows, cols, nnz;
    int windows;
    int *row_ptr;          /* rows + 1 */
    int *col_idx;          /* nnz, as the matrix has them */
    int *row, *rank;       /* nnz each */
    int *blocks_of_window; /* windows */
    float *values;         /* nnz */
} tc_gnn;

/* All zero: none. */
typedef struct me_tcf {
    int rows, cols, nnz;
    int windows, blocks;
    int *first_block; /* windows + 1 */
    int *begin;       /* blocks + 1: where a block's nonzeros begin */
    int *
        column; /* CONDENSED_COLUMNS of each block; the last block of a window repeats its last one */
    uint8_t *place; /* nnz */
    float *values;  /* nnz; of one place in the order of the matrix */
} me_tcf;

/* Encode A. STATUS_MEMORY, also where 32 bits do not count the nonzeros; then *m is all zero. */
enum status tc_gnn_encode(const csr_matrix *A, tc_gnn *m, error_text *error);
enum status me_tcf_encode(const csr_matrix *A, me_tcf *m, error_text *error);

/* The bytes of all arrays, exactly. */
int64_t tc_gnn_bytes(const tc_gnn *m);
int64_t me_tcf_bytes(const me_tcf *m);

void tc_gnn_free(tc_gnn *m);
void me_tcf_free(me_tcf *m);

#ifdef __cplusplus
}
#endif
#endif
