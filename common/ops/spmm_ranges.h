/*
 * spmm_ranges.h - A cut into ranges of rows, each small enough for the 32-bit offsets of device_csr: a plan of a contender
 * multiplies each, one after the other, into its rows of C.
 *
 * A matrix within the limit is one range, and nothing of it is copied. All ranges stay on the device; what does not fit
 * there is refused, with the number of devices that would hold it (harness/workbench.c).
 */
#ifndef OPS_SPMM_RANGES_H
#define OPS_SPMM_RANGES_H

#include "ops/operation.h"

typedef struct spmm_range {
    csr_matrix pattern; /* its rows, with offsets that begin at 0; col_idx points into A's */
    int64_t *offsets;   /* those, if they are its own; NULL: A's */
    row_stats stats;
    int32_t *row_ptr; /* the same offsets as the device takes them */
} spmm_range;

typedef struct spmm_ranges {
    int count;
    spmm_range range[MAX_ROW_RANGES];
} spmm_ranges;

/* Fills first[0 .. count]: range r has rows first[r] .. first[r + 1] - 1, as many as `most` nonzeros allow, and begins at
 * a multiple of `step` rows. Returns the count; 0 if `step` rows, of which *row is the first, have more than that; -1 if
 * more than MAX_ROW_RANGES are needed. row_ptr: rows + 1 offsets. O(count log rows). */
int spmm_ranges_fill(const int64_t *row_ptr, int64_t rows, int64_t most, int64_t step,
                     int64_t first[MAX_ROW_RANGES + 1], int64_t *row);

/* Cuts p->A and fills *ranges, p->num_ranges and p->range_first. Rows of C of a range begin at a multiple of 16 bytes, so that
 * kernels may store vectors there. STATUS_MEMORY: a row exceeds the limit, there are too many ranges, or no memory. On
 * failure nothing is left; spmm_ranges_free frees what there is. */
enum status spmm_ranges_make(problem *p, spmm_ranges *ranges, error_text *error);
void spmm_ranges_free(spmm_ranges *ranges);

/* Bytes that spmm_ranges_make takes of host memory for a matrix of so many rows and nonzeros. */
int64_t spmm_ranges_bytes(int64_t rows, int64_t nnz);

#endif
