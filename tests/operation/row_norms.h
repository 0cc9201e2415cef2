/*
 * row_norms.h - the length of each row of a sparse matrix, and the row divided by it, in fp32.
 *
 *   norm[i] = sqrt(sum over the nonzeros z of row i of A[z]^2)      unit[z] = A[z] / norm[row of z]
 *
 * unit is 0 where the norm is. An operation for tests/cli/operation.bats: two outputs, one dense and one on the
 * pattern of A, and a width that nothing depends on.
 */
#ifndef OPS_ROW_NORMS_H
#define OPS_ROW_NORMS_H

#include "ops/device_csr.h"
#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct row_norms_plan {
    device_csr A;
    int N; /* a width that nothing depends on */
    const struct row_norms_contender *contender;
} row_norms_plan;

typedef struct row_norms_contender {
    contender base;
    cudaError_t (*run)(const row_norms_plan *plan, float *norm, float *unit, cudaStream_t stream);
} row_norms_contender;

extern const operation row_norms_operation;

#define ROW_NORMS_REGISTER(lab) CONTENDER_REGISTER(lab, row_norms_operation)

#ifdef __cplusplus
}
#endif
#endif
