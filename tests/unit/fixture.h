/*
 * fixture.h - what the tests of the readers share: a folder that is gone afterwards, files written
 * into it, and one-line assertions about the matrices that come back.
 */
#ifndef TEST_FIXTURE_H
#define TEST_FIXTURE_H

#include "matrix/reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The folder of the running test program; every file name below is relative to it. */
static char fixture_folder[64];

static inline int fixture_setup(void **state)
{
    (void)state;
    strcpy(fixture_folder, "/tmp/spmm-test-XXXXXX");
    if (!mkdtemp(fixture_folder)) return -1;
    /* No test may see or leave a cache of the person who runs it. */
    char cache[128];
    snprintf(cache, sizeof cache, "%s/cache", fixture_folder);
    return setenv("XDG_CACHE_HOME", cache, 1);
}

static inline int fixture_remove(const char *path, const struct stat *info, int type,
                                 struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

static inline int fixture_teardown(void **state)
{
    (void)state;
    return nftw(fixture_folder, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* The full path of a file; valid until the fourth call after this one. */
static inline const char *fixture_path(const char *name)
{
    static char paths[4][256];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", fixture_folder, name);
    return paths[turn];
}

static inline void write_bytes(const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(fixture_path(name), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static inline void write_text(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

/* An archive written member by member: .gz (one raw member), .tar.gz, .zip. */
static inline struct archive *archive_begin(const char *name)
{
    struct archive *archive = archive_write_new();
    size_t length = strlen(name);
    bool tar = strstr(name, ".tar") != NULL || strstr(name, ".tgz") != NULL;
    if (strcmp(name + length - 2, "gz") == 0) {
        archive_write_add_filter_gzip(archive);
        tar ? archive_write_set_format_pax_restricted(archive)
            : archive_write_set_format_raw(archive);
    } else {
        tar ? archive_write_set_format_ustar(archive) : archive_write_set_format_zip(archive);
    }
    assert_int_equal(archive_write_open_filename(archive, fixture_path(name)), ARCHIVE_OK);
    return archive;
}

static inline void archive_member(struct archive *archive, const char *member, const void *bytes,
                                  size_t count)
{
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, member);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, (la_int64_t)count);
    assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
    if (count > 0) assert_int_equal(archive_write_data(archive, bytes, count), count);
    archive_entry_free(entry);
}

static inline void archive_end(struct archive *archive)
{
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    archive_write_free(archive);
}

static inline void write_gzip(const char *name, const char *text)
{
    struct archive *archive = archive_begin(name);
    archive_member(archive, "data", text, strlen(text));
    archive_end(archive);
}

/* The whole file, to be damaged and written again; the caller frees it. */
static inline char *read_bytes(const char *name, size_t *count)
{
    FILE *file = fopen(fixture_path(name), "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *count = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*count + 1);
    assert_int_equal(fread(bytes, 1, *count, file), *count);
    fclose(file);
    return bytes;
}

static inline void assert_file(const char *name, const char *expected)
{
    size_t count;
    char *text = read_bytes(name, &count);
    text[count] = 0;
    assert_string_equal(text, expected);
    free(text);
}

/* The matrix as text, "rows x cols: row,col[=value] ...", with at most 9 digits a value. */
static inline void matrix_text(const csr_matrix *A, char *text, size_t capacity)
{
    size_t n = (size_t)snprintf(text, capacity, "%ldx%ld:", (long)A->rows, (long)A->cols);
    for (int64_t i = 0; i < A->rows; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1] && n < capacity; k++) {
            n += (size_t)snprintf(text + n, capacity - n, " %ld,%d", (long)i, A->col_idx[k]);
            if (A->values && n < capacity)
                n += (size_t)snprintf(text + n, capacity - n, "=%.9g", A->values[k]);
        }
    }
}

static inline void assert_matrix_text(const csr_matrix *A, const char *expected)
{
    char text[2048];
    matrix_text(A, text, sizeof text);
    assert_string_equal(text, expected);
}

/* The file loads and holds what matrix_text says. */
static inline void assert_reads(const char *name, const char *expected)
{
    csr_matrix A;
    error_text error = {""};
    if (matrix_read(fixture_path(name), &A, &error) != STATUS_OK) fail_msg("%s", error.text);
    assert_matrix_text(&A, expected);
    csr_free(&A);
}

/* The file is refused with this status, and a single line that holds its path and `fragment`. */
static inline void assert_refused_with(const char *name, enum status status, const char *fragment)
{
    csr_matrix A;
    error_text error = {""};
    enum status got = matrix_read(fixture_path(name), &A, &error);
    if (got == STATUS_OK) {
        csr_free(&A);
        fail_msg("%s was read, but should be refused: %s", name, fragment);
    }
    if (!strstr(error.text, fragment) || !strstr(error.text, fixture_folder) ||
        strchr(error.text, '\n') || got != status)
        fail_msg("%s: expected status %d and '%s', got %d and '%s'", name, status, fragment, got,
                 error.text);
    assert_null(A.row_ptr);
    assert_null(A.mapping);
}

static inline void assert_refused(const char *name, const char *fragment)
{
    assert_refused_with(name, STATUS_DATASET, fragment);
}

/* Two matrices are the same, array by array. */
static inline void assert_same(const csr_matrix *A, const csr_matrix *B)
{
    assert_int_equal(A->rows, B->rows);
    assert_int_equal(A->cols, B->cols);
    assert_int_equal(A->nnz, B->nnz);
    assert_memory_equal(A->row_ptr, B->row_ptr, (size_t)(A->rows + 1) * sizeof *A->row_ptr);
    assert_memory_equal(A->col_idx, B->col_idx, (size_t)A->nnz * sizeof *A->col_idx);
    assert_int_equal(A->values != NULL, B->values != NULL);
    if (A->values) assert_memory_equal(A->values, B->values, (size_t)A->nnz * sizeof *A->values);
}

#endif
