/*
 * reader.h - reading a matrix file of any supported format.
 *
 * A format is one file, read_<format>.c, that registers one matrix_reader. matrix_read() asks every
 * registered reader whether it recognises the file and lets the most confident one read it.
 */
#ifndef MATRIX_READER_H
#define MATRIX_READER_H

#include "matrix/csr.h"
#include "matrix/paths.h"

/* The files that a matrix is parsed from. */
typedef struct reader_files {
    int count;
    char path[3][PATH_BYTES];
} reader_files;

typedef struct matrix_reader {
    const char *name;        /* "mtx", as printed by --list */
    const char *description; /* one line for people */

    /* How sure this reader is that the file is its own, 0 (not at all) .. 100. `path` is as the
     * user gave it (a lab-format base name has no file of its own); `head` holds the first
     * head_bytes bytes after decompression, 0 bytes if there is no such file. */
    int (*recognise)(const char *path, const char *head, size_t head_bytes);

    /* Reads the file. *A is zeroed on entry; on success the caller frees it. The result need not be
     * validated: matrix_read does that for every format. */
    enum status (*read)(const char *path, csr_matrix *A, error_text *error);

    /* For text formats, whose result is worth keeping: lists the files that read() would parse
     * (into *files, zeroed on entry; none if there is nothing to keep). NULL for binary formats. */
    void (*text_files)(const char *path, reader_files *files);

    struct matrix_reader *next; /* set by matrix_reader_register */
} matrix_reader;

void matrix_reader_register(matrix_reader *reader);

/* The first registered reader in order of name; the rest follow through ->next. */
const matrix_reader *matrix_readers(void);

/* The text_files of a format that is one file: `path` itself. */
void reader_own_file(const char *path, reader_files *files);

/* Registers `reader` (a static matrix_reader) before main() runs. */
#define REGISTER_MATRIX_READER(reader)                               \
    __attribute__((constructor)) static void register_##reader(void) \
    {                                                                \
        matrix_reader_register(&reader);                             \
    }

/* Reads and validates the matrix at `path`. A text file of 4 MB or more that parsed well is kept as
 * .csr in $XDG_CACHE_HOME/spmm-lab (default ~/.cache/spmm-lab), and comes from there next time. Its key is made of
 * its absolute path, size and modification time. SPMM_NO_CACHE=1 turns that off,
 * and a cache that cannot be read or written is no error. Nothing is ever written beside the data.
 *
 * Files with values keep them as the nearest fp32 numbers; files without, and files whose values
 * are all the boolean True, give values == NULL. */
enum status matrix_read(const char *path, csr_matrix *A, error_text *error);

/* Writes A in the suite's own binary format: a header with magic, version, sizes and a checksum of
 * the arrays, then the arrays themselves, 8-byte aligned, little-endian, so that reading is one
 * mmap. Written to a temporary file beside `path` and renamed. STATUS_RUNTIME when not writable. */
enum status csr_write(const csr_matrix *A, const char *path, error_text *error);

#endif
