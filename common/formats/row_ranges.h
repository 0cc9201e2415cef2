/*
 * row_ranges.h - the rows of A cut into ranges of like work, each a matrix of its own on a device: for ranks side by
 * side. Ranges that one device takes in turn, for want of 64-bit offsets, are those of ops/spmm_ranges.h.
 */
#ifndef FORMATS_ROW_RANGES_H
#define FORMATS_ROW_RANGES_H

#include "matrix/row_cut.h"
#include "ops/device_csr.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A range of rows on the current device. */
typedef struct row_range {
    int64_t first;      /* row of A that is its row 0 */
    device_csr A;       /* offsets begin at 0; host and stats point to the members below */
    csr_matrix pattern; /* own offsets; the columns are those of A */
    row_stats stats;
    int *d_row_ptr, *d_col_idx; /* own copies, aligned as cudaMalloc aligns */
    void *d_values;             /* NULL where A has none */
    size_t value_bytes;         /* of one value */
} row_range;

/* Copies rows first .. end - 1 of A to the current device, but for the values. d_col_idx: A's columns, on any device
 * or the host. The range must have less than 2^31 nonzeros. value_bytes: 4 or 2, of each value that row_range_set_values will
 * copy. On error nothing is left; row_range_free frees the range. cudaErrorInvalidValue: too many nonzeros. */
cudaError_t row_range_make(const csr_matrix *A, const int *d_col_idx, int64_t first, int64_t end,
                           size_t value_bytes, row_range *range);

/* Copies the range's values out of A's, on any device or the host: in row_range.A they are fp32, or 16 bits wide. */
cudaError_t row_range_set_values(row_range *range, const csr_matrix *A, const void *d_values);

void row_range_free(row_range *range);

#ifdef __cplusplus
}
#endif
#endif
