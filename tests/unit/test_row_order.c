/* An order of rows by length, window by window (matrix/row_order.h). */
#include "fixture.h"

#include "matrix/row_order.h"

static void the_longest_first_in_each_window(void **state)
{
    (void)state;
    /* Lengths 1 5 0 5 | 2 9 2, in windows of 4. */
    int64_t offsets[] = {0, 1, 6, 6, 11, 13, 22, 24};
    csr_matrix A = {.rows = 7, .cols = 9, .nnz = 24, .row_ptr = offsets};
    const int by_length[] = {1, 3, 0, 2, 5, 4, 6};
    const int by_fours[] = {1, 3, 0, 2, 5, 4, 6};    /* classes 1 2 0 2 | 1 3 1 */
    const int two_classes[] = {0, 1, 3, 2, 4, 5, 6}; /* some, or none */
    int order[7];
    rows_by_length(&A, 4, 1, MAX_ROW_CLASSES, order);
    assert_memory_equal(order, by_length, sizeof order);
    rows_by_length(&A, 4, 4, 64, order);
    assert_memory_equal(order, by_fours, sizeof order);
    rows_by_length(&A, 4, 1, 2, order);
    assert_memory_equal(order, two_classes, sizeof order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_first_in_each_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
