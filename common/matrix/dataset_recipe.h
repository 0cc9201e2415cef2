/*
 * dataset_recipe.h - the steps from a published edge list to a dataset's matrix, as column `recipe`
 * of datasets/registry.tsv names them. datasets/convert applies them.
 */
#ifndef MATRIX_DATASET_RECIPE_H
#define MATRIX_DATASET_RECIPE_H

#include "matrix/csr.h"

typedef struct dataset_recipe {
    bool pattern;         /* forget the values */
    int64_t rows;         /* 0, or make it rows x rows: lists do not name isolated vertices */
    bool transpose;       /* rows become columns */
    bool add_reverse;     /* for every entry (i, j) also (j, i) */
    bool drop_self_loops; /* no entries (i, i) */
    bool coalesce;        /* entries of the same place become one, the sum of their values */
} dataset_recipe;

/* Applies the steps that are set, in the order above, to *A, which is replaced. Any step but the
 * first two leaves the columns ascending inside a row. STATUS_DATASET if A has more rows or columns
 * than asked for, or is not square where a step needs it; STATUS_MEMORY. On failure *A is still a
 * matrix, to be freed. Peak memory: twice the result. */
enum status dataset_recipe_apply(const dataset_recipe *recipe, csr_matrix *A, error_text *error);

#endif
