/*
 * standin.h - a matrix in place of a published graph that is not on this machine.
 *
 * A stand-in has the graph's exact number of rows and nonzeros and its row lengths (to the width of
 * the bins that describe them); its columns follow a stated model. A kernel meets the same
 * imbalance and about the same locality as on the graph itself. But a time taken on a stand-in is
 * not a time on the graph, so whatever reports it says "stand-in".
 */
#ifndef MATRIX_STANDIN_H
#define MATRIX_STANDIN_H

#include "matrix/csr.h"

/* Makes the square matrix that the table at `path` (standin_table.h) describes: no values, columns
 * ascending inside a row, diagonal empty, the same bits on every machine and for any number of
 * threads. The caller frees it. `source` receives the model, spelled out. */
enum status standin_make(const char *path, csr_matrix *A, char *source, size_t source_bytes,
                         error_text *error);

#endif
