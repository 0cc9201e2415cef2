/*
 * read_csr.c - the suite's own .csr files.
 */
#include "matrix/csr_file.h"
#include "matrix/paths.h"
#include "matrix/reader.h"

#include <string.h>

static int recognise(const char *path, const char *head, size_t head_bytes)
{
    /* Without the version byte: an old file gets an answer that says so. */
    bool magic = head_bytes >= CSR_FILE_MAGIC_BYTES &&
                 memcmp(head, CSR_FILE_MAGIC, CSR_FILE_MAGIC_BYTES - 1) == 0;
    if (magic) return 100;
    return path_ends_with(path, ".csr") ? 70 : 0;
}

static enum status read_csr(const char *path, csr_matrix *A, error_text *error)
{
    return csr_file_map(path, 0, A, error);
}

static matrix_reader csr = {
    .name = "csr",
    .description = "this suite's binary format (.csr), memory-mapped",
    .recognise = recognise,
    .read = read_csr,
};
REGISTER_MATRIX_READER(csr)
