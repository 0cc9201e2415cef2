#include "matrix/standin.h"

#include "matrix/generate_lengths.h"
#include "matrix/random.h"
#include "matrix/standin_table.h"

#include <inttypes.h>
#include <stdio.h>

enum stream { FRONT_ORDER, ORDER, COLUMNS };

/* The lengths of a bin's rows, longest first. As many rows lie above the bin's mean length m and as
 * many below it as makes m their mean when both parts are spread evenly, over (m, longest] and
 * [shortest, m): of `rows`, the share (longest - m) / (longest - shortest) lies below. */
static void spread_bin(const length_bin *b, int64_t *length)
{
    int64_t width = b->longest - b->shortest, mean = b->nnz / b->rows;
    int64_t below = width ? (b->rows * b->longest - b->nnz) / width : 0;
    if (width && below < 1) below = 1;
    if (width && below > b->rows - 1) below = b->rows - 1;
    int64_t above = b->rows - below, rest = b->nnz;
    for (int64_t i = 0; i < above; i++) {
        length[i] = b->longest - i * (b->longest - mean) / above;
        rest -= length[i];
    }
    for (int64_t i = 0; i < below; i++) {
        length[b->rows - 1 - i] = b->shortest + i * (mean - b->shortest) / below;
        rest -= length[b->rows - 1 - i];
    }
    /* What rounding left over, an entry a row; the first and the last row stay as they are. */
    for (int64_t i = 1; rest != 0; i = i + 1 < b->rows - 1 ? i + 1 : 1) {
        int64_t step = rest > 0 ? 1 : -1;
        if (length[i] + step < b->shortest || length[i] + step > b->longest) continue;
        length[i] += step;
        rest -= step;
    }
}

static void make_rows(const standin_table *t, csr_matrix *A)
{
    int64_t *length = A->row_ptr + 1, *next = length;
    for (int b = t->num_bins - 1; b >= 0; b--) {
        spread_bin(&t->bin[b], next);
        next += t->bin[b].rows;
    }
    int64_t front = (int64_t)(t->longest_first * (double)t->rows);
    lengths_shuffle(length, front, random_substream(t->seed, FRONT_ORDER));
    lengths_shuffle(length + front, t->rows - front, random_substream(t->seed, ORDER));
    lengths_to_offsets(A);
}

static void print_source(const standin_table *t, char *text, size_t bytes)
{
    const column_model *m = &t->model;
    char near[80] = "", repeats[48] = "";
    if (m->near > 0)
        snprintf(near, sizeof near, ", %.4g %% of them within %" PRId64 " of the diagonal",
                 100 * m->near, m->window);
    if (m->repeats > 0) snprintf(repeats, sizeof repeats, ", %.4g %% repeated", 100 * m->repeats);
    snprintf(text, bytes, "stand-in: row lengths (%s, %d bins) %s; columns %s%s%s; seed %" PRIu64,
             t->lengths, t->num_bins, t->order, t->columns, near, repeats, t->seed);
}

enum status standin_make(const char *path, csr_matrix *A, char *source, size_t source_bytes,
                         error_text *error)
{
    standin_table table;
    *A = (csr_matrix){0};
    enum status status = standin_table_read(path, &table, error);
    if (status != STATUS_OK) return status;
    if (table.bin[table.num_bins - 1].longest >= table.rows)
        return fail(error, STATUS_DATASET, "%s: a row of %" PRId64 " in a matrix of %" PRId64, path,
                    table.bin[table.num_bins - 1].longest, table.rows);

    status = csr_alloc(A, table.rows, table.rows, table.nnz, false, error);
    if (status != STATUS_OK) return status;
    make_rows(&table, A);
    status = columns_draw(A, &table.model, random_substream(table.seed, COLUMNS), error);
    if (status != STATUS_OK) {
        csr_free(A);
        return status;
    }
    print_source(&table, source, source_bytes);
    return STATUS_OK;
}
