/*
 * generated.h - a matrix of a generator, for tests: valid, or the test fails.
 */
#ifndef TEST_GENERATED_H
#define TEST_GENERATED_H

#include "fixture.h"

#include "matrix/csr.h"
#include "matrix/generate.h"

/* The caller frees it. */
static inline csr_matrix made(const char *spec)
{
    csr_matrix A;
    char source[512];
    error_text error = {""};
    if (generate(spec, &A, source, sizeof source, &error) != STATUS_OK) fail_msg("%s", error.text);
    if (csr_validate(&A, spec, &error) != STATUS_OK) fail_msg("%s", error.text);
    return A;
}

#endif
