/*
 * device_csr.h - a CSR matrix on the device, as contenders of every operation get it.
 */
#ifndef OPS_DEVICE_CSR_H
#define OPS_DEVICE_CSR_H

#include "matrix/csr.h"
#include "matrix/stats.h"

/* Row offsets are 32-bit here. Of a matrix with more nonzeros than int holds, SpMM makes one of each range of rows
 * (spmm_ranges.h); other operations refuse it. The arrays are cudaMalloc'ed, hence 256-byte aligned, and must not be
 * written. */
typedef struct device_csr {
    int rows, cols, nnz;
    const int *d_row_ptr;   /* rows + 1 */
    const int *d_col_idx;   /* nnz */
    const float *d_values;  /* nnz; NULL in a 16-bit precision, which has ... */
    const void *d_values16; /* ... these: __half or __nv_bfloat16; NULL in fp32. Both are NULL where
                               the operation has no values: all of them count as 1 */
    const csr_matrix *host; /* its pattern in host memory, for a prepare that runs there */
    const row_stats *stats;
} device_csr;

#endif
