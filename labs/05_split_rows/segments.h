/*
 * segments.h - cutting long rows into segments of at most `split` nonzeros.
 *
 * The first segment of a row needs no list: it starts where the row starts. The list has the later
 * segments, which only rows longer than `split` have, in order of rows.
 */
#ifndef LAB5_SEGMENTS_H
#define LAB5_SEGMENTS_H

#include "ops/spmm.h"

typedef struct segment_list {
    int count;
    int *d_row;   /* the row a segment belongs to */
    int *d_start; /* its first nonzero; it ends `split` nonzeros on, or with its row */
} segment_list;

/* Counts the later segments of a row: ceil(length / split) - 1, and 0 for an empty row. */
__host__ __device__ inline int later_segments_of_row(int length, int split)
{
    return length > split ? (length - 1) / split : 0;
}

/* Both list the later segments of all rows in device arrays, in the same order; segment_list_free
 * frees them. split >= 1. On error *later is empty. The first works on the device (count, scan,
 * fill), the second on the host. */
cudaError_t segment_list_build_on_gpu(const spmm_matrix *A, int split, segment_list *later);
cudaError_t segment_list_build_on_host(const spmm_matrix *A, int split, segment_list *later);
void segment_list_free(segment_list *later);

#endif
