/*
 * read_npz.c - scipy.sparse.save_npz: a zip archive of numpy arrays. CSR has indptr, indices, data,
 * shape, format, and so has CSC, of its columns. BSR has small dense blocks as data, of three
 * dimensions; what a block holds is stored, zeros too. COO has row, col in place of the first two. The members come in any order, stored
 * or deflated, and others are ignored. Data that are all True say no more than the pattern.
 */
#include "matrix/memory.h"
#include "matrix/npy.h"
#include "matrix/paths.h"
#include "matrix/reader.h"
#include "matrix/stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int recognise(const char *path, const char *head, size_t head_bytes)
{
    bool zip = head_bytes >= 4 && memcmp(head, "PK", 2) == 0 && (head[2] == 3 || head[2] == 5);
    if (path_ends_with(path, ".npz")) return 90;
    return zip ? 50 : 0;
}

enum { INDPTR, INDICES, ROW, COL, DATA, SHAPE, ARRAYS };

/* Names of the members, and the types that they are wanted as. */
static const struct {
    const char *name;
    enum npy_target target;
} wanted[ARRAYS] = {
    [INDPTR] = {"indptr.npy", NPY_INT64}, [INDICES] = {"indices.npy", NPY_INT32},
    [ROW] = {"row.npy", NPY_INT32},       [COL] = {"col.npy", NPY_INT32},
    [DATA] = {"data.npy", NPY_FLOAT},     [SHAPE] = {"shape.npy", NPY_INT64},
};

/* Members that have been found so far. */
typedef struct contents {
    struct {
        void *elements; /* NULL: not there */
        int64_t count;
        bool is_bool; /* data only: elements of one byte, not floats */
    } array[ARRAYS];
    int64_t block_rows, block_cols; /* of the data; 0: they are a vector */
    char format[8];                 /* empty: not there */
    char stranger[64];              /* the first member that none of these is; empty: none */
} contents;

static void free_contents(contents *c)
{
    for (int i = 0; i < ARRAYS; i++)
        free(c->array[i].elements);
    *c = (contents){0};
}

/* Moves an array out of the contents; the caller frees it. */
static void *take(contents *c, int which)
{
    void *elements = c->array[which].elements;
    c->array[which].elements = NULL;
    return elements;
}

/* ---- reading the archive --------------------------------------------------------------------- */

typedef struct member {
    struct archive *archive;
    char name[512]; /* "graph.npz:indices.npy" */
} member;

static enum status bad_archive(const char *name, struct archive *archive, error_text *error)
{
    const char *reason = archive_error_string(archive);
    return fail(error, STATUS_DATASET, "%s: no readable zip archive (%s)", name,
                reason ? reason : "no further reason");
}

static enum status read_member(void *from, void *buffer, size_t bytes, error_text *error)
{
    member *m = from;
    for (size_t got = 0; got < bytes;) {
        la_ssize_t n = archive_read_data(m->archive, (char *)buffer + got, bytes - got);
        if (n < 0) return bad_archive(m->name, m->archive, error);
        if (n == 0) return fail(error, STATUS_DATASET, "%s: ends before its last element", m->name);
        got += (size_t)n;
    }
    return STATUS_OK;
}

/* Nothing may follow the elements; reaching the end also makes libarchive compare the checksum. */
static enum status end_member(member *m, error_text *error)
{
    char extra;
    la_ssize_t n = archive_read_data(m->archive, &extra, 1);
    if (n < 0) return bad_archive(m->name, m->archive, error);
    if (n > 0) return fail(error, STATUS_DATASET, "%s: bytes follow the last element", m->name);
    return STATUS_OK;
}

static enum status read_array(const npy_source *source, int which, contents *c, error_text *error)
{
    npy_array array;
    enum status status = npy_open(source, &array, error);
    if (status != STATUS_OK) return status;
    if (which != DATA && array.block_rows)
        return fail(error, STATUS_DATASET, "%s: has three dimensions", source->name);
    if (which == DATA) {
        c->block_rows = array.block_rows;
        c->block_cols = array.block_cols;
    }
    /* Bools stay bytes, because as a rule they are all True and then not needed. */
    bool is_bool = which == DATA && array.kind == 'b';
    enum npy_target target = is_bool ? NPY_BOOL : wanted[which].target;
    int64_t bytes = array.count * (int64_t)npy_target_bytes(target);
    status = memory_check(bytes, "an array of the file", error);
    if (status != STATUS_OK) return status;
    c->array[which].elements = malloc((size_t)bytes + 1); /* not NULL for an empty array */
    if (!c->array[which].elements)
        return fail(error, STATUS_MEMORY, "no memory for an array of the file");
    c->array[which].count = array.count;
    c->array[which].is_bool = is_bool;
    return npy_read(source, &array, target, c->array[which].elements, error);
}

/* Judged as soon as it is read: the arrays of other formats have other shapes. */
static enum status read_format(const npy_source *source, contents *c, error_text *error)
{
    npy_array array;
    enum status status = npy_open(source, &array, error);
    if (status == STATUS_OK)
        status = npy_read_string(source, &array, c->format, sizeof c->format, error);
    if (status != STATUS_OK) return status;
    static const char *const known[] = {"csr", "csc", "bsr", "coo"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(c->format, known[i]) == 0) return STATUS_OK;
    return fail(error, STATUS_DATASET,
                "%s: scipy's '%s' format is not read (csr, csc, bsr and coo are)", source->name,
                c->format);
}

/* Reads the current member if it is one of ours. */
static enum status read_if_wanted(const char *name, const npy_source *source, contents *c,
                                  error_text *error)
{
    enum status status;
    if (strcmp(name, "format.npy") == 0) {
        status = read_format(source, c, error);
    } else {
        int which = 0;
        while (which < ARRAYS && strcmp(name, wanted[which].name) != 0)
            which++;
        if (which == ARRAYS) {
            if (!*c->stranger) snprintf(c->stranger, sizeof c->stranger, "%s", name);
            return STATUS_OK;
        }
        if (c->array[which].elements)
            return fail(error, STATUS_DATASET, "%s: is there twice", source->name);
        status = read_array(source, which, c, error);
    }
    return status == STATUS_OK ? end_member(source->from, error) : status;
}

static enum status read_contents(const char *path, int64_t file_bytes, contents *c,
                                 error_text *error)
{
    enum { BLOCK_BYTES = 1 << 17 };
    enum status status = STATUS_OK;
    member m = {.archive = archive_read_new()};
    if (!m.archive) return fail(error, STATUS_MEMORY, "no memory to read an archive");
    /* By the directory at the end of the file only: without it, members that were cut off would not
     * be missed. */
    archive_read_support_format_zip_seekable(m.archive);
    if (archive_read_open_filename(m.archive, path, BLOCK_BYTES) != ARCHIVE_OK) {
        status = bad_archive(path, m.archive, error);
        goto cleanup;
    }
    const npy_source source = {.name = m.name,
                               .read = read_member,
                               .from = &m,
                               .most_bytes = stream_most_unpacked(file_bytes)};
    struct archive_entry *entry;
    int result;
    while ((result = archive_read_next_header(m.archive, &entry)) == ARCHIVE_OK) {
        const char *name = archive_entry_pathname(entry);
        if (!name) continue;
        snprintf(m.name, sizeof m.name, "%.400s:%.100s", path, name);
        status = read_if_wanted(name, &source, c, error);
        if (status != STATUS_OK) goto cleanup;
    }
    if (result != ARCHIVE_EOF) status = bad_archive(path, m.archive, error);

cleanup:
    archive_read_free(m.archive);
    return status;
}

/* ---- from arrays to a matrix ----------------------------------------------------------------- */

static enum status check_present(const char *path, const contents *c, int which, error_text *error)
{
    if (c->array[which].elements) return STATUS_OK;
    if (*c->stranger)
        return fail(error, STATUS_DATASET,
                    "%s: a zip archive of %s, no scipy matrix; unpack it first (unzip)", path,
                    c->stranger);
    return fail(error, STATUS_DATASET, "%s: there is no %s inside: no scipy matrix", path,
                wanted[which].name);
}

static enum status check_count(const char *path, const contents *c, int which, int64_t count,
                               error_text *error)
{
    if (c->array[which].count == count) return STATUS_OK;
    return fail(error, STATUS_DATASET, "%s: %s holds %" PRId64 " elements, but %" PRId64 " are due",
                path, wanted[which].name, c->array[which].count, count);
}

/* Data as values, the caller's to free; NULL where they say nothing: none, or True throughout. */
static enum status take_values(contents *c, float **values, error_text *error)
{
    *values = NULL;
    if (!c->array[DATA].is_bool) {
        *values = take(c, DATA);
        return STATUS_OK;
    }
    const unsigned char *flags = c->array[DATA].elements;
    int64_t count = c->array[DATA].count;
    if (!memchr(flags, 0, (size_t)count)) return STATUS_OK;
    enum status status =
        memory_check(count * (int64_t)sizeof **values, "the array of values", error);
    if (status != STATUS_OK) return status;
    *values = malloc((size_t)count * sizeof **values);
    if (!*values) return fail(error, STATUS_MEMORY, "no memory for the array of values");
    for (int64_t k = 0; k < count; k++)
        (*values)[k] = flags[k] != 0;
    return STATUS_OK;
}

static enum status read_shape(const char *path, const contents *c, int64_t *rows, int64_t *cols,
                              error_text *error)
{
    enum status status = check_present(path, c, SHAPE, error);
    if (status == STATUS_OK) status = check_count(path, c, SHAPE, 2, error);
    if (status != STATUS_OK) return status;
    const int64_t *shape = c->array[SHAPE].elements;
    *rows = shape[0];
    *cols = shape[1];
    if (*rows >= 0 && *rows <= INT32_MAX && *cols >= 0 && *cols <= INT32_MAX) return STATUS_OK;
    return fail(error, STATUS_DATASET, "%s: a shape of %" PRId64 " x %" PRId64 " is outside 0..%d",
                path, *rows, *cols, INT32_MAX);
}

/* Makes A of CSR's arrays, or of any that are alike, and checks it; `values` may be NULL. */
static enum status adopt_csr(const char *path, contents *c, int64_t rows, int64_t cols,
                             float *values, csr_matrix *A, error_text *error)
{
    *A = (csr_matrix){.rows = rows, .cols = cols, .nnz = c->array[INDICES].count};
    A->row_ptr = take(c, INDPTR);
    A->col_idx = take(c, INDICES);
    A->values = values;
    enum status status = csr_validate(A, path, error);
    if (status != STATUS_OK) csr_free(A);
    return status;
}

/* CSC's arrays are CSR's of the transposed matrix. */
static enum status build_csc(const char *path, contents *c, int64_t rows, int64_t cols,
                             float *values, csr_matrix *A, error_text *error)
{
    csr_matrix T;
    char source[PATH_BYTES + 32];
    snprintf(source, sizeof source, "%s, transposed", path);
    enum status status = adopt_csr(source, c, cols, rows, values, &T, error);
    if (status == STATUS_OK) status = csr_check_side("rows", rows, T.nnz, path, error);
    if (status == STATUS_OK) status = csr_transpose(&T, A, error);
    csr_free(&T);
    return status;
}

/* Spreads the blocks, whose pattern is CSR's: block row after block row, and of each all its rows. */
static void spread_blocks(const csr_matrix *blocks, int64_t R, int64_t C, const float *values,
                          csr_matrix *A)
{
    int64_t k = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t first = blocks->row_ptr[i / R], end = blocks->row_ptr[i / R + 1];
        for (int64_t b = first; b < end; b++)
            for (int64_t j = 0; j < C; j++, k++) {
                A->col_idx[k] = (int32_t)(blocks->col_idx[b] * C + j);
                if (values) A->values[k] = values[(b * R + i % R) * C + j];
            }
        A->row_ptr[i + 1] = k;
    }
}

static enum status build_bsr(const char *path, contents *c, int64_t rows, int64_t cols,
                             float *values, csr_matrix *A, error_text *error)
{
    const int64_t R = c->block_rows, C = c->block_cols, entries = c->array[DATA].count;
    csr_matrix blocks = {0};
    char source[PATH_BYTES + 32];
    snprintf(source, sizeof source, "%s, in blocks", path);
    enum status status = adopt_csr(source, c, rows / R, cols / C, NULL, &blocks, error);
    if (status == STATUS_OK) status = csr_check_side("rows", rows, entries, path, error);
    if (status == STATUS_OK) status = csr_alloc(A, rows, cols, entries, values != NULL, error);
    if (status == STATUS_OK) spread_blocks(&blocks, R, C, values, A);
    csr_free(&blocks);
    free(values);
    return status;
}

/* Whether the data are as many as the format and the numbers of rows and indices want. */
static enum status check_data(const char *path, const contents *c, bool is_bsr, int64_t rows,
                              int64_t cols, int64_t nnz, error_text *error)
{
    const int64_t R = c->block_rows, C = c->block_cols;
    if (!is_bsr && R > 0)
        return fail(error, STATUS_DATASET, "%s: data.npy has three dimensions, as only bsr's have",
                    path);
    if (!is_bsr)
        return c->array[DATA].elements ? check_count(path, c, DATA, nnz, error) : STATUS_OK;
    enum status status = check_present(path, c, DATA, error);
    if (status != STATUS_OK) return status;
    if (R < 1 || C < 1 || rows % R != 0 || cols % C != 0)
        return fail(error, STATUS_DATASET,
                    "%s: blocks of %" PRId64 " x %" PRId64 " do not fill %" PRId64 " x %" PRId64,
                    path, R, C, rows, cols);
    return check_count(path, c, DATA, nnz * R * C, error);
}

static enum status build(const char *path, contents *c, csr_matrix *A, error_text *error)
{
    /* Older files do not name their format; the members tell. */
    if (!*c->format) strcpy(c->format, c->array[ROW].elements ? "coo" : "csr");
    const bool is_coo = strcmp(c->format, "coo") == 0, is_csc = strcmp(c->format, "csc") == 0,
               is_bsr = strcmp(c->format, "bsr") == 0;
    int row_array = is_coo ? ROW : INDPTR, col_array = is_coo ? COL : INDICES;
    int64_t rows, cols, nnz = c->array[col_array].count;
    enum status status = check_present(path, c, row_array, error);
    if (status == STATUS_OK) status = check_present(path, c, col_array, error);
    if (status == STATUS_OK) status = read_shape(path, c, &rows, &cols, error);
    if (status == STATUS_OK) status = check_data(path, c, is_bsr, rows, cols, nnz, error);
    if (status != STATUS_OK) return status;
    int64_t offsets = (is_csc ? cols : is_bsr ? rows / c->block_rows : rows) + 1;
    status = check_count(path, c, row_array, is_coo ? nnz : offsets, error);
    float *values;
    if (status == STATUS_OK) status = take_values(c, &values, error);
    if (status != STATUS_OK) return status;

    if (is_csc) return build_csc(path, c, rows, cols, values, A, error);
    if (is_bsr) return build_bsr(path, c, rows, cols, values, A, error);
    if (!is_coo) return adopt_csr(path, c, rows, cols, values, A, error);
    coo_list list = {.count = nnz, .capacity = nnz};
    list.row = take(c, ROW);
    list.col = take(c, COL);
    list.value = values;
    return csr_from_coo(&list, rows, cols, A, path, error);
}

static enum status read_npz(const char *path, csr_matrix *A, error_text *error)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return fail(error, STATUS_DATASET, "%s: is not a file that can be read", path);
    contents c = {0};
    enum status status = read_contents(path, info.st_size, &c, error);
    if (status == STATUS_OK) status = build(path, &c, A, error);
    free_contents(&c);
    return status;
}

static matrix_reader npz = {
    .name = "npz",
    .description = "scipy.sparse.save_npz: CSR, CSC, BSR or COO (.npz)",
    .recognise = recognise,
    .read = read_npz,
};
REGISTER_MATRIX_READER(npz)
