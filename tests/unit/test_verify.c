/*
 * test_verify.c - the verdict on a result: what passes, what does not, and what is counted.
 */
#include "fixture.h"

#include "fake_problem.h"
#include "matrix/memory.h"
#include "matrix/random.h"

#include <float.h>
#include <omp.h>
#include <sys/resource.h>

/* The verdict on a result of one element. */
static comparison judge(double want, double bound, float got)
{
    fake_problem f;
    fake_create(&f, 1, 1);
    f.want[0] = want;
    f.bound[0] = bound;
    f.length[0] = 3;
    const comparison c = fake_verify(&f, &got);
    fake_destroy(&f);
    assert_int_equal(c.elements, 1);
    return c;
}

static void assert_passes(double want, double bound, float got)
{
    const comparison c = judge(want, bound, got);
    if (c.bad) fail_msg("%.9g should pass for %.17g within %.17g", got, want, bound);
    assert_true(c.worst >= 0 && c.worst <= 1);
}

static void assert_fails(double want, double bound, float got)
{
    const comparison c = judge(want, bound, got);
    if (c.bad != 1) fail_msg("%.9g should fail for %.17g within %.17g", got, want, bound);
    assert_true(c.worst > 1);
}

/* ---- the accept form ------------------------------------------------------------------------- */

static void up_to_the_bound(void **state)
{
    (void)state;
    assert_passes(1, 0x1p-20, 1);
    assert_passes(1, 0x1p-20, 1 + 0x1p-20f);
    assert_passes(1, 0x1p-20, 1 - 0x1p-20f);
    assert_fails(1, 0x1p-20, nextafterf(1 + 0x1p-20f, 2));
    assert_fails(1, 0x1p-20, nextafterf(1 - 0x1p-20f, 0));
    assert_passes(-1e30, 1e24, -1e30f);
    assert_fails(-1e30, 1e24, 1e30f);
    /* A bound that is no float is rounded up, not down: 0.1 lies below its nearest float, 0.7 above. */
    assert_passes(0, 0.1, 0.1f);
    assert_fails(0, 0.1, nextafterf(0.1f, 1));
    const float above = nextafterf(0.7f, 1);
    assert_passes(0, 0.7, above);
    assert_fails(0, 0.7, nextafterf(above, 1));
    assert_passes(0, 0x1p-149, 0x1p-149f);
    assert_fails(0, 0x1p-149, 0x1p-148f);
}

/* An empty row has bound 0: exactly 0, of either sign. */
static void empty_rows_are_exact(void **state)
{
    (void)state;
    assert_passes(0, 0, 0.0f);
    assert_passes(0, 0, -0.0f);
    assert_fails(0, 0, 0x1p-149f);
    assert_true(isinf(judge(0, 0, 0x1p-149f).worst));
}

/* However generous the bound. */
static void not_finite_fails(void **state)
{
    (void)state;
    const float values[] = {NAN, -NAN, INFINITY, -INFINITY, fill_pattern()};
    const double bounds[] = {0, 1, FLT_MAX, 1e39, 1e300, DBL_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        for (size_t k = 0; k < sizeof bounds / sizeof bounds[0]; k++) {
            assert_fails(1, bounds[k], values[i]);
            assert_true(isinf(judge(1, bounds[k], values[i]).worst));
        }
}

static void worst_is_relative_to_the_bound(void **state)
{
    (void)state;
    fake_problem f;
    const float got[] = {1.25f, 10.5f, -3, 0};
    fake_create(&f, 2, 2);
    const double want[] = {1, 10, -3, 0}, bound[] = {1, 0.75, 0.001, 0};
    memcpy(f.want, want, sizeof want);
    memcpy(f.bound, bound, sizeof bound);
    const comparison c = fake_verify(&f, got);
    assert_int_equal(c.bad, 0);
    assert_float_equal(c.worst, 0.5 / 0.75, 1e-12);
    fake_destroy(&f);
}

/* One element of n products, wrong by `error`, compared within `bound` as `how` has it. */
static comparison compare_one(int64_t n, float bound, reference how, float error)
{
    fake_problem f;
    reference ref;
    comparison c;
    error_text text;
    fake_create(&f, 1, 1);
    f.bound[0] = bound;
    f.length[0] = n;
    reference_create(&f.problem, &ref);
    ref.product_rounding = how.product_rounding;
    ref.flushes_subnormals = how.flushes_subnormals;
    assert_int_equal(verify(&ref, (const float *const[]){&error}, &c, &text), STATUS_OK);
    reference_destroy(&ref);
    fake_destroy(&f);
    return c;
}

/* The error that is forgiven to n products within 1, each off by 12. */
static double forgiven(int64_t n, float error)
{
    const comparison c = compare_one(n, 1, (reference){.product_rounding = 12}, error);
    assert_int_equal(c.bad, c.worst > 1);
    return error / c.worst;
}

/* For a contender that rounds its operands; empty rows are exact all the same. */
static void rounded_products_widen_the_bound(void **state)
{
    (void)state;
    assert_float_equal(forgiven(1, 3), 1 + 12 / 5.0, 1e-12);
    assert_float_equal(forgiven(2, 3.1f), 1 + 12 / 6.0, 1e-12);
    assert_float_equal(forgiven(36, 3), 1 + 12 / 6.0, 1e-12);
    assert_float_equal(forgiven(144, 3), 1 + 12 / 12.0, 1e-12);
    assert_float_equal(forgiven(0, 2), 1, 1e-12);
}

static int64_t products_by_place(const problem *p, int output, int64_t row, int64_t place)
{
    (void)p, (void)output;
    return row == 1 ? 0 : place == 0 ? 36 : 144;
}

/* An operation counts the products of an element itself, where they are not the nonzeros of its row: of these a row has one. */
static void operations_count_their_products(void **state)
{
    (void)state;
    operation counting = fake_operation;
    fake_problem f;
    fake_create(&f, 2, 2);
    counting.products = products_by_place;
    f.problem.operation = &counting;
    f.length[0] = f.length[1] = 1;
    for (int k = 0; k < 4; k++)
        f.bound[k] = 1;
    /* 12 / sqrt(36), 12 / sqrt(144), none */
    const double rounded[] = {1 + 2, 1 + 1, 1, 1}, lost[] = {36, 144, 0, 0};
    for (int wrong = -1; wrong < 4; wrong++) {
        reference ref;
        comparison c;
        error_text error;
        float got[4];
        reference_create(&f.problem, &ref);
        ref.product_rounding = 12;
        for (int k = 0; k < 4; k++)
            got[k] = (float)rounded[k] + (k == wrong ? 0x1p-10f : 0);
        assert_int_equal(verify(&ref, (const float *const[]){got}, &c, &error), STATUS_OK);
        assert_int_equal(c.bad, wrong >= 0);
        if (c.bad) assert_int_equal(c.shown[0].at, wrong);
        ref.product_rounding = 0;
        ref.flushes_subnormals = true;
        for (int k = 0; k < 4; k++) {
            ref.outputs[0].bound[k] = 0;
            got[k] = (float)(lost[k] * 0x1p-125) + (k == wrong ? 0x1p-125f : 0);
        }
        assert_int_equal(verify(&ref, (const float *const[]){got}, &c, &error), STATUS_OK);
        assert_int_equal(c.bad, wrong >= 0);
        reference_destroy(&ref);
    }
    fake_destroy(&f);
}

/* For a contender whose additions flush subnormals; empty rows are exact all the same. */
static void flushed_additions_widen_the_bound(void **state)
{
    (void)state;
    for (int n = 0; n < 3; n++)
        for (int flushes = 0; flushes < 2; flushes++) {
            const float lost = 0x1p-126f * 1.5f * n, more = 0x1p-126f * (2.5f * n + 1);
            const reference how = {.flushes_subnormals = flushes};
            assert_int_equal(compare_one(n, 0, how, lost).bad, n > 0 && !flushes);
            assert_int_equal(compare_one(n, 0, how, more).bad, 1);
        }
}

static void a_factor_widens_the_bound(void **state)
{
    (void)state;
    fake_problem f;
    reference ref;
    comparison c;
    error_text error;
    const float got[] = {4, 5, 0, 1e-30f};
    fake_create(&f, 2, 2);
    const double want[] = {1, 1, 0, 0}, bound[] = {1, 1, 0, 0};
    memcpy(f.want, want, sizeof want);
    memcpy(f.bound, bound, sizeof bound);
    reference_create(&f.problem, &ref);
    ref.bound_factor = 3;
    assert_int_equal(verify(&ref, (const float *const[]){got}, &c, &error), STATUS_OK);
    reference_destroy(&ref);
    fake_destroy(&f);
    assert_int_equal(c.bad, 2);
    assert_int_equal(c.shown[0].col, 1);
    assert_true(c.shown[0].bound == 3);
    assert_int_equal(c.shown[1].row, 1);
}

/* ---- what is counted ------------------------------------------------------------------------- */

static void counts(void **state)
{
    (void)state;
    enum { ROWS = 6, COLS = 5 };
    fake_problem f;
    float got[ROWS * COLS];
    fake_create(&f, ROWS, COLS);
    for (int i = 0; i < ROWS; i++)
        f.length[i] = 10 * i + 2;
    for (int k = 0; k < ROWS * COLS; k++) {
        f.want[k] = got[k] = k + 1;
        f.bound[k] = 0.25;
    }
    got[1 * COLS + 1] = 0;
    got[1 * COLS + 2] = fill_pattern();
    got[3 * COLS + 1] = NAN;
    got[3 * COLS + 2] = -INFINITY;
    got[3 * COLS + 3] = 2 * got[3 * COLS + 3] + 0.5f; /* twice, within twice the bound */
    got[4 * COLS + 1] += 1;
    const comparison c = fake_verify(&f, got);
    assert_int_equal(c.elements, ROWS * COLS);
    assert_int_equal(c.bad, 6);
    assert_true(isinf(c.worst));
    assert_int_equal(c.unwritten, 1);
    assert_int_equal(c.not_finite, 2);
    assert_int_equal(c.zero, 1);
    assert_int_equal(c.doubled, 1);
    assert_int_equal(c.bad_rows, 3);
    assert_int_equal(c.first_row, 1);
    assert_int_equal(c.last_row, 4);
    assert_int_equal(c.bad_places, 3);
    assert_int_equal(c.first_place, 1);
    assert_int_equal(c.last_place, 3);
    assert_int_equal(c.shortest_bad, 12);
    assert_int_equal(c.longest_bad, 42);
    assert_int_equal(c.shortest_good, 2);
    assert_int_equal(c.longest_good, 52);
    static const int shown[SHOWN_ERRORS][2] = {{1, 1}, {1, 2}, {3, 1}, {3, 2}, {3, 3}};
    for (int i = 0; i < SHOWN_ERRORS; i++) {
        assert_int_equal(c.shown[i].row, shown[i][0]);
        assert_int_equal(c.shown[i].col, shown[i][1]);
        assert_int_equal(c.shown[i].row_length, 10 * shown[i][0] + 2);
        assert_true(c.shown[i].want == shown[i][0] * COLS + shown[i][1] + 1);
        assert_true(c.shown[i].bound == 0.25);
    }
    assert_true(c.shown[0].got == 0);
    fake_destroy(&f);
}

static void nothing_to_compare(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        fake_problem f;
        const float got = NAN;
        fake_create(&f, i == 0 ? 0 : 7, i == 1 ? 0 : 7);
        if (i == 2) f.problem.outputs[0].rows = f.problem.outputs[0].cols = 0;
        const comparison c = fake_verify(&f, &got);
        assert_int_equal(c.elements, 0);
        assert_int_equal(c.bad, 0);
        assert_true(c.worst == 0);
        fake_destroy(&f);
    }
}

/* ---- the same for any number of threads, stored or recomputed ---------------------------------- */

static void assert_same_comparison(const comparison *a, const comparison *b)
{
    assert_int_equal(a->elements, b->elements);
    assert_int_equal(a->bad, b->bad);
    assert_true(a->worst == b->worst);
    assert_int_equal(a->unwritten, b->unwritten);
    assert_int_equal(a->not_finite, b->not_finite);
    assert_int_equal(a->zero, b->zero);
    assert_int_equal(a->doubled, b->doubled);
    assert_int_equal(a->bad_rows, b->bad_rows);
    assert_int_equal(a->first_row, b->first_row);
    assert_int_equal(a->last_row, b->last_row);
    assert_int_equal(a->first_place, b->first_place);
    assert_int_equal(a->last_place, b->last_place);
    assert_int_equal(a->bad_places, b->bad_places);
    assert_int_equal(a->shortest_bad, b->shortest_bad);
    assert_int_equal(a->longest_bad, b->longest_bad);
    assert_int_equal(a->shortest_good, b->shortest_good);
    assert_int_equal(a->longest_good, b->longest_good);
    for (int i = 0; i < SHOWN_ERRORS && i < a->bad; i++) {
        assert_int_equal(a->shown[i].row, b->shown[i].row);
        assert_int_equal(a->shown[i].col, b->shown[i].col);
        assert_memory_equal(&a->shown[i].got, &b->shown[i].got, sizeof(float));
        assert_true(a->shown[i].want == b->shown[i].want && a->shown[i].bound == b->shown[i].bound);
    }
}

/* A thousand rows; every element is off by up to its bound or, one in `rarity`, by more. */
static float *make_noisy(fake_problem *f, uint64_t seed, int rarity)
{
    enum { ROWS = 1000, COLS = 17 };
    float *got = malloc(ROWS * COLS * sizeof *got);
    fake_create(f, ROWS, COLS);
    for (int i = 0; i < ROWS; i++)
        f->length[i] = (int64_t)random_below(seed, i, 300);
    for (int k = 0; k < ROWS * COLS; k++) {
        const uint64_t stream = random_substream(seed, k);
        f->want[k] = random_symmetric(stream, 0);
        f->bound[k] = 1e-3 * random_unit(stream, 1) + 1e-6;
        const double share = random_below(stream, 2, rarity) ? 0.999 : 1.5;
        got[k] = (float)(f->want[k] + share * random_symmetric(stream, 3) * f->bound[k]);
        if (random_below(stream, 4, rarity) == 0) got[k] = random_below(stream, 5, 2) ? NAN : 0;
    }
    return got;
}

static void any_number_of_threads(void **state)
{
    (void)state;
    const int before = omp_get_max_threads();
    for (int rarity = 5; rarity < 50000; rarity *= 20) { /* thousands, hundreds, a few wrong */
        fake_problem f;
        float *got = make_noisy(&f, rarity, rarity);
        omp_set_num_threads(1);
        const comparison alone = fake_verify(&f, got);
        assert_true(alone.bad > 0 && alone.bad < alone.elements / 2);
        for (int threads = 2; threads <= 8; threads++) {
            omp_set_num_threads(threads);
            const comparison shared = fake_verify(&f, got);
            assert_same_comparison(&alone, &shared);
        }
        free(got);
        fake_destroy(&f);
    }
    omp_set_num_threads(before);
}

static void recomputed_or_stored(void **state)
{
    (void)state;
    for (int rarity = 5; rarity < 50000; rarity *= 20) {
        fake_problem f;
        comparison recomputed;
        error_text error;
        float *got = make_noisy(&f, 1000 + rarity, rarity);
        /* Some exactly at the bound as it is stored, and some just above. */
        for (int k = 0; k < 17000; k += 100) {
            const float bound = (float)f.bound[k];
            f.want[k] = 0;
            got[k] = k % 200 ? bound : nextafterf(bound, 1);
        }
        const reference nothing_stored = {.problem = &f.problem};
        assert_int_equal(verify(&nothing_stored, (const float *const[]){got}, &recomputed, &error),
                         STATUS_OK);
        const comparison stored = fake_verify(&f, got);
        assert_same_comparison(&stored, &recomputed);
        free(got);
        fake_destroy(&f);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* References that would take more than half of the memory are not kept. */
static void large_references_are_not_stored(void **state)
{
    (void)state;
    fake_problem f;
    reference ref;
    fake_create(&f, 1, 1);
    f.problem.outputs[0].rows = memory_available() / (2 * 12) + (1 << 20);
    reference_create(&f.problem, &ref);
    assert_null(ref.outputs[0].value);
    assert_null(ref.outputs[0].bound);
    assert_ptr_equal(ref.problem, &f.problem);
    reference_destroy(&ref);
    fake_destroy(&f);
}

/* And what the system refuses, neither. */
static void refused_memory_is_no_crash(void **state)
{
    (void)state;
    fake_problem f;
    reference ref;
    struct rlimit old, limit;
    fake_create(&f, 1, 1);
    f.problem.outputs[0].rows = 1 << 28; /* 3 GB */
    if (memory_available() < INT64_C(8) << 30) skip();
    getrlimit(RLIMIT_AS, &old);
    limit = old;
    limit.rlim_cur = 1 << 30;
    setrlimit(RLIMIT_AS, &limit);
    reference_create(&f.problem, &ref);
    setrlimit(RLIMIT_AS, &old);
    assert_null(ref.outputs[0].value);
    assert_null(ref.outputs[0].bound);
    fake_destroy(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(up_to_the_bound),
        cmocka_unit_test(empty_rows_are_exact),
        cmocka_unit_test(not_finite_fails),
        cmocka_unit_test(worst_is_relative_to_the_bound),
        cmocka_unit_test(a_factor_widens_the_bound),
        cmocka_unit_test(rounded_products_widen_the_bound),
        cmocka_unit_test(flushed_additions_widen_the_bound),
        cmocka_unit_test(operations_count_their_products),
        cmocka_unit_test(counts),
        cmocka_unit_test(nothing_to_compare),
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(recomputed_or_stored),
        cmocka_unit_test(large_references_are_not_stored),
        cmocka_unit_test(refused_memory_is_no_crash),
    };
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
