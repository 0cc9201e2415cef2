/*
 * test_strips.c - strips of nonzeros. Every place has the row and the column of a nonzero of its own. Places
 * follow each other by block, row and column. A pattern whose columns do not ascend is left whole.
 */
#include "formats/strips.h"
#include "matrix/shapes.h"

#include "device_pattern.h"

/* The arrays of a format, in host memory. */
typedef struct on_host {
    strip *strip;
    int *row, *offset, *column;
} on_host;

static on_host fetch(const strips *s)
{
    on_host h = {.strip = to_host(s->d_strip, (s->places + STRIP - 1) / STRIP * sizeof(strip)),
                 .row = to_host(s->d_row, s->segments * sizeof(int)),
                 .column = to_host(s->d_column, s->places * sizeof(int))};
    if (s->d_offset) h.offset = to_host(s->d_offset, s->segments * sizeof(int));
    return h;
}

static void release(on_host *h)
{
    free(h->strip);
    free(h->row);
    free(h->offset);
    free(h->column);
}

/* The segment of a place: that of the strip, and one more for each bit up to the place's own. */
static int segment_at(const on_host *h, int place)
{
    const strip *s = &h->strip[place / STRIP];
    int segment = s->segment;
    for (int i = 1; i <= place % STRIP; i++)
        segment += s->starts >> i & 1;
    return segment;
}

static void assert_places(const csr_matrix *A, const strips *s, const on_host *h)
{
    const int64_t cols = A->cols > 0 ? A->cols : 1, block_cols = (cols - 1) / s->blocks + 1;
    bool *seen = calloc(A->nnz + 1, 1);
    int64_t last = -1; /* what the place before is sorted by */
    assert_non_null(seen);
    assert_int_equal(s->places, A->nnz);
    for (int place = 0; place < s->places; place++) {
        const int segment = segment_at(h, place);
        assert_true(segment >= 0 && segment < s->segments);
        const int row = h->row[segment], z = place + (h->offset ? h->offset[segment] : 0);
        assert_true(z >= A->row_ptr[row] && z < A->row_ptr[row + 1]);
        assert_false(seen[z]);
        seen[z] = true;
        assert_int_equal(h->column[place], A->col_idx[z]);
        const int64_t block = A->col_idx[z] / block_cols;
        const int64_t key = (s->blocks > 1 ? block * A->nnz * A->rows : 0) + row * A->nnz + z;
        assert_true(key > last);
        last = key;
        if (place % STRIP == 0) assert_false(h->strip[place / STRIP].starts & 1);
    }
    if (s->places) assert_int_equal(segment_at(h, s->places - 1), s->segments - 1);
    free(seen);
}

/* Builds the format, checks it, and returns how many blocks it has. */
static int assert_format(const csr_matrix *A, int blocks)
{
    device_csr d = pattern_on_device(A);
    strips *s;
    assert_int_equal(strips_build(&d, blocks, &s), cudaSuccess);
    on_host h = fetch(s);
    assert_places(A, s, &h);
    const int built = s->blocks;
    const size_t words = (size_t)A->nnz + (built > 1 ? 2 : 1) * (size_t)s->segments;
    assert_int_equal(strips_bytes(s), 4 * words + 8 * ((A->nnz + STRIP - 1) / STRIP));
    release(&h);
    strips_free(s);
    pattern_free(&d);
    return built;
}

static void every_place_is_a_nonzero_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_SHAPES; i++) {
        csr_matrix A;
        error_text error;
        assert_int_equal(SHAPES[i].make(&A, &error), STATUS_OK);
        for (int blocks = 1; blocks <= 16; blocks += 5)
            assert_true(assert_format(&A, blocks) <= blocks);
        csr_free(&A);
    }
}

static void ascending_columns_are_cut(void **state)
{
    (void)state;
    csr_matrix A = dense_part(70, 90, scattered), B = dense_part(40, 6, all);
    assert_int_equal(assert_format(&A, 1), 1);
    assert_int_equal(assert_format(&A, 4), 4);
    assert_int_equal(assert_format(&A, 12), 12);
    assert_int_equal(assert_format(&B, 4), 3);  /* two columns each: a fourth would have none */
    assert_int_equal(assert_format(&B, 16), 6); /* a column each */
    csr_free(&A);
    csr_free(&B);
}

static void columns_in_disorder_stay_whole(void **state)
{
    (void)state;
    csr_matrix A = dense_part(20, 30, scattered);
    const int64_t z = A.row_ptr[7];
    const int32_t first = A.col_idx[z];
    A.col_idx[z] = A.col_idx[z + 1];
    A.col_idx[z + 1] = first;
    assert_int_equal(assert_format(&A, 4), 1);
    csr_free(&A);
}

static void a_quarter_of_a_byte_tells_the_row(void **state)
{
    (void)state;
    csr_matrix A = dense_part(1, 3200, all);
    device_csr d = pattern_on_device(&A);
    strips *s;
    assert_int_equal(strips_build(&d, 1, &s), cudaSuccess);
    assert_int_equal(strips_bytes(s), 3200 * 4 + 3200 / 4 + 4); /* columns, strips, one row */
    strips_free(s);
    pattern_free(&d);
    csr_free(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_is_a_nonzero_of_its_own),
        cmocka_unit_test(ascending_columns_are_cut),
        cmocka_unit_test(columns_in_disorder_stay_whole),
        cmocka_unit_test(a_quarter_of_a_byte_tells_the_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
