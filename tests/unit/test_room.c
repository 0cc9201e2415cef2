/*
 * test_room.c - whether a problem fits, and how many devices would hold it (harness/room.h).
 */
#include "fixture.h"

#include "harness/room.h"
#include "ops/spmm.h"

static void devices_share_what_is_not_on_each(void **state)
{
    (void)state;
    assert_int_equal(devices_needed(0, 0, 10), 1);
    assert_int_equal(devices_needed(10, 4, 10), 1);
    assert_int_equal(devices_needed(11, 4, 10), 2); /* 7 shared, 6 on each */
    assert_int_equal(devices_needed(16, 4, 10), 2);
    assert_int_equal(devices_needed(16.1, 4, 10), 3);
    assert_int_equal(devices_needed(54.7e9, 14.2e9, 20e9), 7);
    assert_int_equal(devices_needed(20, 10, 10), 0); /* no room for a share */
    assert_int_equal(devices_needed(20, 11, 10), 0);
    assert_int_equal(devices_needed(1e18, 0, 1), INT64_C(1000000000000000000));
}

/* Counts before the fact are those of what create makes, in every precision, in one range and in several. */
static void counts_are_those_of_the_problem(void **state)
{
    (void)state;
    for (int cut = 0; cut <= 1; cut++)
        for (int i = 0; i < NUM_PRECISIONS; i++) {
            csr_matrix A;
            problem_bytes f;
            error_text error;
            double inputs = 0, outputs = 0;
            assert_int_equal(csr_alloc(&A, 1000, 1000, 20000, false, &error), STATUS_OK);
            for (int64_t k = 0; k < A.nnz; k++)
                A.col_idx[k] = (int32_t)(k % A.cols);
            for (int64_t row = 0; row <= A.rows; row++)
                A.row_ptr[row] = 20 * row;
            problem p = {.operation = &spmm_operation,
                         .A = &A,
                         .width = 33,
                         .seed = 1,
                         .precision = (enum precision)i};
            if (cut) setenv("SPMM_TEST_RANGE_NONZEROS", "8000", 1);
            assert_int_equal(row_stats_compute(&A, &p.stats, &error), STATUS_OK);
            assert_int_equal(spmm_operation.create(&p, &error), STATUS_OK);
            unsetenv("SPMM_TEST_RANGE_NONZEROS");
            for (int k = 0; k < p.num_inputs; k++)
                inputs += (double)p.inputs[k].bytes;
            for (int k = 0; k < p.num_outputs; k++)
                outputs += (double)output_bytes(&p.outputs[k]);
            spmm_operation.footprint(&A, p.width, p.precision, &f);
            assert_float_equal(f.device, inputs + outputs, 4 * MAX_ROW_RANGES);
            assert_float_equal(f.on_each, (double)p.inputs[3].bytes, 0);
            assert_true(f.host >= inputs - 4.0 * (double)A.nnz); /* columns are the dataset's */
            assert_true(f.result >= outputs);
            spmm_operation.destroy(&p);
            csr_free(&A);
        }
}

/* A registry's counts are enough; what is unknown, or has no footprint, is not refused ahead. */
static void what_cannot_fit_is_refused_ahead(void **state)
{
    (void)state;
    error_text error;
    dataset d = {.known_rows = 1 << 30, .known_cols = 1 << 30, .known_nnz = INT64_C(1) << 40};
    options o = {
        .operation = &spmm_operation, .widths = {1000, 32}, .num_widths = 2, .check = true};
    operation other = spmm_operation;
    other.footprint = NULL;
    assert_int_equal(room_ahead(&d, &o, PRECISION_FP32, &error), STATUS_MEMORY);
    assert_non_null(strstr(error.text, "9075.27 GB of device memory")); /* N = 32 */
    d.known_nnz = 0;
    assert_int_equal(room_ahead(&d, &o, PRECISION_FP32, &error), STATUS_OK);
    d.known_nnz = INT64_C(1) << 40;
    o.operation = &other;
    assert_int_equal(room_ahead(&d, &o, PRECISION_FP32, &error), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_share_what_is_not_on_each),
        cmocka_unit_test(counts_are_those_of_the_problem),
        cmocka_unit_test(what_cannot_fit_is_refused_ahead),
    };
    return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}
