/*
 * read_blocks.c - a layout of blocks as text, .blocks: a line "CB KB B", then CB lines of KB digits, 1 where a block of
 * B x B exists. Lines that begin with # are comments. An entry of the matrix is a block.
 *
 * The file is not kept in the cache, whose format has no place for B; a digit is quickly read.
 */
#include "matrix/block_layout.h"
#include "matrix/paths.h"
#include "matrix/reader.h"
#include "matrix/text.h"

static int recognise(const char *path, const char *head, size_t head_bytes)
{
    (void)head;
    (void)head_bytes;
    return path_is_text(path, ".blocks") ? 90 : 0;
}

typedef struct header {
    int64_t rows, cols, side;
} header;

static enum status read_header(text_input *in, header *h, error_text *error)
{
    text_next_entry(in, '#', '#');
    enum status status = text_int(in, "the number of block rows", 0, INT32_MAX, &h->rows, error);
    if (status == STATUS_OK)
        status = text_int(in, "the number of block columns", 0, INT32_MAX, &h->cols, error);
    if (status == STATUS_OK)
        status = text_int(in, "the side of a block", 1, INT32_MAX, &h->side, error);
    if (status != STATUS_OK) return status;
    if (!block_side_is_known(h->side))
        return text_fail(in, error, "blocks have a side of 8, 16, 32 or 64, not %lld",
                         (long long)h->side);
    status = text_end_line(in, error);
    /* The promise is of numbers with a separator each; digits have none. */
    return status == STATUS_OK ? text_check_promise(in, h->rows * h->cols / 2, "digits", error)
                               : status;
}

/* The columns of one block row. Blanks between digits are passed over. */
static enum status read_row(text_input *in, const header *h, int64_t row, coo_list *list,
                            error_text *error)
{
    if (!text_next_entry(in, '#', '#'))
        return text_fail(in, error, "the file ends after %lld of %lld block rows", (long long)row,
                         (long long)h->rows);
    for (int64_t k = 0; k < h->cols; k++) {
        text_skip_blanks(in);
        const char digit = *in->at;
        if (text_at_line_end(in))
            return text_fail(in, error, "the line ends after %lld of %lld digits", (long long)k,
                             (long long)h->cols);
        if (digit != '0' && digit != '1')
            return text_fail(in, error, "column %lld: expected 0 or 1, found '%c'",
                             (long long)k + 1, digit >= ' ' && digit <= '~' ? digit : '?');
        in->at++;
        if (digit == '0') continue;
        const enum status status = coo_push(list, (int32_t)row, (int32_t)k, 1, error);
        if (status != STATUS_OK) return status;
    }
    text_skip_blanks(in);
    if (!text_at_line_end(in))
        return text_fail(in, error, "the line goes on after its %lld digits", (long long)h->cols);
    return text_end_line(in, error);
}

static enum status read_rows(text_input *in, const header *h, coo_list *list, error_text *error)
{
    enum status status = STATUS_OK;
    for (int64_t row = 0; row < h->rows && h->cols > 0 && status == STATUS_OK; row++)
        status = read_row(in, h, row, list, error);
    if (status != STATUS_OK) return status;
    text_next_entry(in, '#', '#'); /* comments may end the file, too */
    return text_finish(in, "the last block row", error);
}

static enum status read_blocks(const char *path, csr_matrix *A, error_text *error)
{
    text_input in;
    header h;
    coo_list list = {0};
    enum status status = text_open(&in, path, error);
    if (status != STATUS_OK) return status;
    status = read_header(&in, &h, error);
    if (status == STATUS_OK) status = coo_init(&list, h.rows, false, error);
    if (status == STATUS_OK) status = read_rows(&in, &h, &list, error);
    text_close(&in);
    if (status == STATUS_OK) status = csr_check_side("block rows", h.rows, list.count, path, error);
    if (status == STATUS_OK) status = csr_from_coo(&list, h.rows, h.cols, A, path, error);
    if (status == STATUS_OK) A->block = (int)h.side;
    coo_free(&list);
    return status;
}

static matrix_reader blocks = {
    .name = "blocks",
    .description = "layout of block-sparse weights (.blocks, .blocks.gz): CB KB B, then digits",
    .recognise = recognise,
    .read = read_blocks,
};
REGISTER_MATRIX_READER(blocks)
