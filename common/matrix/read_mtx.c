/*
 * read_mtx.c - Matrix Market coordinate files, also inside the .tar.gz of the SuiteSparse
 * collection.
 *
 * Entries are numbered from 1 and come in any order. Symmetric and skew-symmetric files hold the
 * lower triangle, which is mirrored here; the upper one, which some programs write, is as good. Both
 * in one file would count double, and are refused. Blank lines and % comments may stand anywhere.
 */
#include "matrix/paths.h"
#include "matrix/reader.h"
#include "matrix/text.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

enum field { FIELD_REAL, FIELD_INTEGER, FIELD_PATTERN };
enum symmetry { GENERAL, SYMMETRIC, SKEW_SYMMETRIC };

typedef struct header {
    enum field field;
    enum symmetry symmetry;
    int64_t rows, cols;
    int64_t stored; /* entries in the file */
    int triangle; /* of a symmetric file: below (-1) or above (1) the diagonal; 0: not known yet */
} header;

static bool is_archive(const char *path, const char *head, size_t head_bytes)
{
    return stream_is_tar(head, head_bytes) || path_is_text(path, ".tar") ||
           path_ends_with(path, ".tgz");
}

static int recognise(const char *path, const char *head, size_t head_bytes)
{
    static const char banner[] = "%%MatrixMarket";
    if (head_bytes >= sizeof banner - 1 && strncasecmp(head, banner, sizeof banner - 1) == 0)
        return 100;
    return path_is_text(path, ".mtx") || is_archive(path, head, head_bytes) ? 80 : 0;
}

static enum status read_banner(text_input *in, header *h, error_text *error)
{
    char word[32];
    text_word(in, word, sizeof word);
    if (strcmp(word, "%%matrixmarket") != 0)
        return text_fail(in, error, "no Matrix Market file: it must begin with %%%%MatrixMarket");
    text_word(in, word, sizeof word);
    if (strcmp(word, "matrix") != 0)
        return text_fail(in, error, "a Matrix Market '%s' is no matrix", word);
    text_word(in, word, sizeof word);
    if (strcmp(word, "array") == 0)
        return text_fail(in, error,
                         "a dense 'array' file; only 'coordinate' files hold a sparse matrix");
    if (strcmp(word, "coordinate") != 0)
        return text_fail(in, error, "unknown format '%s' (coordinate is read)", word);

    text_word(in, word, sizeof word);
    if (strcmp(word, "real") == 0)
        h->field = FIELD_REAL;
    else if (strcmp(word, "integer") == 0)
        h->field = FIELD_INTEGER;
    else if (strcmp(word, "pattern") == 0)
        h->field = FIELD_PATTERN;
    else if (strcmp(word, "complex") == 0)
        return text_fail(in, error,
                         "complex values are not supported (real, integer and pattern are)");
    else
        return text_fail(in, error, "unknown field '%s' (real, integer and pattern are read)",
                         word);

    text_word(in, word, sizeof word);
    if (strcmp(word, "general") == 0)
        h->symmetry = GENERAL;
    else if (strcmp(word, "symmetric") == 0)
        h->symmetry = SYMMETRIC;
    else if (strcmp(word, "skew-symmetric") == 0)
        h->symmetry = SKEW_SYMMETRIC;
    else if (strcmp(word, "hermitian") == 0)
        return text_fail(in, error,
                         "hermitian is not supported (general, symmetric, skew-symmetric are)");
    else
        return text_fail(
            in, error, "unknown symmetry '%s' (general, symmetric, skew-symmetric are read)", word);
    if (h->symmetry == SKEW_SYMMETRIC && h->field == FIELD_PATTERN)
        return text_fail(in, error, "a pattern cannot be skew-symmetric: it has no signs");
    return text_end_line(in, error);
}

static enum status read_sizes(text_input *in, header *h, error_text *error)
{
    text_next_entry(in, '%', '%');
    enum status status = text_int(in, "the number of rows", 0, INT32_MAX, &h->rows, error);
    if (status == STATUS_OK)
        status = text_int(in, "the number of columns", 0, INT32_MAX, &h->cols, error);
    if (status == STATUS_OK)
        status = text_int(in, "the number of entries", 0, INT64_MAX, &h->stored, error);
    if (status != STATUS_OK) return status;
    if (h->symmetry != GENERAL && h->rows != h->cols)
        return text_fail(in, error, "a symmetric matrix must be square, not %" PRId64 " x %" PRId64,
                         h->rows, h->cols);
    status = text_check_promise(in, h->stored, "entries", error);
    return status == STATUS_OK ? text_end_line(in, error) : status;
}

static enum status read_value(text_input *in, enum field field, float *value, error_text *error)
{
    if (field == FIELD_REAL) return text_float(in, "a value", value, error);
    *value = 1;
    if (field == FIELD_PATTERN) return STATUS_OK;
    int64_t number;
    enum status status = text_int(in, "a value", INT64_MIN, INT64_MAX, &number, error);
    *value = (float)number;
    return status;
}

/* Reads one entry and, off the diagonal of a symmetric file, pushes its mirror image, too. */
static enum status read_entry(text_input *in, header *h, coo_list *list, error_text *error)
{
    int64_t row, col;
    float value;
    enum status status = text_int(in, "a row number", 1, h->rows, &row, error);
    if (status == STATUS_OK) status = text_int(in, "a column number", 1, h->cols, &col, error);
    if (status == STATUS_OK) status = read_value(in, h->field, &value, error);
    if (status != STATUS_OK) return status;
    int side = (col > row) - (col < row);
    if (h->triangle == 0) h->triangle = side;
    if (h->symmetry != GENERAL && side == -h->triangle && side != 0)
        return text_fail(
            in, error,
            "entry (%" PRId64 ", %" PRId64
            ") is %s the diagonal, earlier ones %s it; symmetric files hold one triangle",
            row, col, side > 0 ? "above" : "below", side > 0 ? "below" : "above");
    if (h->symmetry == SKEW_SYMMETRIC && col == row)
        return text_fail(in, error,
                         "entry (%" PRId64 ", %" PRId64
                         ") is on the diagonal, which is zero in a skew-symmetric matrix",
                         row, col);
    status = text_end_line(in, error);
    if (status != STATUS_OK) return status;

    int32_t i = (int32_t)(row - 1), j = (int32_t)(col - 1);
    status = coo_push(list, i, j, value, error);
    if (status != STATUS_OK || h->symmetry == GENERAL || i == j) return status;
    return coo_push(list, j, i, h->symmetry == SKEW_SYMMETRIC ? -value : value, error);
}

static enum status read_entries(text_input *in, header *h, csr_matrix *A, error_text *error)
{
    coo_list list;
    enum status status = coo_init(&list, h->stored, h->field != FIELD_PATTERN, error);
    if (status != STATUS_OK) return status;
    for (int64_t k = 0; k < h->stored; k++) {
        if (!text_next_entry(in, '%', '%')) {
            status = text_fail(in, error, "the file ends after %" PRId64 " of %" PRId64 " entries",
                               k, h->stored);
            goto cleanup;
        }
        status = read_entry(in, h, &list, error);
        if (status != STATUS_OK) goto cleanup;
    }
    text_next_entry(in, '%', '%');
    status = text_finish(in, "the last entry", error);
    if (status == STATUS_OK) status = csr_from_coo(&list, h->rows, h->cols, A, in->name, error);

cleanup:
    coo_free(&list);
    return status;
}

static enum status read_mtx(const char *path, csr_matrix *A, error_text *error)
{
    char head[512];
    size_t head_bytes;
    enum status status = stream_head(path, head, sizeof head, &head_bytes, error);
    if (status != STATUS_OK) return status;
    text_input in;
    status = is_archive(path, head, head_bytes) ? text_open_in_tar(&in, path, ".mtx", error)
                                                : text_open(&in, path, error);
    if (status != STATUS_OK) return status;

    header h = {0};
    status = read_banner(&in, &h, error);
    if (status == STATUS_OK) status = read_sizes(&in, &h, error);
    if (status == STATUS_OK) status = read_entries(&in, &h, A, error);
    text_close(&in);
    return status;
}

static matrix_reader mtx = {
    .name = "mtx",
    .description = "Matrix Market coordinate file (.mtx, .mtx.gz, SuiteSparse .tar.gz)",
    .recognise = recognise,
    .read = read_mtx,
    .text_files = reader_own_file,
};
REGISTER_MATRIX_READER(mtx)
