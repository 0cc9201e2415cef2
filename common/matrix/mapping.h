/*
 * mapping.h - a whole file as read-only memory.
 */
#ifndef MATRIX_MAPPING_H
#define MATRIX_MAPPING_H

#include "matrix/status.h"

#include <stddef.h>

/* Maps the regular file at `path`; an empty one gives NULL and 0 bytes. The caller unmaps, or hands
 * the mapping to a csr_matrix. STATUS_DATASET, with the path in the message, on failure. */
enum status mapping_open(const char *path, void **address, size_t *bytes, error_text *error);
void mapping_close(void *address, size_t bytes);

#endif
