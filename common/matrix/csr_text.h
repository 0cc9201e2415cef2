/*
 * csr_text.h - CSR arrays written out as text: the body of DLMC's .smtx and of the lab's .graph.
 */
#ifndef MATRIX_CSR_TEXT_H
#define MATRIX_CSR_TEXT_H

#include "matrix/csr.h"
#include "matrix/text.h"

/* Reads rows + 1 row offsets and nnz column indices, from 0, separated by blanks or line ends, and
 * requires that nothing follows. Offsets are checked as they come; columns are left to
 * csr_validate, which can name their row. The arrays are allocated when the file is large enough to
 * hold what is promised. On success the caller frees *A (a pattern). */
enum status csr_text_read(text_input *in, int64_t rows, int64_t cols, int64_t nnz, csr_matrix *A,
                          error_text *error);

#endif
