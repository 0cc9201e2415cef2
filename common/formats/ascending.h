/*
 * ascending.h - whether a matrix is as most producers of CSR write it.
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

#ifdef __cplusplus
}
#endif
#endif
