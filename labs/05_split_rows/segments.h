/*
 * segments.h - cutting long rows into segments of at most `split` nonzeros.
 *
 * The first segment of every row, its head, needs no list: it starts where the row starts. What is
 * listed are the tails: the further segments of rows longer than `split`, in order of rows.
 */
#ifndef LAB5_SEGMENTS_H
#define LAB5_SEGMENTS_H

#include "ops/spmm.h"

typedef struct tail_list {
    int count;
    int *d_row;   /* the row a tail belongs to */
    int *d_start; /* its first nonzero; it ends `split` nonzeros on, or with its row */
} tail_list;

/* Tails of a row of `length` nonzeros: ceil(length / split) - 1, and 0 for an empty row. */
__host__ __device__ inline int tails_of_row(int length, int split)
{
    return length > split ? (length - 1) / split : 0;
}

/* Both fill *tails with device arrays, in the same order, to be freed with tails_free. split >= 1.
 * The first works on the device (count, scan, fill), the second on the host. */
cudaError_t tails_build_on_gpu(const spmm_matrix *A, int split, tail_list *tails);
cudaError_t tails_build_on_host(const spmm_matrix *A, int split, tail_list *tails);
void tails_free(tail_list *tails);

#endif
