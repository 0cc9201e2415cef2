/*
 * row_panels.h - panels of neighbouring rows. A column that all rows of a panel name is stored once. So a kernel that takes
 * a panel loads what such a column names once for all rows.
 *
 *   list 0            columns of all rows of the panel
 *   list 1 + i        other columns of the panel's row i
 *
 * Lists of a panel follow each other, and so do panels; columns of a list do not descend. A column that rows name again and
 * again is common as often as all of them name it. Example of two rows:
 *
 *   row 0   2 3 4 7           list 0   3 4
 *   row 1   1 3 4             list 1   2 7        list 2   1
 */
#ifndef FORMATS_ROW_PANELS_H
#define FORMATS_ROW_PANELS_H

#include "ops/device_csr.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The format. Its arrays lie on the device. */
typedef struct row_panels {
    int rows; /* of a panel; the last panel may have fewer, and has no common columns then */
    /* Row p has the lists of panel p, one after the other. Without values and host; of stats `max` alone is there, as
     * an upper bound. */
    device_csr P;
    int *d_list; /* list k of panel p begins at number (rows + 1) * p + k; one more is the end */
    row_stats stats; /* P's */
} row_panels;

/* Makes panels of 2 rows or more on the device, of a matrix of 1 row or more; A->stats need no more than `max`. P.nnz
 * tells how many columns are stored. The caller frees *panels. On error it is NULL and nothing is left allocated. */
cudaError_t row_panels_build(const device_csr *A, int rows, row_panels **panels);

/* Bytes of columns and lists: kernels read all of them once. */
size_t row_panels_bytes(const row_panels *panels);

void row_panels_free(row_panels *panels);

#ifdef __cplusplus
}
#endif
#endif
