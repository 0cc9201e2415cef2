/* Rows cut into ranges of like work, and ranges as matrices of their own (formats/row_ranges.h); how parts of B are
 * dealt, and the loopback that gathers them (exchange/exchange.h); and the order in which their rows arrive. */
#include "fixture.h"

#include "exchange/exchange.h"
#include "formats/arrival_order.h"
#include "formats/named_rows.h"
#include "formats/row_ranges.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void ranges_are_cut_where_the_work_before_reaches_their_share(void **state)
{
    (void)state;
    /* Work before the rows: 0 24 32 40 48 56 64 72, of 80. */
    const int64_t row_ptr[] = {0, 20, 24, 28, 32, 36, 40, 44, 48};
    int64_t first[9];
    row_ranges_cut(row_ptr, 8, 2, first);
    assert_int_equal(first[0], 0);
    assert_int_equal(first[1], 3);
    assert_int_equal(first[2], 8);
    row_ranges_cut(row_ptr, 8, 8, first); /* shares of 10: row 0 has more than two of them */
    const int64_t eighths[] = {0, 1, 1, 2, 3, 5, 6, 7, 8};
    assert_memory_equal(first, eighths, sizeof eighths);
}

static void ranges_without_rows_are_empty(void **state)
{
    (void)state;
    const int64_t none[] = {0}, one[] = {0, 5};
    int64_t first[4];
    row_ranges_cut(none, 0, 3, first);
    for (int i = 0; i <= 3; i++)
        assert_int_equal(first[i], 0);
    row_ranges_cut(one, 1, 3, first);
    assert_int_equal(first[0], 0);
    assert_int_equal(first[1], 1); /* the row is rank 0's */
    assert_int_equal(first[3], 1);
}

/* Four rows of 2^30 nonzeros each: offsets that 32 bits do not hold. Nothing but offsets is there. */
static void offsets_may_pass_32_bits(void **state)
{
    (void)state;
    const int64_t each = INT64_C(1) << 30, row_ptr[] = {0, each, 2 * each, 3 * each, 4 * each};
    const csr_matrix A = {.rows = 4, .cols = 1, .nnz = 4 * each, .row_ptr = (int64_t *)row_ptr};
    int64_t first[5];
    row_range range;
    row_ranges_cut(row_ptr, 4, 4, first);
    for (int i = 0; i <= 4; i++)
        assert_int_equal(first[i], i);
    assert_int_equal(row_range_make(&A, NULL, 0, 2, sizeof(float), &range), cudaErrorInvalidValue);
    assert_null(range.d_row_ptr);
}

static void a_range_is_a_matrix_of_its_own(void **state)
{
    (void)state;
    int64_t row_ptr[] = {0, 2, 2, 5, 6};
    int32_t columns[] = {1, 3, 0, 2, 4, 3};
    float values[] = {1, 2, 3, 4, 5, 6};
    const csr_matrix A = {.rows = 4, .cols = 5, .nnz = 6, .row_ptr = row_ptr, .col_idx = columns};
    row_range range;
    assert_int_equal(row_range_make(&A, columns, 1, 4, sizeof(float), &range), cudaSuccess);
    assert_int_equal(row_range_set_values(&range, &A, values), cudaSuccess);
    assert_int_equal(range.first, 1);
    assert_int_equal(range.A.rows, 3);
    assert_int_equal(range.A.cols, 5);
    assert_int_equal(range.A.nnz, 4);
    assert_int_equal(range.stats.max, 3);
    assert_int_equal(range.stats.empty_rows, 1);
    const int rebased[] = {0, 0, 3, 4};
    int offsets[4], own_columns[4];
    float own_values[4];
    cudaMemcpy(offsets, range.A.d_row_ptr, sizeof offsets, cudaMemcpyDeviceToHost);
    cudaMemcpy(own_columns, range.A.d_col_idx, sizeof own_columns, cudaMemcpyDeviceToHost);
    cudaMemcpy(own_values, range.A.d_values, sizeof own_values, cudaMemcpyDeviceToHost);
    assert_memory_equal(offsets, rebased, sizeof rebased);
    assert_memory_equal(own_columns, columns + 2, sizeof own_columns);
    assert_memory_equal(own_values, values + 2, sizeof own_values);
    for (int i = 0; i <= 3; i++)
        assert_int_equal(range.A.host->row_ptr[i], rebased[i]);
    row_range_free(&range);
}

static void parts_differ_by_one_row(void **state)
{
    (void)state;
    for (int64_t count = 0; count < 20; count++)
        for (int ranks = 1; ranks < 9; ranks++) {
            assert_int_equal(exchange_part(count, ranks, 0), 0);
            assert_int_equal(exchange_part(count, ranks, ranks), count);
            for (int r = 0; r < ranks; r++) {
                const int64_t size =
                    exchange_part(count, ranks, r + 1) - exchange_part(count, ranks, r);
                assert_in_range(size, count / ranks, count / ranks + (count % ranks > 0));
            }
        }
}

/* Pieces of a gather test: rank r has r bytes of value r. */
typedef struct pieces {
    exchange *e;
    void *d_own[4], *d_whole[4];
} pieces;

static cudaError_t gather_pieces(exchange_rank *r, void *context)
{
    pieces *p = context;
    const exchange_piece all[] = {
        {p->d_own[0], 0, 0}, {p->d_own[1], 1, 0}, {p->d_own[2], 2, 2}, {p->d_own[3], 3, 4}};
    return p->e->kind->gather(p->e, r, all, p->d_whole[r->rank]);
}

static void the_loopback_gathers_pieces_of_any_size(void **state)
{
    (void)state;
    pieces p;
    cudaStream_t stream;
    assert_int_equal(exchange_open_loopback(0, &p.e), cudaErrorInvalidValue);
    assert_int_equal(exchange_open_loopback(EXCHANGE_MOST_RANKS + 1, &p.e), cudaErrorInvalidValue);
    assert_int_equal(exchange_open_loopback(4, &p.e), cudaSuccess);
    for (int r = 0; r < 4; r++) {
        cudaMalloc(&p.d_own[r], 8);
        cudaMalloc(&p.d_whole[r], 8);
        cudaMemset(p.d_own[r], r, 8);
        cudaMemset(p.d_whole[r], 99, 8);
    }
    cudaStreamCreate(&stream);
    assert_int_equal(exchange_fork(p.e, stream), cudaSuccess);
    assert_int_equal(p.e->kind->each(p.e, gather_pieces, &p), cudaSuccess);
    assert_int_equal(exchange_join(p.e, stream), cudaSuccess);
    cudaStreamSynchronize(stream);
    const unsigned char expected[] = {1, 99, 2, 2, 3, 3, 3, 99};
    for (int r = 0; r < 4; r++) {
        unsigned char got[8];
        cudaMemcpy(got, p.d_whole[r], sizeof got, cudaMemcpyDeviceToHost);
        assert_memory_equal(got, expected, sizeof got);
        cudaFree(p.d_own[r]);
        cudaFree(p.d_whole[r]);
    }
    cudaStreamDestroy(stream);
    exchange_close(p.e);
    exchange_close(NULL);
}

/* A step that fails on rank 2 and counts its calls. */
static cudaError_t fail_on_two(exchange_rank *r, void *context)
{
    ++*(int *)context;
    return r->rank == 2 ? cudaErrorUnknown : cudaSuccess;
}

static void a_failing_rank_ends_the_step(void **state)
{
    (void)state;
    exchange *e;
    int calls = 0;
    assert_int_equal(exchange_open_loopback(4, &e), cudaSuccess);
    assert_int_equal(e->kind->each(e, fail_on_two, &calls), cudaErrorUnknown);
    assert_int_equal(calls, 3);
    exchange_close(e);
}

/* Whatever V, P and K: chunks hold each row once, at places of their own, chunk by chunk in order of the ranks. */
static void rows_arrive_once_in_the_order_of_chunks(void **state)
{
    (void)state;
    for (int64_t rows = 0; rows < 40; rows++)
        for (int ranks = 1; ranks < 6; ranks++)
            for (int chunks = 1; chunks < 6; chunks++) {
                const arrival_order o = arrival_order_of(rows, ranks, chunks);
                int64_t seen = 0, last = -1;
                for (int k = 0; k < chunks; k++)
                    for (int q = 0; q < ranks; q++) {
                        int64_t from, end;
                        arrival_chunk(&o, q, k, &from, &end);
                        assert_true(from >= exchange_part(rows, ranks, q));
                        assert_true(end <= exchange_part(rows, ranks, q + 1));
                        for (int64_t v = from; v < end; v++, seen++) {
                            const int64_t place = arrival_place(&o, v);
                            assert_true(place > last);
                            assert_int_equal(place / arrival_chunk_rows(&o), k);
                            last = place;
                        }
                    }
                assert_int_equal(seen, rows);
                assert_true(last < arrival_rows(&o) || rows == 0);
            }
    const arrival_order two = arrival_order_of(16, 2, 2);
    assert_int_equal(arrival_place(&two, 11), 7);
}

/* A matrix of 6 x 23 with some columns that nobody names, cut for 3 ranks of which the last has one row. */
static void each_rank_takes_the_rows_that_it_names(void **state)
{
    (void)state;
    enum { COLS = 23, RANKS = 3 };
    int64_t row_ptr[] = {0, 3, 5, 5, 9, 10, 12};
    int32_t columns[] = {0, 7, 22, 7, 8, 1, 1, 15, 20, 3, 22, 0};
    const int64_t first_row[RANKS + 1] = {0, 3, 5, 6};
    const csr_matrix A = {
        .rows = 6, .cols = COLS, .nnz = 12, .row_ptr = row_ptr, .col_idx = columns};
    for (int chunks = 1; chunks < 6; chunks++)
        for (int all = 0; all < 2; all++) {
            const arrival_order order = arrival_order_of(COLS, RANKS, chunks);
            named_rows n;
            assert_true(named_rows_make(&n, &A, first_row, &order, all));
            for (int r = 0; r < RANKS; r++) {
                int32_t place[COLS];
                bool named[COLS] = {false}, taken[RANKS * COLS] = {false};
                int64_t listed = 0, wanted = 0;
                for (int v = 0; v < COLS; v++)
                    place[v] = -1;
                for (int64_t k = row_ptr[first_row[r]]; k < row_ptr[first_row[r + 1]]; k++)
                    named[columns[k]] = true;
                named_rows_places(&n, r, place);
                for (int k = 0; k < chunks; k++)
                    for (int q = 0; q < RANKS; q++) {
                        int64_t count, from, end;
                        const int32_t *list = named_rows_list(&n, r, k, q, &count);
                        arrival_chunk(&order, q, k, &from, &end);
                        for (int64_t i = 0; i < count; i++, listed++) {
                            assert_in_range(list[i], from, end - 1);
                            assert_true(i == 0 || list[i] > list[i - 1]);
                            assert_int_equal(place[list[i]], named_rows_place(&n, r, k, q) + i);
                            assert_int_equal(place[list[i]] / n.width[r], k);
                        }
                    }
                for (int v = 0; v < COLS; v++) {
                    wanted += all || named[v];
                    assert_int_equal(place[v] >= 0, all || named[v]);
                    if (place[v] < 0) continue;
                    assert_false(taken[place[v]]); /* each has a place of its own */
                    taken[place[v]] = true;
                }
                assert_int_equal(listed, wanted);
            }
            named_rows_free(&n);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_cut_where_the_work_before_reaches_their_share),
        cmocka_unit_test(ranges_without_rows_are_empty),
        cmocka_unit_test(offsets_may_pass_32_bits),
        cmocka_unit_test(a_range_is_a_matrix_of_its_own),
        cmocka_unit_test(parts_differ_by_one_row),
        cmocka_unit_test(the_loopback_gathers_pieces_of_any_size),
        cmocka_unit_test(a_failing_rank_ends_the_step),
        cmocka_unit_test(rows_arrive_once_in_the_order_of_chunks),
        cmocka_unit_test(each_rank_takes_the_rows_that_it_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
