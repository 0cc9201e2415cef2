/*
 * tca_bme_repeats.h - what CSR names again, on the GPU: found, and set apart.
 */
#ifndef FORMATS_TCA_BME_REPEATS_H
#define FORMATS_TCA_BME_REPEATS_H

#include "formats/tca_bme.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counts repeats: among A's first k nonzeros (*d_before)[k] name an element that an earlier one has named; k = 0 .. nnz.
 * The caller frees it, on error too. */
cudaError_t tca_bme_find_repeats(const spmm_matrix *A, int **d_before);

/* Fills m's repeats with those. */
cudaError_t tca_bme_take_repeats(const spmm_matrix *A, const int *d_before, tca_bme *m);

#ifdef __cplusplus
}
#endif
#endif
