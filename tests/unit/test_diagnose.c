/*
 * test_diagnose.c - what is said of a wrong result: every sentence, made from a result with just
 * that fault.
 */
#include "fixture.h"

#include "fake_problem.h"

enum { ROWS = 12, COLS = 8 };

/* A right result of 12 x 8, to be spoiled. Rows 3 and 7 are empty. */
typedef struct scene {
    fake_problem f;
    float got[ROWS * COLS];
} scene;

static const int64_t LENGTHS[ROWS] = {5, 1, 40, 0, 33, 32, 2, 0, 64, 7, 3, 4};

static scene begin(void)
{
    scene s;
    fake_create(&s.f, ROWS, COLS);
    memcpy(s.f.length, LENGTHS, sizeof LENGTHS);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            const int at = i * COLS + j;
            s.f.want[at] = LENGTHS[i] ? 100 + at : 0;
            s.f.bound[at] = LENGTHS[i] ? 0.25 : 0;
            s.got[at] = (float)s.f.want[at];
        }
    return s;
}

static void assert_says(scene *s, const char *expected)
{
    char text[200];
    s->f.problem.own = &s->f; /* the scene has moved */
    const comparison c = fake_verify(&s->f, s->got);
    assert_true(c.bad > 0);
    diagnose(&s->f.problem, &c, text, sizeof text);
    assert_string_equal(text, expected);
    fake_destroy(&s->f);
}

/* The result with `wrong` added in all rows of the list (up to -1) and columns first .. last. */
static scene spoiled(const int *rows, int first, int last, float wrong)
{
    scene s = begin();
    for (; *rows >= 0; rows++)
        for (int j = first; j <= last; j++)
            s.got[*rows * COLS + j] += wrong;
    return s;
}

#define LIST(...)       \
    (const int[])       \
    {                   \
        __VA_ARGS__, -1 \
    }
#define ALL_ROWS LIST(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)

/* ---- what the wrong values are --------------------------------------------------------------- */

static void nothing_written(void **state)
{
    (void)state;
    scene s = begin();
    memset(s.got, 0xFF, sizeof s.got);
    assert_says(&s, "nothing was written");
}

static void kinds(void **state)
{
    (void)state;
    const float fill = fill_pattern();
    scene s = begin();
    for (int j = 0; j < COLS; j++)
        s.got[9 * COLS + j] = fill;
    assert_says(&s, "never written: only row 9, of 7 nonzeros");
    s = begin();
    s.got[9 * COLS + 2] = NAN;
    s.got[9 * COLS + 4] = -INFINITY;
    s.got[9 * COLS + 5] = fill; /* NaN too, if not alone */
    assert_says(&s, "NaN or infinity computed: only row 9, of 7 nonzeros");
    s = begin();
    for (int j = 2; j < COLS; j++)
        s.got[9 * COLS + j] = j % 2 ? 0.0f : -0.0f;
    assert_says(&s, "all of them 0: only columns >= 2 of 8");
    s = begin();
    for (int k = 0; k < ROWS * COLS; k++)
        s.got[k] *= 2;
    assert_says(&s, "twice the right value (counted twice, or added to an old result): in every "
                    "row that is not empty");
    s = begin();
    s.got[9 * COLS + 2] = NAN;
    s.got[9 * COLS + 4] = 1;
    assert_says(&s, "wrong values: only row 9, of 7 nonzeros");
}

/* ---- where they are -------------------------------------------------------------------------- */

static void columns(void **state)
{
    (void)state;
    scene s = spoiled(LIST(0, 4), 5, 7, 1);
    assert_says(&s, "wrong values: only columns >= 5 of 8");
    s = spoiled(ALL_ROWS, 7, 7, 1);
    assert_says(&s, "wrong values: only columns >= 7 of 8");
    s = spoiled(ALL_ROWS, 6, 6, 1);
    assert_says(&s, "wrong values: only column 6");
    s = spoiled(LIST(0), 0, 0, 1);
    assert_says(&s, "wrong values: only column 0");
}

static void rows_by_position(void **state)
{
    (void)state;
    scene s = spoiled(ALL_ROWS, 0, 7, 1);
    assert_says(&s, "wrong values: in every row");
    s = spoiled(ALL_ROWS, 2, 3, 1);
    assert_says(&s, "wrong values: in every row");
    s = spoiled(LIST(11), 0, 7, 1);
    assert_says(&s, "wrong values: only the last row, 11");
    s = spoiled(LIST(8, 9, 10, 11), 0, 7, 1);
    assert_says(&s, "wrong values: only the last 4 rows, from row 8 on");
    s = spoiled(LIST(9), 0, 6, 1);
    assert_says(&s, "wrong values: only row 9, of 7 nonzeros");
}

static void rows_by_length(void **state)
{
    (void)state;
    scene s = spoiled(LIST(3, 7), 0, 7, 1);
    assert_says(&s, "wrong values: only empty rows");
    s = spoiled(LIST(3), 0, 7, 1);
    assert_says(&s, "wrong values: only empty rows");
    s = spoiled(LIST(0, 1, 2, 4, 5, 6, 8, 9, 10, 11), 0, 7, 1);
    assert_says(&s, "wrong values: in every row that is not empty");
    s = spoiled(LIST(2, 4, 8), 0, 7, 1);
    assert_says(&s, "wrong values: only rows longer than 32 nonzeros");
    s = spoiled(LIST(8), 0, 7, 1);
    assert_says(&s, "wrong values: only rows longer than 40 nonzeros");
    s = spoiled(LIST(8), 0, 7, 1);
    s.f.length[11] = LENGTHS[8]; /* another one as long is right */
    assert_says(&s, "wrong values: only row 8, of 64 nonzeros");
    s = spoiled(LIST(1, 3, 6, 7), 0, 7, 1);
    assert_says(&s, "wrong values: only rows shorter than 3 nonzeros");
    s = spoiled(LIST(4, 5), 0, 7, 1);
    assert_says(&s, "wrong values: only in rows of 32 or more nonzeros, though not in all of them");
}

/* No pattern is better than a wrong one. */
static void no_pattern(void **state)
{
    (void)state;
    scene s = spoiled(LIST(1, 8), 0, 7, 1);
    assert_says(&s, "wrong values");
    s = spoiled(LIST(1), 0, 3, 1);
    s.got[8 * COLS + 6] += 1;
    assert_says(&s, "wrong values");
}

/* ---- on a pattern ---------------------------------------------------------------------------- */

/* As many elements in a row as it has nonzeros: 191, all 0 within 0.25. */
typedef struct pattern_scene {
    fake_problem f;
    int64_t row_ptr[ROWS + 1];
    int32_t col_idx[200];
    float got[200];
} pattern_scene;

static void begin_pattern(pattern_scene *s)
{
    memset(s, 0, sizeof *s);
    fake_create(&s->f, 1, 200);
    memcpy(s->f.length = realloc(s->f.length, sizeof LENGTHS), LENGTHS, sizeof LENGTHS);
    fake_pattern(&s->f, ROWS, LENGTHS, s->row_ptr, s->col_idx);
    for (int i = 0; i < 200; i++)
        s->f.want[i] = s->got[i] = 100 + i, s->f.bound[i] = 0.25;
}

static void assert_pattern_says(pattern_scene *s, const char *expected)
{
    char text[200];
    const comparison c = fake_verify(&s->f, s->got);
    assert_int_equal(c.elements, 191);
    assert_true(c.bad > 0);
    diagnose(&s->f.problem, &c, text, sizeof text);
    assert_string_equal(text, expected);
    fake_destroy(&s->f);
}

/* Adds 1 to the nonzeros from `place` on of rows longer than that. */
static void spoil_from(pattern_scene *s, int64_t place)
{
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = place; j < LENGTHS[i]; j++)
            s->got[s->row_ptr[i] + j] += 1;
}

static void places_of_a_pattern(void **state)
{
    (void)state;
    static pattern_scene s;
    begin_pattern(&s);
    for (int z = 184; z < 191; z++)
        s.got[z] += 1;
    assert_pattern_says(&s, "wrong values: only the last 7 of 191 nonzeros");
    begin_pattern(&s);
    s.got[60] = NAN;
    assert_pattern_says(&s, "NaN or infinity computed: only nonzero 60");
    begin_pattern(&s);
    spoil_from(&s, 32); /* of the rows of 40, 33 and 64 */
    assert_pattern_says(&s, "wrong values: only from nonzero 32 of a row on");
    begin_pattern(&s);
    spoil_from(&s, 0);
    assert_pattern_says(&s, "wrong values: in every row that is not empty");
    begin_pattern(&s);
    for (int64_t z = s.row_ptr[2]; z < s.row_ptr[3]; z++)
        s.got[z] += 1;
    assert_pattern_says(&s, "wrong values: only row 2, of 40 nonzeros");
    begin_pattern(&s);
    memset(s.got, 0xFF, sizeof s.got);
    assert_pattern_says(&s, "nothing was written");
}

/* A wrong nonzero is known by its number, its row, its place there and its column. */
static void a_wrong_nonzero_is_shown(void **state)
{
    (void)state;
    static pattern_scene s;
    begin_pattern(&s);
    s.got[s.row_ptr[4] + 3] += 1;
    const comparison c = fake_verify(&s.f, s.got);
    const wrong_element *e = &c.shown[0];
    assert_int_equal(c.bad, 1);
    assert_int_equal(e->row, 4);
    assert_int_equal(e->place, 3);
    assert_int_equal(e->col, 6);
    assert_int_equal(e->at, s.row_ptr[4] + 3);
    assert_int_equal(e->row_length, 33);
    fake_destroy(&s.f);
}

static void explain_by_parity(const problem *p, int which, int64_t row, int64_t place, double got,
                              char *text, size_t bytes)
{
    (void)p, (void)which, (void)row, (void)got;
    snprintf(text, bytes, "%s", place % 2 ? "odd" : "even");
}

/* The operation's reason stands behind the rest, if it says the same of all that it is asked about. */
static void the_operation_explains(void **state)
{
    (void)state;
    static pattern_scene s;
    operation explains = fake_operation;
    explains.explain = explain_by_parity;
    begin_pattern(&s);
    s.f.problem.operation = &explains;
    s.got[s.row_ptr[4] + 3] += 1;
    s.got[s.row_ptr[2] + 5] += 1;
    assert_pattern_says(&s, "wrong values: only from nonzero 3 of a row on; odd");
    begin_pattern(&s);
    s.f.problem.operation = &explains;
    s.got[s.row_ptr[4] + 3] += 1;
    s.got[s.row_ptr[2] + 4] += 1;
    assert_pattern_says(&s, "wrong values: only from nonzero 3 of a row on");
}

/* ---- several outputs ------------------------------------------------------------------------- */

/* The counts are of all outputs, the diagnosis is of the first that is wrong, and names it. */
static void several_outputs(void **state)
{
    (void)state;
    char text[200];
    float second[ROWS * COLS];
    comparison c;
    error_text error;
    reference ref;
    scene s = begin();
    s.f.problem.own = &s.f;
    s.f.problem.outputs[1] = s.f.problem.outputs[0];
    s.f.problem.outputs[1].name = "E";
    s.f.problem.num_outputs = 2;
    memcpy(second, s.got, sizeof second);
    for (int i = 0; i < ROWS; i++)
        second[i * COLS + 6] += 1;
    reference_create(&s.f.problem, &ref);
    assert_int_equal(verify(&ref, (const float *const[]){s.got, second}, &c, &error), STATUS_OK);
    assert_int_equal(c.elements, 2 * ROWS * COLS);
    assert_int_equal(c.bad, ROWS);
    assert_int_equal(c.which, 1);
    diagnose(&s.f.problem, &c, text, sizeof text);
    assert_string_equal(text, "E: wrong values: only column 6");
    memset(s.got, 0xFF, sizeof s.got);
    assert_int_equal(verify(&ref, (const float *const[]){s.got, second}, &c, &error), STATUS_OK);
    assert_int_equal(c.bad, ROWS + ROWS * COLS);
    assert_int_equal(c.which, 0);
    diagnose(&s.f.problem, &c, text, sizeof text);
    assert_string_equal(text, "C: nothing was written");
    reference_destroy(&ref);
    fake_destroy(&s.f);
}

/* A small buffer cuts the sentence. */
static void text_is_cut(void **state)
{
    (void)state;
    char text[20];
    scene s = spoiled(LIST(2, 4, 8), 0, 7, 1);
    s.f.problem.own = &s.f;
    const comparison c = fake_verify(&s.f, s.got);
    diagnose(&s.f.problem, &c, text, sizeof text);
    assert_string_equal(text, "wrong values: only ");
    fake_destroy(&s.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_written),
        cmocka_unit_test(kinds),
        cmocka_unit_test(columns),
        cmocka_unit_test(rows_by_position),
        cmocka_unit_test(rows_by_length),
        cmocka_unit_test(no_pattern),
        cmocka_unit_test(places_of_a_pattern),
        cmocka_unit_test(a_wrong_nonzero_is_shown),
        cmocka_unit_test(the_operation_explains),
        cmocka_unit_test(several_outputs),
        cmocka_unit_test(text_is_cut),
    };
    return cmocka_run_group_tests_name("diagnose", tests, NULL, NULL);
}
