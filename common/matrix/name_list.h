/*
 * name_list.h - a growing list of strings.
 */
#ifndef MATRIX_NAME_LIST_H
#define MATRIX_NAME_LIST_H

#include "matrix/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct name_list {
    char **name; /* each, and the array, from malloc */
    size_t count, capacity;
} name_list;

/* Appends a copy of `name`. STATUS_MEMORY. */
enum status name_list_add(name_list *list, const char *name, error_text *error);
void name_list_free(name_list *list);

/* Appends the matrix files in `folder` and below it, in the order of their paths; files and folders
 * with a leading dot are passed over. `suffix` (".smtx"; also taken with .gz behind it) names the
 * wanted ones; NULL: all whose name tells a format of reader.h, which .txt and .csv do not. A
 * lab-format matrix is listed by its base name. STATUS_DATASET if a folder cannot be read. */
enum status name_list_add_files(name_list *list, const char *folder, const char *suffix,
                                error_text *error);

/* Whether `word` stands in `text` as a word of its own: no letter or digit before or behind it. */
bool has_word(const char *text, const char *word, size_t length);

#endif
