/*
 * test_spmm_ranges.c - A in ranges of rows (ops/spmm_ranges.h): where it is cut, up to each side of the limit; offsets that
 * 32 bits do not hold; the problem of the operation, whose arrays are cut alike; and the sample that is compared.
 */
#include "real_problem.h"

#include "harness/verify.h"
#include "matrix/generate.h"
#include "matrix/test_limit.h"
#include "ops/inputs.h"
#include "ops/spmm.h"
#include "ops/spmm_ranges.h"
#include "random_matrix.h"

enum { ROW_PTR, COL_IDX, VALUES, B_DENSE, NUM_INPUTS };

#define LIMIT "SPMM_TEST_RANGE_NONZEROS"
#define CHECKED "SPMM_TEST_CHECKED_ELEMENTS"

static int clear(void **state)
{
    (void)state;
    return unsetenv(LIMIT) + unsetenv(CHECKED);
}

/* ---- the hook -------------------------------------------------------------------------------- */

static void a_hook_lowers_a_limit_and_never_raises_it(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t limit;
    } CASES[] = {
        {"", 100},   {"1", 1},    {"100", 100}, {"101", 100}, {"0", 100},
        {"-5", 100}, {"7x", 100}, {"x", 100},   {"1e1", 100}, {"99999999999999999999", 100}};
    assert_int_equal(test_limit(LIMIT, 100), 100);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        setenv(LIMIT, CASES[i].text, 1);
        assert_int_equal(test_limit(LIMIT, 100), CASES[i].limit);
    }
}

/* ---- where A is cut -------------------------------------------------------------------------- */

/* Each range holds as many rows as fit: the next `step` rows would exceed `most`. */
static void assert_cut(const int64_t *row_ptr, int64_t rows, int64_t most, int64_t step)
{
    int64_t first[MAX_ROW_RANGES + 1], row;
    const int count = spmm_ranges_fill(row_ptr, rows, most, step, first, &row);
    if (count <= 0) return;
    assert_int_equal(first[0], 0);
    assert_int_equal(first[count], rows);
    for (int r = 0; r < count; r++) {
        assert_int_equal(first[r] % step, 0);
        assert_true(first[r] < first[r + 1] || rows == 0);
        assert_true(row_ptr[first[r + 1]] - row_ptr[first[r]] <= most);
        if (first[r + 1] == rows) continue;
        const int64_t next = first[r + 1] + step < rows ? first[r + 1] + step : rows;
        assert_true(row_ptr[next] - row_ptr[first[r]] > most);
    }
}

static void ranges_hold_as_many_rows_as_fit(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        csr_matrix A = random_matrix(seed, 70, 30, 400, false);
        for (int64_t most = A.nnz / 7 + 1; most <= A.nnz + 1; most += A.nnz / 10 + 1)
            for (int64_t step = 1; step <= 8; step *= 2)
                assert_cut(A.row_ptr, A.rows, most, step);
        csr_free(&A);
    }
    const int64_t none[] = {0};
    assert_cut(none, 0, 5, 1);
}

/* One row below, at and above the limit, between empty ones. */
static void a_row_may_be_as_long_as_the_limit(void **state)
{
    (void)state;
    int64_t first[MAX_ROW_RANGES + 1], row;
    for (int64_t length = 9; length <= 11; length++) {
        const int64_t row_ptr[] = {0, 0, 0, length, length, length + 1};
        const int count = spmm_ranges_fill(row_ptr, 5, 10, 1, first, &row);
        assert_int_equal(count, length == 9 ? 1 : length == 10 ? 2 : 0);
        if (length == 10) assert_int_equal(first[1], 4);
        if (length == 11) assert_int_equal(row, 2);
    }
}

static void there_are_only_so_many_ranges(void **state)
{
    (void)state;
    int64_t first[MAX_ROW_RANGES + 1], row, row_ptr[MAX_ROW_RANGES + 2];
    for (int i = 0; i <= MAX_ROW_RANGES + 1; i++)
        row_ptr[i] = 5 * i;
    assert_int_equal(spmm_ranges_fill(row_ptr, MAX_ROW_RANGES, 5, 1, first, &row), MAX_ROW_RANGES);
    assert_int_equal(spmm_ranges_fill(row_ptr, MAX_ROW_RANGES + 1, 5, 1, first, &row), -1);
}

/* Six rows of 2^30 nonzeros, of which nothing but offsets is there. A sum, a difference or a middle in 32 bits would be
 * negative, or too small. */
static void offsets_may_pass_32_bits(void **state)
{
    (void)state;
    const int64_t each = INT64_C(1) << 30;
    const int64_t row_ptr[] = {0, each, 2 * each, 3 * each, 4 * each, 5 * each, 6 * each};
    int64_t first[MAX_ROW_RANGES + 1], row;
    assert_int_equal(spmm_ranges_fill(row_ptr, 6, MAX_NNZ, 1, first, &row), 6);
    assert_int_equal(spmm_ranges_fill(row_ptr, 6, 3 * each, 1, first, &row), 2);
    assert_int_equal(first[1], 3);
    assert_int_equal(spmm_ranges_fill(row_ptr, 6, 6 * each - 1, 1, first, &row), 2);
    assert_int_equal(first[1], 5);
    assert_int_equal(spmm_ranges_fill(row_ptr, 6, MAX_NNZ, 2, first, &row),
                     0); /* 2^31 in two rows */
    assert_int_equal(row, 0);
}

/* ---- the problem ----------------------------------------------------------------------------- */

static void arrays_are_cut_alike(void **state)
{
    (void)state;
    problem whole, cut;
    csr_matrix A = random_matrix(5, 60, 50, 900, false);
    problem_create(&whole, &spmm_operation, PRECISION_FP32, &A, 32, 3);
    char limit[24];
    snprintf(limit, sizeof limit, "%lld", (long long)(A.nnz / 3));
    setenv(LIMIT, limit, 1);
    problem_create(&cut, &spmm_operation, PRECISION_FP32, &A, 32, 3);
    assert_in_range(cut.num_ranges, 3, MAX_ROW_RANGES);
    assert_int_equal(whole.num_ranges, 1);
    assert_int_equal(cut.num_inputs, 1 + 3 * cut.num_ranges);
    assert_string_equal(cut.inputs[B_DENSE].name, "B");
    assert_memory_equal(cut.inputs[B_DENSE].data, whole.inputs[B_DENSE].data,
                        whole.inputs[B_DENSE].bytes);
    for (int r = 0; r < cut.num_ranges; r++) {
        const operand *in = &cut.inputs[r ? NUM_INPUTS + 3 * (r - 1) : 0];
        const int64_t first = cut.range_first[r], rows = cut.range_first[r + 1] - first;
        const int64_t at = A.row_ptr[first], nnz = A.row_ptr[first + rows] - at;
        assert_int_equal(in[ROW_PTR].bytes, (rows + 1) * sizeof(int32_t));
        assert_int_equal(in[COL_IDX].bytes, nnz * sizeof(int32_t));
        assert_int_equal(in[VALUES].bytes, nnz * sizeof(float));
        for (int64_t i = 0; i <= rows; i++)
            assert_int_equal(((const int32_t *)in[ROW_PTR].data)[i], A.row_ptr[first + i] - at);
        assert_memory_equal(in[COL_IDX].data, A.col_idx + at, in[COL_IDX].bytes);
        assert_memory_equal(in[VALUES].data, (const float *)whole.inputs[VALUES].data + at,
                            in[VALUES].bytes);
    }
    cut.operation->destroy(&cut);
    whole.operation->destroy(&whole);
    csr_free(&A);
}

/* Where the limit needs two ranges, they are alike; without a share, the first would have 1000 nonzeros. */
static void ranges_are_about_alike(void **state)
{
    (void)state;
    csr_matrix A = full_pattern(160, 10);
    problem p;
    setenv(LIMIT, "1000", 1);
    problem_create(&p, &spmm_operation, PRECISION_FP32, &A, 32, 3);
    assert_int_equal(p.num_ranges, 2);
    assert_in_range(A.row_ptr[p.range_first[1]], 800, 810);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* Rows of C of a range begin at a multiple of 16 bytes, whatever N. */
static void ranges_begin_where_vectors_do(void **state)
{
    (void)state;
    csr_matrix A = random_matrix(7, 200, 50, 2000, false);
    setenv(LIMIT, "500", 1);
    for (int N = 1; N <= 40; N++)
        for (int i = 0; i < NUM_PRECISIONS; i++) {
            problem p;
            problem_create(&p, &spmm_operation, (enum precision)i, &A, N, 3);
            const size_t row_bytes = N * precision_format(p.precision)->bytes;
            assert_true(p.num_ranges > 2);
            for (int r = 0; r < p.num_ranges; r++)
                assert_int_equal(p.range_first[r] * row_bytes % 16, 0);
            p.operation->destroy(&p);
        }
    csr_free(&A);
}

/* The range of a problem whose arrays are small begins at row 10^8 of C, 12.8 GB behind its start. */
static void *C_of_run[MAX_ROW_RANGES];
static int runs;

static cudaError_t note_C(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    (void)plan, (void)B, (void)stream;
    C_of_run[runs++] = C;
    return cudaSuccess;
}

static void offsets_into_C_may_pass_32_bits(void **state)
{
    (void)state;
    const spmm_contender noting = {.base = {.operation = &spmm_operation, .lab = 1}, .run = note_C};
    csr_matrix A = full_pattern(160, 10);
    problem p;
    void *d_inputs[MAX_OPERANDS] = {0}, *instance, *d_C[] = {(void *)4096};
    int tuning[MAX_TUNABLES] = {0};
    setenv(LIMIT, "1000", 1);
    problem_create(&p, &spmm_operation, PRECISION_FP32, &A, 32, 3);
    p.range_first[1] = 100000000;
    assert_int_equal(spmm_operation.prepare(&noting.base, &p, d_inputs, tuning, &instance),
                     cudaSuccess);
    assert_int_equal(spmm_operation.run(instance, d_C, 0), cudaSuccess);
    assert_int_equal(runs, 2);
    assert_ptr_equal(C_of_run[0], (void *)4096);
    assert_ptr_equal(C_of_run[1], (void *)(4096 + INT64_C(12800000000)));
    spmm_operation.release(instance);
    p.operation->destroy(&p);
    csr_free(&A);
}

static void what_no_range_takes_is_refused(void **state)
{
    (void)state;
    csr_matrix A = one_row(11, 1), square = full_pattern(40, 40);
    setenv(LIMIT, "10", 1);
    assert_problem_refused(&spmm_operation, PRECISION_FP32, &A, 32, STATUS_MEMORY,
                           "row 0 has 11 nonzeros: the 32-bit offsets of kernels take at most 10");
    setenv(LIMIT, "40", 1);
    assert_problem_refused(&spmm_operation, PRECISION_FP32, &square, 32, STATUS_MEMORY,
                           "1600 nonzeros need more than 8 row ranges of at most 40");
    assert_problem_refused(&spmm_operation, PRECISION_FP32, &square, 2, STATUS_MEMORY,
                           "rows 0 to 1, which C's alignment keeps together at this N, have 80");
    csr_free(&A);
    csr_free(&square);
}

/* ---- the sample ------------------------------------------------------------------------------ */

/* 1000 rows of 50 columns in three ranges; of them about 40 are compared. */
static void a_sample_holds_the_rows_that_matter(void **state)
{
    (void)state;
    csr_matrix A;
    problem p;
    reference ref;
    comparison c;
    error_text error;
    char spelled[200];
    assert_int_equal(generate("powerlaw:rows=1000,nnz=4000,longest=100,seed=1", &A, spelled,
                              sizeof spelled, &error),
                     STATUS_OK);
    setenv(LIMIT, "1500", 1);
    setenv(CHECKED, "2000", 1);
    problem_create(&p, &spmm_operation, PRECISION_FP32, &A, 50, 3);
    reference_create(&p, &ref);
    const uint8_t *in_sample = ref.outputs[0].in_sample;
    assert_non_null(in_sample);
    int64_t count = 0, longest = 0, empty = -1;
    for (int64_t i = 0; i < A.rows; i++) {
        const int64_t length = dataset_row_length(&p, i);
        count += in_sample[i];
        if (length > dataset_row_length(&p, longest)) longest = i;
        if (length == 0) empty = i;
    }
    assert_in_range(count, 20, 80);
    assert_true(p.num_ranges > 2 && empty >= 0);
    for (int r = 0; r < p.num_ranges; r++)
        assert_true(in_sample[p.range_first[r]] && in_sample[p.range_first[r + 1] - 1]);
    assert_true(in_sample[longest] && in_sample[empty]);

    /* Right results: only those rows count. */
    float *got = calloc(output_elements(&p.outputs[0]), sizeof *got);
    double want[50], bound[50];
    for (int64_t i = 0; i < A.rows; i++) {
        p.operation->oracle(&p, 0, i, want, bound);
        for (int j = 0; j < 50; j++)
            got[i * 50 + j] = (float)want[j];
    }
    const float *const results[] = {got};
    assert_int_equal(verify(&ref, results, &c, &error), STATUS_OK);
    assert_int_equal(c.bad, 0);
    assert_int_equal(c.elements, count * 50);

    /* A wrong element counts in a row of the sample; outside of it if it was never written. */
    int64_t outside = 0;
    while (in_sample[outside])
        outside++;
    got[longest * 50 + 7] += 1000;
    memset(&got[outside * 50 + 9], 0xFF, sizeof *got);
    assert_int_equal(verify(&ref, results, &c, &error), STATUS_OK);
    assert_int_equal(c.bad, 2);
    assert_int_equal(c.unwritten, 1);
    assert_int_equal(c.elements, (count + 1) * 50);

    /* All wrong: of rows that were not compared the diagnosis says nothing. */
    char text[200];
    for (int64_t i = 0; i < A.rows * 50; i++)
        got[i] = 1000;
    assert_int_equal(verify(&ref, results, &c, &error), STATUS_OK);
    assert_int_equal(c.bad, count * 50);
    diagnose(&p, &c, text, sizeof text);
    assert_string_equal(text, "wrong values: in every row that was compared");
    reference_destroy(&ref);
    free(got);
    p.operation->destroy(&p);
    csr_free(&A);
}

/* Up to that many elements all are compared. */
static void small_results_have_no_sample(void **state)
{
    (void)state;
    csr_matrix A = random_matrix(11, 40, 50, 200, false);
    problem p;
    reference ref;
    problem_create(&p, &spmm_operation, PRECISION_FP32, &A, 4, 3);
    char elements[24];
    for (int less = 0; less <= 1; less++) {
        snprintf(elements, sizeof elements, "%lld", (long long)A.rows * 4 - less);
        setenv(CHECKED, elements, 1);
        reference_create(&p, &ref);
        assert_int_equal(ref.outputs[0].in_sample != NULL, less);
        reference_destroy(&ref);
    }
    p.operation->destroy(&p);
    csr_free(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_hook_lowers_a_limit_and_never_raises_it, clear),
        cmocka_unit_test(ranges_hold_as_many_rows_as_fit),
        cmocka_unit_test(a_row_may_be_as_long_as_the_limit),
        cmocka_unit_test(there_are_only_so_many_ranges),
        cmocka_unit_test(offsets_may_pass_32_bits),
        cmocka_unit_test_teardown(arrays_are_cut_alike, clear),
        cmocka_unit_test_teardown(ranges_are_about_alike, clear),
        cmocka_unit_test_teardown(offsets_into_C_may_pass_32_bits, clear),
        cmocka_unit_test_teardown(ranges_begin_where_vectors_do, clear),
        cmocka_unit_test_teardown(what_no_range_takes_is_refused, clear),
        cmocka_unit_test_teardown(a_sample_holds_the_rows_that_matter, clear),
        cmocka_unit_test_teardown(small_results_have_no_sample, clear),
    };
    return cmocka_run_group_tests_name("spmm_ranges", tests, NULL, NULL);
}
