#include "matrix/reader.h"

#include "matrix/cache.h"
#include "matrix/csr_file.h"
#include "matrix/foreign.h"
#include "matrix/stream.h"

#include <stdio.h>
#include <string.h>

enum { HEAD_BYTES = 1 << 14 }; /* longer than the comments in front of most edge lists */

static matrix_reader *first;

void matrix_reader_register(matrix_reader *reader)
{
    matrix_reader **link = &first;
    while (*link && strcmp((*link)->name, reader->name) < 0)
        link = &(*link)->next;
    reader->next = *link;
    *link = reader;
}

const matrix_reader *matrix_readers(void)
{
    return first;
}

void reader_own_file(const char *path, reader_files *files)
{
    if (path_join(files->path[0], path, strlen(path), "")) files->count = 1;
}

static enum status nobody_reads(const char *path, error_text *error)
{
    char names[128] = "";
    for (const matrix_reader *r = first; r; r = r->next) {
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", r->name);
    }
    return fail(error, STATUS_DATASET, "%s: no format that is known here (%s)", path, names);
}

/* The reader that is surest of the file. */
static enum status choose_reader(const char *path, const matrix_reader **chosen, error_text *error)
{
    char head[HEAD_BYTES];
    size_t head_bytes;
    error_text reason;
    enum status head_status = stream_head(path, head, sizeof head, &head_bytes, &reason);
    if (head_status != STATUS_OK) head_bytes = 0;
    size_t mark = utf8_mark(head, head_bytes);

    /* A reader may know the file although it cannot be opened under this name, or say better what
     * is wrong with it. */
    int best = 0;
    *chosen = NULL;
    for (const matrix_reader *r = first; r; r = r->next) {
        int sure = r->recognise(path, head + mark, head_bytes - mark);
        if (sure <= best) continue;
        best = sure;
        *chosen = r;
    }
    if (*chosen) return STATUS_OK;
    if (head_status != STATUS_OK) return fail(error, head_status, "%s", reason.text);
    if (head_bytes == 0) return fail(error, STATUS_DATASET, "%s: the file is empty", path);
    const char *foreign = foreign_content(head, head_bytes);
    if (foreign) return fail(error, STATUS_DATASET, "%s: %s", path, foreign);
    return nobody_reads(path, error);
}

static enum status read_validated(const matrix_reader *reader, const char *path, csr_matrix *A,
                                  error_text *error)
{
    error_text reason;
    enum status status = reader->read(path, A, &reason);
    if (status == STATUS_MEMORY) /* said by functions that know no path */
        return fail(error, status, "%.450s: %.500s", path, reason.text);
    if (status != STATUS_OK) return fail(error, status, "%s", reason.text);
    status = csr_validate(A, path, error);
    /* Columns have no array in any format, so they are a claim in all. */
    if (status == STATUS_OK) status = csr_check_side("columns", A->cols, A->nnz, path, error);
    if (status != STATUS_OK) csr_free(A);
    return status;
}

static bool read_cached(const cache_entry *entry, csr_matrix *A)
{
    if (!*entry->path || csr_file_map(entry->path, entry->key, A, NULL) != STATUS_OK) return false;
    if (csr_validate(A, entry->path, NULL) == STATUS_OK) return true;
    csr_free(A);
    return false;
}

enum status matrix_read(const char *path, csr_matrix *A, error_text *error)
{
    *A = (csr_matrix){0};
    const matrix_reader *reader;
    enum status status = choose_reader(path, &reader, error);
    if (status != STATUS_OK) return status;

    /* Located before the file is parsed: a file that changes meanwhile must not match. */
    reader_files files = {0};
    cache_entry entry;
    if (reader->text_files) reader->text_files(path, &files);
    cache_locate(&files, &entry);
    if (read_cached(&entry, A)) return STATUS_OK;

    status = read_validated(reader, path, A, error);
    /* A cache that cannot be written costs time, nothing else. */
    if (status == STATUS_OK && *entry.path) csr_file_write(A, entry.path, entry.key, NULL);
    return status;
}
