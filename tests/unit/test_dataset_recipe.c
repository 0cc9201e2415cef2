/*
 * test_dataset_recipe.c - the steps from an edge list to a dataset's matrix.
 */
#include "fixture.h"
#include "random_matrix.h"

#include "matrix/dataset_recipe.h"

#define MTX "%%MatrixMarket matrix coordinate "

/* A matrix read from text, so that it may be a mapping as well. */
static csr_matrix matrix_of(const char *mtx, bool mapped)
{
    csr_matrix A;
    error_text error = {""};
    write_text("a.mtx", mtx);
    if (matrix_read(fixture_path("a.mtx"), &A, &error) != STATUS_OK) fail_msg("%s", error.text);
    if (!mapped) return A;
    assert_int_equal(csr_write(&A, fixture_path("a.csr"), &error), STATUS_OK);
    csr_free(&A);
    assert_int_equal(matrix_read(fixture_path("a.csr"), &A, &error), STATUS_OK);
    return A;
}

static void each_step(void **state)
{
    (void)state;
    static const char list[] = MTX "real general\n3 4 5\n1 2 5\n1 2 6\n2 2 7\n3 4 8\n3 1 9\n";
    static const struct {
        dataset_recipe recipe;
        const char *result;
    } cases[] = {
        {{0}, "3x4: 0,1=5 0,1=6 1,1=7 2,0=9 2,3=8"},
        {{.pattern = true}, "3x4: 0,1 0,1 1,1 2,0 2,3"},
        {{.rows = 5}, "5x5: 0,1=5 0,1=6 1,1=7 2,0=9 2,3=8"},
        {{.transpose = true}, "4x3: 0,2=9 1,0=5 1,0=6 1,1=7 3,2=8"},
        {{.rows = 4, .transpose = true}, "4x4: 0,2=9 1,0=5 1,0=6 1,1=7 3,2=8"},
        {{.rows = 4, .add_reverse = true},
         "4x4: 0,1=5 0,1=6 0,2=9 1,0=5 1,0=6 1,1=7 1,1=7 2,0=9 2,3=8 3,2=8"},
        {{.rows = 4, .drop_self_loops = true}, "4x4: 0,1=5 0,1=6 2,0=9 2,3=8"},
        {{.rows = 4, .coalesce = true}, "4x4: 0,1=11 1,1=7 2,0=9 2,3=8"},
        {{.rows = 4,
          .pattern = true,
          .add_reverse = true,
          .drop_self_loops = true,
          .coalesce = true},
         "4x4: 0,1 0,2 1,0 2,0 2,3 3,2"},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A = matrix_of(list, i % 2);
        error_text error = {""};
        if (dataset_recipe_apply(&cases[i / 2].recipe, &A, &error) != STATUS_OK)
            fail_msg("%s", error.text);
        assert_matrix_text(&A, cases[i / 2].result);
        assert_int_equal(csr_validate(&A, "result", &error), STATUS_OK);
        csr_free(&A);
    }
}

static void steps_refuse(void **state)
{
    (void)state;
    static const char list[] = MTX "pattern general\n3 4 1\n1 2\n";
    static const struct {
        dataset_recipe recipe;
        const char *fragment;
    } cases[] = {
        {{.rows = 3}, "3 x 4 does not fit into 3"},
        {{.add_reverse = true}, "3 x 4 is not square"},
        {{.coalesce = true}, "not square"},
        {{.transpose = true, .drop_self_loops = true}, "4 x 3 is not square"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A = matrix_of(list, false);
        error_text error = {""};
        assert_int_equal(dataset_recipe_apply(&cases[i].recipe, &A, &error), STATUS_DATASET);
        if (!strstr(error.text, cases[i].fragment)) fail_msg("%s", error.text);
        csr_free(&A);
    }
}

/* With reverse edges a matrix is its own transpose, and coalescing twice changes nothing. */
static void random_lists(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        csr_matrix A = random_matrix(seed, 30, 30, 200, false), T, B;
        int64_t nnz = A.nnz;
        error_text error;
        dataset_recipe both = {.rows = 30, .add_reverse = true}, once = {.coalesce = true};
        assert_int_equal(dataset_recipe_apply(&both, &A, &error), STATUS_OK);
        assert_int_equal(A.nnz, 2 * nnz);
        assert_int_equal(csr_transpose(&A, &T, &error), STATUS_OK);
        assert_same(&A, &T);
        assert_int_equal(dataset_recipe_apply(&once, &A, &error), STATUS_OK);
        assert_int_equal(csr_transpose(&A, &B, &error), STATUS_OK);
        assert_int_equal(dataset_recipe_apply(&once, &B, &error), STATUS_OK);
        assert_same(&A, &B);
        csr_free(&A);
        csr_free(&B);
        csr_free(&T);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step),
        cmocka_unit_test(steps_refuse),
        cmocka_unit_test(random_lists),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
