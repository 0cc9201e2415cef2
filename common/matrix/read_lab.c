/*
 * read_lab.c - the lab's format: <base>.config holds "num_v num_e"; the row offsets and the columns
 * are two raw dumps of little-endian int32, <base>.graph.ptrdump and <base>.graph.edgedump, or the
 * same numbers as text, <base>.graph. Square, no values. Named by <base> or by any of its files.
 *
 * The columns stay where they are: the dump is mapped. A .graph without .config is METIS's format,
 * which shares the name only.
 */
#include "matrix/csr_text.h"
#include "matrix/mapping.h"
#include "matrix/paths.h"
#include "matrix/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct lab_files {
    char config[PATH_BYTES];
    char offsets[PATH_BYTES], columns[PATH_BYTES]; /* both dumps, or both empty: not there */
    char text[PATH_BYTES];                         /* .graph or .graph.gz, or empty */
} lab_files;

/* The length of <base> in `path`, and whether `path` was more than that. */
static size_t base_length(const char *path, bool *named_file)
{
    static const char *const suffixes[] = {".graph.ptrdump", ".graph.edgedump", ".graph.gz",
                                           ".graph", ".config"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        *named_file = path_ends_with(path, suffixes[i]);
        if (*named_file) return strlen(path) - strlen(suffixes[i]);
    }
    return strlen(path);
}

/* Finds what there is; false if there is no .config. */
static bool find_files(const char *path, lab_files *f)
{
    bool named_file;
    size_t base = base_length(path, &named_file);
    path_find_text(f->text, path, base, ".graph");
    if (!path_join(f->offsets, path, base, ".graph.ptrdump") || !path_is_file(f->offsets) ||
        !path_join(f->columns, path, base, ".graph.edgedump") || !path_is_file(f->columns))
        *f->offsets = *f->columns = 0;
    return path_join(f->config, path, base, ".config") && path_is_file(f->config);
}

static int recognise(const char *path, const char *head, size_t head_bytes)
{
    (void)head;
    (void)head_bytes;
    bool named_file;
    lab_files files;
    base_length(path, &named_file);
    bool is_file = path_is_file(path), configured = find_files(path, &files);
    /* A file without its .config is taken, too, to say that it is missing. */
    if (named_file) return is_file || configured ? 95 : 0;
    return configured && !is_file ? 90 : 0;
}

static enum status read_config(const char *path, int64_t *rows, int64_t *nnz, error_text *error)
{
    text_input in;
    enum status status = text_open(&in, path, error);
    if (status != STATUS_OK) return status;
    status = text_int(&in, "the number of vertices", 0, INT32_MAX, rows, error);
    if (status == STATUS_OK)
        status = text_int(&in, "the number of edges", 0, INT64_MAX, nnz, error);
    if (status == STATUS_OK) status = text_finish(&in, "the two counts", error);
    text_close(&in);
    return status;
}

/* Maps a dump of `count` int32 numbers; `owner` is who needs that many. */
static enum status map_dump(const char *path, int64_t count, const char *owner, int32_t **numbers,
                            size_t *bytes, error_text *error)
{
    void *address;
    enum status status = mapping_open(path, &address, bytes, error);
    if (status != STATUS_OK) return status;
    *numbers = address; /* the caller's to close, whatever its size */
    if (*bytes % sizeof(int32_t) == 0 && (int64_t)(*bytes / sizeof(int32_t)) == count)
        return STATUS_OK;
    return fail(error, STATUS_DATASET,
                "%s: holds %zu bytes, but %s need %" PRId64 " numbers of 4 bytes", path, *bytes,
                owner, count);
}

static enum status read_dumps(const lab_files *f, int64_t rows, int64_t nnz, csr_matrix *A,
                              error_text *error)
{
    int32_t *offsets = NULL, *columns = NULL;
    size_t offsets_bytes = 0, columns_bytes = 0;
    enum status status =
        map_dump(f->offsets, rows + 1, "the vertices of .config", &offsets, &offsets_bytes, error);
    if (status == STATUS_OK)
        status = map_dump(f->columns, nnz, "the edges of .config", &columns, &columns_bytes, error);
    if (status == STATUS_OK) status = csr_alloc(A, rows, rows, 0, false, error);
    if (status != STATUS_OK) goto cleanup;

    for (int64_t i = 0; i <= rows; i++)
        A->row_ptr[i] = offsets[i];
    if (nnz > 0) {
        free(A->col_idx);
        A->nnz = nnz;
        A->col_idx = A->mapping = columns;
        A->mapping_bytes = columns_bytes;
        columns = NULL;
    }

cleanup:
    mapping_close(offsets, offsets_bytes);
    mapping_close(columns, columns_bytes);
    return status;
}

static enum status read_lab(const char *path, csr_matrix *A, error_text *error)
{
    lab_files f;
    if (!find_files(path, &f))
        return fail(error, STATUS_DATASET,
                    "%s: there is no %s beside it (a METIS .graph file is not supported)", path,
                    *f.config ? f.config : "<base>.config");
    int64_t rows, nnz;
    enum status status = read_config(f.config, &rows, &nnz, error);
    if (status != STATUS_OK) return status;
    if (*f.offsets) return read_dumps(&f, rows, nnz, A, error);
    if (!*f.text)
        return fail(error, STATUS_DATASET,
                    "%s: there is neither .graph beside it nor .graph.ptrdump with .graph.edgedump",
                    f.config);
    text_input in;
    status = text_open(&in, f.text, error);
    if (status != STATUS_OK) return status;
    status = csr_text_read(&in, rows, rows, nnz, A, error);
    text_close(&in);
    return status;
}

/* Dumps need no cache: they are as fast as one. */
static void text_files(const char *path, reader_files *files)
{
    lab_files f;
    if (!find_files(path, &f) || *f.offsets || !*f.text) return;
    memcpy(files->path[0], f.config, PATH_BYTES);
    memcpy(files->path[1], f.text, PATH_BYTES);
    files->count = 2;
}

static matrix_reader lab = {
    .name = "lab",
    .description =
        "the lab's format: <base>.config with .graph.ptrdump and .graph.edgedump, or .graph",
    .recognise = recognise,
    .read = read_lab,
    .text_files = text_files,
};
REGISTER_MATRIX_READER(lab)
