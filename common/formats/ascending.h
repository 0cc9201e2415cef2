/*
 * ascending.h - whether a matrix is as most producers of CSR write it, and what order would make it so.
 */
#ifndef FORMATS_ASCENDING_H
#define FORMATS_ASCENDING_H

#include "ops/device_csr.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *ascend: every row of A names its columns in ascending order, and each once. Asks the device, and waits
 * for it. */
cudaError_t columns_ascend(const device_csr *A, bool *ascend);

/* The same of a pattern in host memory. */
bool columns_ascend_on_host(const csr_matrix *A);

/* Numbers the nonzeros by row, and in a row by column; of one column, as they come. (*d_order)[number] is a
 * nonzero's place in CSR, (*d_columns)[number] its column; the caller frees both with cudaFree. Both are NULL where
 * the number is the place, since columns ascend. Waits for the device. On error nothing is left allocated. */
cudaError_t nonzeros_sort_columns(const device_csr *A, int **d_order, int **d_columns);

#ifdef __cplusplus
}
#endif
#endif
