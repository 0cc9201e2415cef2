/*
 * dataset_search.h - where the file of a dataset may lie.
 */
#ifndef MATRIX_DATASET_SEARCH_H
#define MATRIX_DATASET_SEARCH_H

#include "matrix/paths.h"
#include "matrix/registry.h"

/* The folders in which registry names are looked for, in this order: the user's data_dir,
 * $SPMM_DATA_DIR, data/ beside the registry. */
typedef struct dataset_search {
    const char *folder[3];
    int count;
    char ours[PATH_BYTES];
} dataset_search;

/* `data_dir` may be NULL. It must outlive the search. A folder that the user named must exist
 * (STATUS_DATASET): a mistyped one would quietly give stand-ins. */
enum status dataset_search_begin(dataset_search *s, const char *data_dir, const registry *r,
                                 error_text *error);

/* Writes the path of the file of dataset `name` to `path`, whatever its format; false: there is
 * none. */
bool dataset_search_file(const dataset_search *s, const char *name, char path[PATH_BYTES]);

/* Whether `path` is for matrix_read to judge: anything that is there, or the base name of a
 * lab-format matrix. What cannot be looked at (forbidden, a loop of links) counts as there, so that
 * matrix_read says why. */
bool dataset_is_path(const char *path);

/* Whether `path` is a folder of matrices, that is, one that no reader takes for a matrix itself. */
bool dataset_is_folder(const char *path);

/* Whether `spec` is "set:...". */
bool dataset_is_set(const char *spec);

#endif
