/*
 * csr_file.h - the suite's own binary format, as a file of its own (.csr) and as a cache entry.
 *
 *     64-byte header | row_ptr, 8 (rows + 1) bytes | col_idx, 4 nnz, padded to 8 | values, the same
 *
 * Everything is little-endian, as are all machines with an NVIDIA GPU. csr_write is in reader.h.
 */
#ifndef MATRIX_CSR_FILE_H
#define MATRIX_CSR_FILE_H

#include "matrix/csr.h"

/* The first bytes of a file; the last one is the version, and an old version is refused. */
#define CSR_FILE_MAGIC "SPMMCSR\1"
enum { CSR_FILE_MAGIC_BYTES = 8 };

/* As csr_write, for a cache entry: `source_key` tells from which state of which file it was made
 * (0 for a file of its own). */
enum status csr_file_write(const csr_matrix *A, const char *path, uint64_t source_key,
                           error_text *error);

/* Maps the file: *A's arrays lie in the mapping. The sizes, the checksum of the arrays and the
 * source key must agree. The caller frees *A, and validates it if it trusts nobody. */
enum status csr_file_map(const char *path, uint64_t source_key, csr_matrix *A, error_text *error);

#endif
