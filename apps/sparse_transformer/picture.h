/*
 * picture.h - a drawing of a mask: how full each square of it is.
 */
#ifndef SPARSE_TRANSFORMER_PICTURE_H
#define SPARSE_TRANSFORMER_PICTURE_H

#include "matrix/csr.h"

/* Writes a picture of square matrix A. It is a grey image (name.pgm, up to 512 x 512) or a drawing with a key
 * (name.svg, up to 48 x 48 squares). A square's shade says which share of its places are nonzeros, in steps of a factor
 * 2. STATUS_USAGE: another ending; STATUS_RUNTIME: the file cannot be written. */
enum status picture_write(const csr_matrix *A, const char *path, error_text *error);

#endif
