#include "matrix/standin.h"

#include "matrix/generate_lengths.h"
#include "matrix/random.h"
#include "matrix/standin_table.h"

#include <inttypes.h>
#include <stdio.h>

enum stream { FRONT_ORDER, ORDER, COLUMNS };

/* The whole number nearest to x, within the bin. */
static int64_t length_near(const length_bin *b, double x)
{
    int64_t length = (int64_t)(x + 0.5);
    return length < b->shortest ? b->shortest : length > b->longest ? b->longest : length;
}

/* The lengths of a bin's rows, longest first. A length L stands for the interval L - 1/2 .. L +
 * 1/2, so that the bin reaches from `low` to `high`; rows lie evenly above its mean and evenly
 * below it, and as many below as makes it their mean: the share (high - mean) / (high - low). */
static void spread_bin(const length_bin *b, int64_t *length)
{
    double low = (double)b->shortest - 0.5, high = (double)b->longest + 0.5;
    double mean = (double)b->nnz / (double)b->rows;
    int64_t below = (int64_t)((double)b->rows * (high - mean) / (high - low) + 0.5);
    int64_t above = b->rows - below;
    for (int64_t i = 0; i < above; i++)
        length[i] = length_near(b, high - ((double)i + 0.5) * (high - mean) / (double)above);
    for (int64_t i = 0; i < below; i++)
        length[b->rows - 1 - i] =
            length_near(b, low + ((double)i + 0.5) * (mean - low) / (double)below);
    length[b->rows - 1] = b->shortest;
    length[0] = b->longest;

    /* Rest that rounding left over, an entry a row; the first and the last row stay as they are. */
    int64_t rest = b->nnz;
    for (int64_t i = 0; i < b->rows; i++)
        rest -= length[i];
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
