/*
 * transposed_pattern.h - the columns of a pattern as rows: for products that go down the columns, again and
 * again, while the pattern stays.
 */
#ifndef FORMATS_TRANSPOSED_PATTERN_H
#define FORMATS_TRANSPOSED_PATTERN_H

#include "ops/device_csr.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The format. Its arrays lie on the device. */
typedef struct transposed_pattern {
    /* Row j has the rows of A that name column j, ascending; without values. T.host is NULL, and of T.stats only `max` is
     * there, before transposed_pattern_describe. */
    device_csr T;
    /* Says of each nonzero of T its place in A. Whoever owns the pattern may take it, and leave NULL. */
    int *d_place;
    /* Place in T of each nonzero of A; NULL before transposed_pattern_invert. */
    int *d_place_in_T;
    csr_matrix host;
    row_stats stats; /* T's */
} transposed_pattern;

/* Makes it on the device. Of nonzeros that A names twice the order stays. The caller frees *t. On error *t is
 * NULL and nothing is left allocated. */
cudaError_t transposed_pattern_build(const device_csr *A, transposed_pattern **t);

/* Adds all that contenders of a product ask of a matrix: T.host, a copy in host memory, and all of T.stats. On error *t
 * is what it was. */
cudaError_t transposed_pattern_describe(transposed_pattern *t);

/* Adds d_place_in_T: d_place and it are each other's inverse. */
cudaError_t transposed_pattern_invert(transposed_pattern *t);

/* Bytes of T, and of the places where `places` asks for them. */
size_t transposed_pattern_bytes(const transposed_pattern *t, bool places);

void transposed_pattern_free(transposed_pattern *t);

#ifdef __cplusplus
}
#endif
#endif
