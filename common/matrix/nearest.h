/*
 * nearest.h - "did you mean ...?" for every name a user can mistype.
 */
#ifndef MATRIX_NEAREST_H
#define MATRIX_NEAREST_H

#include <stddef.h>

/* Returns the candidate with the smallest edit distance to `word`, else the first that begins much
 * like it. Returns NULL when none comes near (more than about a third differs). `candidates` holds
 * `count` strings. */
const char *nearest_match(const char *word, const char *const *candidates, size_t count);

#endif
