/*
 * test_row_windows.c - windows of rows and runs of eight nonzeros: from the format A comes back, to the bit; the order
 * within a window; what is filled up; the same format from GPU and host; and its bytes.
 */
#include "formats/row_windows.h"
#include "matrix/shapes.h"

#include "device_pattern.h"

#include <string.h>

/* The arrays of a format, in host memory. */
typedef struct on_host {
    float *value, *rest_value;
    uint32_t *key;
    int *row, *rest_row, *rest_start, *rest_column, *source;
    window_item *item;
} on_host;

static on_host fetch(const row_windows *w)
{
    const size_t slots = (size_t)w->runs * RUN;
    on_host h = {.value = to_host(w->d_value, slots * sizeof(float)),
                 .rest_value = to_host(w->d_rest_value, w->rest * sizeof(float)),
                 .key = to_host(w->d_key, slots * sizeof(uint32_t)),
                 .rest_row = to_host(w->d_rest_row, w->rest_rows * sizeof(int)),
                 .rest_start = to_host(w->d_rest_start, (w->rest_rows + 1) * sizeof(int)),
                 .rest_column = to_host(w->d_rest_column, w->rest * sizeof(int)),
                 .source = to_host(w->d_source, (slots + w->rest) * sizeof(int)),
                 .item = to_host(w->d_item, w->items * sizeof(window_item))};
    if (w->d_row) h.row = to_host(w->d_row, w->window_rows * sizeof(int));
    return h;
}

static void release(on_host *h)
{
    void *const arrays[] = {h->value,      h->rest_value,  h->key,    h->row, h->rest_row,
                            h->rest_start, h->rest_column, h->source, h->item};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

/* Notes that nonzero `z` of A was found: at this row and column, with this value. */
static void find(const csr_matrix *A, const float *values, bool *seen, int z, int row, int column,
                 float value)
{
    assert_true(z >= A->row_ptr[row] && z < A->row_ptr[row + 1] && !seen[z]);
    assert_int_equal(A->col_idx[z], column);
    assert_memory_equal(&values[z], &value, sizeof value);
    seen[z] = true;
}

static void assert_whole(const csr_matrix *A, const float *values, const row_windows *w,
                         const on_host *h)
{
    bool *seen = calloc(A->nnz + 1, 1), *covered = calloc(w->runs + 1, 1);
    const int longest = w->shape.longest;
    int found = 0;
    assert_true(seen && covered);
    for (int i = 0; i < w->items; i++) {
        const window_item *m = &h->item[i];
        assert_true(m->runs <= longest && (m->shared < 0 || m->runs > 0));
        for (int r = m->first_run; r < m->first_run + m->runs; r++) {
            assert_false(covered[r]);
            covered[r] = true;
            for (int k = r * RUN; k < (r + 1) * RUN; k++) {
                const int place = m->window * WINDOW_ROWS + h->key[k] % WINDOW_ROWS;
                if (h->source[k] < 0) { /* filled up: a row of B that is read anyway */
                    assert_true(h->value[k] == 0 && h->key[k] == h->key[k - 1]);
                    continue;
                }
                if (k % RUN) assert_true(h->key[k] >= h->key[k - 1]);
                assert_true(place < w->window_rows);
                find(A, values, seen, h->source[k], h->row ? h->row[place] : place,
                     (int)(h->key[k] / WINDOW_ROWS), h->value[k]);
                found++;
            }
        }
    }
    for (int i = 0; i < w->rest_rows; i++)
        for (int k = h->rest_start[i]; k < h->rest_start[i + 1]; k++, found++)
            find(A, values, seen, h->source[w->runs * RUN + k], h->rest_row[i] & ~RESIDUAL_ADDS,
                 h->rest_column[k], h->rest_value[k]);
    assert_int_equal(found, A->nnz);
    for (int r = 0; r < w->runs; r++)
        assert_true(covered[r]);
    free(seen);
    free(covered);
}

static void assert_same(const row_windows *a, const on_host *x, const row_windows *b,
                        const on_host *y)
{
    const size_t slots = (size_t)a->runs * RUN;
    assert_true(a->runs == b->runs && a->items == b->items && a->shared == b->shared);
    assert_true(a->rest == b->rest && a->rest_rows == b->rest_rows);
    assert_memory_equal(x->value, y->value, slots * sizeof(float));
    assert_memory_equal(x->key, y->key, slots * sizeof(uint32_t));
    assert_memory_equal(x->source, y->source, (slots + a->rest) * sizeof(int));
    assert_memory_equal(x->item, y->item, a->items * sizeof(window_item));
    assert_memory_equal(x->rest_row, y->rest_row, a->rest_rows * sizeof(int));
    assert_memory_equal(x->rest_start, y->rest_start, (a->rest_rows + 1) * sizeof(int));
    assert_memory_equal(x->rest_column, y->rest_column, a->rest * sizeof(int));
    assert_memory_equal(x->rest_value, y->rest_value, a->rest * sizeof(float));
}

/* Builds in both spaces, checks one format and compares the other. */
static void assert_format(const csr_matrix *A, bool residual, int short_row, int longest)
{
    device_csr d = pattern_on_device(A);
    float *values = malloc((A->nnz + 1) * sizeof *values);
    row_windows *gpu, *host;
    assert_non_null(values);
    for (int64_t k = 0; k < A->nnz; k++)
        values[k] = (float)(k + 1) / 3;
    d.d_values = to_device(values, A->nnz * sizeof *values);
    row_windows_shape shape = {residual, short_row, longest, ON_DEVICE};
    assert_int_equal(row_windows_build(&d, NULL, &shape, &gpu), cudaSuccess);
    shape.where = ON_HOST;
    assert_int_equal(row_windows_build(&d, NULL, &shape, &host), cudaSuccess);
    on_host x = fetch(gpu), y = fetch(host);
    assert_whole(A, values, gpu, &x);
    assert_same(gpu, &x, host, &y);
    release(&x);
    release(&y);
    row_windows_free(gpu);
    row_windows_free(host);
    cudaFree((void *)d.d_values);
    pattern_free(&d);
    free(values);
}

static void every_nonzero_comes_back(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_SHAPES; i++) {
        csr_matrix A;
        error_text error;
        assert_int_equal(SHAPES[i].make(&A, &error), STATUS_OK);
        assert_format(&A, false, 0, 32);
        assert_format(&A, true, 0, 8);
        assert_format(&A, true, 32, 256);
        csr_free(&A);
    }
}

/* A window of 16 rows and one of 2 rows, with 10 columns: 160 + 20 nonzeros are 20 + 2 runs, residual 0 + 4. */
static void bytes_are_counted(void **state)
{
    (void)state;
    csr_matrix A = dense_part(18, 10, all);
    device_csr d = pattern_on_device(&A);
    d.d_values = to_device(A.col_idx, A.nnz * sizeof(float));
    row_windows_shape shape = {true, 0, 8, ON_DEVICE};
    row_windows *w;
    assert_int_equal(row_windows_build(&d, NULL, &shape, &w), cudaSuccess);
    assert_true(w->runs == 22 && w->rest == 4 && w->rest_rows == 2 && w->windows == 2);
    assert_true(w->items == 4 && w->shared == 1 && w->parts == 3);
    assert_int_equal(row_windows_published_bytes(w), 96 * 22 + 4 * 3 + 8 * 4 + 4 * 5);
    assert_int_equal(row_windows_bytes(w), 64 * 22 + 16 * 5 + 8 * 4 + 4 * 5);
    row_windows_free(w);
    shape.residual = false;
    assert_int_equal(row_windows_build(&d, NULL, &shape, &w), cudaSuccess);
    assert_true(w->runs == 23 && w->rest == 0);
    assert_int_equal(row_windows_bytes(w), 64 * 23 + 16 * 5);
    row_windows_free(w);
    d.cols = MAX_WINDOW_COLUMNS + 1;
    assert_int_equal(row_windows_build(&d, NULL, &shape, &w), cudaErrorNotSupported);
    assert_null(w);
    cudaFree((void *)d.d_values);
    pattern_free(&d);
    csr_free(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nonzero_comes_back),
        cmocka_unit_test(bytes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
