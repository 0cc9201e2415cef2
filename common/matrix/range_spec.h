/*
 * range_spec.h - "products@3/8": a range of a matrix's rows, behind the word that names the matrix.
 */
#ifndef MATRIX_RANGE_SPEC_H
#define MATRIX_RANGE_SPEC_H

#include "matrix/paths.h"
#include "matrix/status.h"

#include <stdbool.h>

enum { MOST_RANGES = 4096 };

/* A word, and which range of the rows it means. */
typedef struct range_spec {
    char whole[PATH_BYTES]; /* without "@3/8" */
    int range, ranges;      /* 3 of 8; 0 of 0: there is none */
    bool all;               /* "@all/8": each of them in turn */
} range_spec;

/* Takes "@3/8" or "@all/8" off the end of a word, where it has that. What is a file is that file, whatever its name. NULL has no
 * range. STATUS_DATASET: no such range. */
enum status range_spec_read(const char *spec, range_spec *r, error_text *error);

#endif
