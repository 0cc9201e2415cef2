/*
 * cache.h - parsed text files, kept in the suite's cache folder as .csr files.
 */
#ifndef MATRIX_CACHE_H
#define MATRIX_CACHE_H

#include "matrix/paths.h"
#include "matrix/reader.h"

#include <stdint.h>

typedef struct cache_entry {
    char path[PATH_BYTES]; /* empty: nothing is to be cached */
    uint64_t key;          /* of the present state of the files it is made from */
} cache_entry;

/* Where the matrix parsed from `files` is or would be kept: one entry for one absolute path, so
 * that a changed file replaces its old entry. Nothing is cached for less than 4 MB of text, when
 * SPMM_NO_CACHE is set (to anything but 0), or when there is no cache folder. */
void cache_locate(const reader_files *files, cache_entry *entry);

#endif
