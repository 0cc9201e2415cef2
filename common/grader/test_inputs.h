/*
 * test_inputs.h - what a submission is tried on: matrices that nobody has seen before.
 */
#ifndef GRADER_TEST_INPUTS_H
#define GRADER_TEST_INPUTS_H

#include "matrix/csr.h"

#include <stdint.h>

/* A matrix with values from the secret. `spec` is a generator: its seed comes from the secret, and its
 * rows, its columns and the nonzeros of each row are permuted. Or it is "shape:N" (matrix/shapes.h,
 * permuted as well), or a name or file as the labs take them (the pattern as it is). Behind "pattern:" the
 * matrix has no values, for operations that take one without. The caller frees it. */
enum status test_input_make(const char *spec, uint64_t secret, csr_matrix *A, error_text *error);

/* `spec` behind its "pattern:", if it has that. */
const char *test_input_matrix(const char *spec);

/* Returns the name that people use: the name of a shape, else `spec`. */
const char *test_input_name(const char *spec);

/* 64 bits from the system. */
uint64_t test_input_secret(void);

#endif
