/*
 * paths.h - what readers ask about file names.
 */
#ifndef MATRIX_PATHS_H
#define MATRIX_PATHS_H

#include <stdbool.h>
#include <stddef.h>

enum { PATH_BYTES = 4096 };

bool path_ends_with(const char *path, const char *suffix);

/* Whether `path` ends with `suffix`, or with `suffix`.gz. */
bool path_is_text(const char *path, const char *suffix);

bool path_is_file(const char *path);
bool path_is_folder(const char *path);

/* Joins a path of the first `length` letters of `begin` and `tail` into out[PATH_BYTES]. False if
 * it is too long, and then out is empty. */
bool path_join(char *out, const char *begin, size_t length, const char *tail);

/* As path_join, for a file that exists plain or as .gz: leaves the name of the one there is (plain
 * before .gz). False, and an empty name, if there is neither. */
bool path_find_text(char *out, const char *begin, size_t length, const char *tail);

#endif
