/*
 * read_smtx.c - the Deep Learning Matrix Collection's .smtx: a line "rows, cols, nnz" (or "rows
 * cols nnz", as other tools write it), then the row offsets, then the column indices, all from 0.
 * There are no values. Lines that begin with % are comments.
 */
#include "matrix/csr_text.h"
#include "matrix/paths.h"
#include "matrix/reader.h"

static int recognise(const char *path, const char *head, size_t head_bytes)
{
    (void)head;
    (void)head_bytes;
    return path_is_text(path, ".smtx") ? 90 : 0;
}

static enum status read_header(text_input *in, int64_t *rows, int64_t *cols, int64_t *nnz,
                               error_text *error)
{
    text_next_entry(in, '%', '%');
    enum status status = text_int(in, "the number of rows", 0, INT32_MAX, rows, error);
    if (status != STATUS_OK) return status;
    text_skip_separator(in);
    status = text_int(in, "the number of columns", 0, INT32_MAX, cols, error);
    if (status != STATUS_OK) return status;
    text_skip_separator(in);
    status = text_int(in, "the number of nonzeros", 0, INT64_MAX, nnz, error);
    return status == STATUS_OK ? text_end_line(in, error) : status;
}

static enum status read_smtx(const char *path, csr_matrix *A, error_text *error)
{
    text_input in;
    enum status status = text_open(&in, path, error);
    if (status != STATUS_OK) return status;
    int64_t rows, cols, nnz;
    status = read_header(&in, &rows, &cols, &nnz, error);
    if (status == STATUS_OK) status = csr_text_read(&in, rows, cols, nnz, A, error);
    text_close(&in);
    return status;
}

static matrix_reader smtx = {
    .name = "smtx",
    .description = "DLMC pruned layer (.smtx, .smtx.gz), pattern only",
    .recognise = recognise,
    .read = read_smtx,
    .text_files = reader_own_file,
};
REGISTER_MATRIX_READER(smtx)
