/*
 * test_generate_kinds.c - grid:, road:, graph:, words:, banded:, arrow: and islands:, and how near the stand-ins of
 * set:real are to the real files of the shared dataset folder ($SPMM_SHARED_DATASETS, or ../shared/datasets).
 */
#include "fixture.h"

#include "matrix/dataset.h"
#include "matrix/generate.h"
#include "matrix/stats.h"

#include <omp.h>

static csr_matrix made(const char *spec)
{
    csr_matrix A;
    char source[512];
    error_text error = {""};
    if (generate(spec, &A, source, sizeof source, &error) != STATUS_OK) fail_msg("%s", error.text);
    if (csr_validate(&A, spec, &error) != STATUS_OK) fail_msg("%s", error.text);
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t k = A.row_ptr[i] + 1; k < A.row_ptr[i + 1]; k++)
            if (A.col_idx[k - 1] >= A.col_idx[k]) fail_msg("%s: row %ld", spec, (long)i);
    return A;
}

static bool holds(const csr_matrix *A, int64_t row, int64_t col)
{
    for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++)
        if (A->col_idx[k] == col) return true;
    return false;
}

static bool is_symmetric(const csr_matrix *A)
{
    csr_matrix T;
    error_text error;
    assert_int_equal(csr_transpose(A, &T, &error), STATUS_OK);
    const bool same = !memcmp(T.row_ptr, A->row_ptr, (size_t)(A->rows + 1) * sizeof *A->row_ptr) &&
                      !memcmp(T.col_idx, A->col_idx, (size_t)A->nnz * sizeof *A->col_idx);
    csr_free(&T);
    return same;
}

static int64_t row_length(const csr_matrix *A, int64_t row)
{
    return A->row_ptr[row + 1] - A->row_ptr[row];
}

/* ---- shapes ----------------------------------------------------------------------------------- */

/* A mesh of X x Y x Z points has 3XYZ - XY - YZ - ZX edges along its axes. */
static void grids_have_their_stencils(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t rows, nnz, inner; /* length of the longest rows */
    } cases[] = {
        {"grid:rows=1000000", 1000000, 4996000, 5}, /* the counts of the published ecology1 */
        {"grid:rows=35,width=7,loops=0", 35, 2 * (7 * 4 + 6 * 5), 4},
        {"grid:rows=60,width=3,height=4", 60, 60 + 2 * (3 * 60 - 12 - 20 - 15), 7},
        {"grid:rows=35,width=7,kind=triangles", 35, 35 + 2 * (7 * 4 + 6 * 5 + 6 * 4), 7},
        {"grid:rows=35,width=7,kind=box", 35, (3 * 7 - 2) * (3 * 5 - 2), 9},
        {"grid:rows=60,width=3,height=4,kind=box", 60, 7 * 10 * 13, 27},
        {"grid:rows=105,width=7,kind=box,dofs=3", 105, 9 * 19 * 13, 27},
        {"grid:rows=10,width=4", 10, 10 + 2 * (3 + 3 + 1 + 4 + 2), 5}, /* the last line is short */
        {"grid:rows=7,dofs=4,width=1", 7, 49, 7},                      /* so is the last block */
        {"grid:rows=1", 1, 1, 1},
        {"grid:rows=1,loops=0", 1, 0, 0},
        {"grid:rows=0", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A = made(cases[i].spec);
        int64_t longest = 0;
        for (int64_t row = 0; row < A.rows; row++)
            if (row_length(&A, row) > longest) longest = row_length(&A, row);
        if (A.rows != cases[i].rows || A.nnz != cases[i].nnz || longest != cases[i].inner)
            fail_msg("%s: %ld nonzeros, longest %ld", cases[i].spec, (long)A.nnz, (long)longest);
        assert_true(is_symmetric(&A));
        csr_free(&A);
    }
    csr_matrix A = made("grid:rows=60,width=3,height=4,kind=triangles");
    const int64_t v = 1 + 3 * 1 + 12 * 2; /* (1, 1, 2) */
    assert_true(holds(&A, v, v + 1 + 3 + 12) && holds(&A, v, v - 1 - 3) && holds(&A, v, v + 12));
    assert_false(holds(&A, v, v + 1 - 3));
    csr_free(&A);
}

static void arrows_have_a_shaft_and_a_head(void **state)
{
    (void)state;
    csr_matrix A = made("arrow:rows=50,border=4,band=2");
    assert_true(is_symmetric(&A));
    for (int64_t i = 0; i < 50; i++)
        for (int64_t j = 0; j < 50; j++)
            assert_int_equal(holds(&A, i, j), i >= 46 || j >= 46 || llabs(i - j) <= 2);
    csr_free(&A);
}

static void islands_do_not_touch(void **state)
{
    (void)state;
    csr_matrix A = made("islands:rows=1000,block=40,spread=2");
    assert_true(is_symmetric(&A));
    int64_t blocks = 0;
    for (int64_t begin = 0; begin < A.rows; blocks++) {
        const int64_t length = row_length(&A, begin);
        assert_true(length <= 80 && (length >= 20 || begin + length == A.rows));
        for (int64_t i = begin; i < begin + length; i++) {
            assert_int_equal(row_length(&A, i), length);
            assert_int_equal(A.col_idx[A.row_ptr[i]], begin);
        }
        begin += length;
    }
    assert_in_range(blocks, 13, 50);
    csr_free(&A);
    A = made("islands:rows=100,block=30");
    assert_int_equal(A.nnz, 3 * 900 + 100);
    csr_free(&A);
}

/* As many edges as asked, symmetric, no loop; the vertices that are no crossings have two neighbours. */
static void roads_have_crossings_and_bends(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t rows, nnz;
    } cases[] = {
        {"road:rows=5000,nnz=10400", 5000, 10400},
        {"road:rows=5000,nnz=14200,width=300", 5000, 14200},
        {"road:", 4096, 11468},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A = made(cases[i].spec);
        assert_int_equal(A.rows, cases[i].rows);
        assert_int_equal(A.nnz, cases[i].nnz);
        assert_true(is_symmetric(&A));
        const int64_t crossings = A.nnz - 2 * A.rows;
        int64_t two = 0;
        for (int64_t row = 0; row < A.rows; row++) {
            assert_true(row_length(&A, row) <= 4 && !holds(&A, row, row));
            two += row_length(&A, row) == 2;
        }
        assert_true(two >= A.rows - crossings);
        csr_free(&A);
    }
}

static void bands_hold_blocks(void **state)
{
    (void)state;
    csr_matrix A = made("banded:rows=1200,nnz=36000,dofs=4,window=80,cov=0.3");
    assert_int_equal(A.nnz, 36000); /* 2250 blocks of 16 */
    for (int64_t i = 0; i < A.rows; i++) {
        const int32_t *col = A.col_idx + A.row_ptr[i];
        assert_int_equal(row_length(&A, i), row_length(&A, i / 4 * 4));
        for (int64_t k = 0; k < row_length(&A, i); k++) {
            assert_int_equal(col[k] % 4, k % 4);
            assert_int_equal(col[k], A.col_idx[A.row_ptr[i / 4 * 4] + k]);
            if (i >= 80 && i < 1120) assert_true(llabs(col[k] / 4 - i / 4) <= 20);
        }
    }
    csr_free(&A);
}

/* Whoever has many entries is in many rows, too; half of them are near, and a fifth of the rest by chance. */
static void graphs_have_hubs_and_neighbours(void **state)
{
    (void)state;
    csr_matrix A = made("graph:rows=20000,deg=10,skew=0.7,near=0.5,window=2000,empty=0.1");
    csr_matrix T;
    error_text error;
    row_stats s;
    assert_int_equal(csr_transpose(&A, &T, &error), STATUS_OK);
    assert_int_equal(row_stats_compute(&A, &s, &error), STATUS_OK);
    assert_int_equal(s.empty_rows, 2000);
    assert_true(s.cov > 1.5);
    double both = 0, rows_only = 0;
    int64_t near = 0;
    for (int64_t i = 0; i < A.rows; i++) {
        both += (double)row_length(&A, i) * (double)row_length(&T, i);
        rows_only += (double)row_length(&A, i) * s.mean;
        assert_false(holds(&A, i, i));
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            near += llabs(A.col_idx[k] - i) <= 2000;
    }
    assert_true(both > 2 * rows_only); /* independent: equal */
    assert_true(near > 0.55 * (double)A.nnz && near < 0.65 * (double)A.nnz);
    csr_free(&A);
    csr_free(&T);
}

static void words_follow_zipf(void **state)
{
    (void)state;
    csr_matrix A = made("words:rows=8000,cols=5000,deg=20,cov=0.5,single=0.25,power=8,flat=0");
    csr_matrix T;
    error_text error;
    row_stats s;
    assert_int_equal(csr_transpose(&A, &T, &error), STATUS_OK);
    assert_int_equal(row_stats_compute(&A, &s, &error), STATUS_OK);
    assert_int_equal(A.nnz, 160000);
    assert_int_equal(s.quantile[2], 1);
    assert_true(s.quantile[3] > 15);
    assert_int_equal(row_stats_compute(&T, &s, &error), STATUS_OK);
    assert_true(s.max > 5000 && s.quantile[3] < 20); /* nearly everywhere, and hardly anywhere */
    csr_free(&A);
    csr_free(&T);
}

/* ---- the text --------------------------------------------------------------------------------- */

/* A part of a pattern is inside it and has the number asked for. */
static void parts_are_exact(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"grid:rows=900,kind=box", "grid:rows=900,kind=box,nnz=%ld"},
        {"arrow:rows=900,border=9", "arrow:rows=900,border=9,nnz=%ld"},
        {"islands:rows=900,block=20,spread=3", "islands:rows=900,block=20,spread=3,nnz=%ld"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A = made(cases[i][0]);
        for (int tenths = 0; tenths <= 10; tenths++) {
            char spec[96];
            const int64_t nnz = A.nnz * tenths / 10;
            snprintf(spec, sizeof spec, cases[i][1], (long)nnz);
            csr_matrix B = made(spec);
            assert_int_equal(B.nnz, nnz);
            for (int64_t row = 0; row < B.rows; row++)
                for (int64_t k = B.row_ptr[row]; k < B.row_ptr[row + 1]; k++)
                    assert_true(holds(&A, row, B.col_idx[k]));
            csr_free(&B);
        }
        csr_free(&A);
    }
}

static void edges(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t rows, cols, nnz;
    } cases[] = {
        {"graph:rows=0", 0, 0, 0},
        {"graph:rows=1", 1, 1, 0},
        {"graph:rows=2", 2, 2, 2},
        {"graph:rows=30,nnz=870", 30, 30, 870},
        {"graph:", 4096, 4096, 32768},
        {"words:rows=0", 0, 8192, 0},
        {"words:cols=0", 4096, 0, 0},
        {"words:rows=10,cols=4,nnz=40", 10, 4, 40},
        {"words:rows=10,cols=4,single=1,deg=1", 10, 4, 10},
        {"words:rows=10,cols=4,single=0.5,nnz=25", 10, 4, 25},
        {"words:", 4096, 8192, 131072},
        {"banded:rows=0", 0, 0, 0},
        {"banded:rows=1", 1, 1, 1},
        {"banded:rows=40,nnz=1600", 40, 40, 1600},
        {"banded:rows=30,dofs=3,nnz=31", 30, 30, 31},
        {"banded:", 4096, 4096, 131072},
        {"arrow:rows=0", 0, 0, 0},
        {"arrow:rows=1", 1, 1, 1},
        {"arrow:rows=9,border=9", 9, 9, 81},
        {"arrow:rows=9,border=0,band=0", 9, 9, 9},
        {"arrow:rows=9,border=1,band=100", 9, 9, 81},
        {"islands:rows=0", 0, 0, 0},
        {"islands:rows=5,block=100", 5, 5, 25},
        {"islands:rows=5,block=1,spread=1", 5, 5, 5},
        {"road:rows=0", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A = made(cases[i].spec);
        if (A.rows != cases[i].rows || A.cols != cases[i].cols || A.nnz != cases[i].nnz)
            fail_msg("%s: %ld x %ld, %ld", cases[i].spec, (long)A.rows, (long)A.cols, (long)A.nnz);
        csr_free(&A);
    }
}

static void refusals_name_the_key(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *fragment;
        enum status status;
    } cases[] = {
        {"grid:kind=hexagons", "kind is one of cross, triangles, box", STATUS_DATASET},
        {"grid:dofs=0", "dofs is a whole number from 1 to 64", STATUS_DATASET},
        {"grid:width=0", "width is a whole number from 1", STATUS_DATASET},
        {"grid:rows=9,nnz=34", "here nnz is from 0 to 33", STATUS_DATASET},
        {"grid:loops=2", "loops is a whole number from 0 to 1", STATUS_DATASET},
        {"grid:deep=3", "no key 'deep'", STATUS_DATASET},
        {"grid:rows=2147483647,kind=box,dofs=64", "GB", STATUS_MEMORY},
        {"arrow:rows=9,border=10", "here border is from 0 to 9", STATUS_DATASET},
        {"islands:block=0", "block is a whole number from 1", STATUS_DATASET},
        {"islands:spread=0.5", "spread is a number from 1 to 1000", STATUS_DATASET},
        {"road:nnz=10001,rows=4000", "nnz is even", STATUS_DATASET},
        {"road:deg=1.9", "here deg is from 2 to 3", STATUS_DATASET},
        {"road:rows=100,nnz=400", "here nnz is from 200 to 300", STATUS_DATASET},
        {"road:deg=2.5,nnz=9000", "deg and nnz exclude each other", STATUS_DATASET},
        {"road:rows=2", "too few roads", STATUS_DATASET},
        {"road:rows=50,deg=2", "a map needs crossings", STATUS_DATASET},
        {"graph:rows=10,deg=10", "here deg is from 1 to 9", STATUS_DATASET},
        {"graph:rows=10,empty=0.5,nnz=4", "here nnz is from 5 to 45", STATUS_DATASET},
        {"graph:near=0,window=4", "window needs near=", STATUS_DATASET},
        {"graph:flat=0", "flat is a whole number from 1", STATUS_DATASET},
        {"words:cols=10,longest=11", "here longest is from 0 to 10", STATUS_DATASET},
        {"words:rows=10,cols=10,longest=5,deg=6", "here deg is from 0 to 5", STATUS_DATASET},
        {"words:rows=10,cols=10,single=1,nnz=11", "here nnz is from 10 to 10", STATUS_DATASET},
        {"words:cols=0,single=0.5", "here single is from 0 to 0", STATUS_DATASET},
        {"words:longest=0,single=1", "here single is from 0 to 0", STATUS_DATASET},
        {"words:power=0", "power is a whole number from 1", STATUS_DATASET},
        {"banded:rows=100,dofs=3", "rows is a multiple of 3", STATUS_DATASET},
        {"banded:rows=100,deg=20,window=5", "here window is from 10 to 100", STATUS_DATASET},
        {"banded:rows=100,nnz=50", "here nnz is from 100 to 10000", STATUS_DATASET},
        {"grit:rows=5", "did you mean grid", STATUS_DATASET},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A;
        char source[512];
        error_text error = {""};
        enum status status = generate(cases[i].spec, &A, source, sizeof source, &error);
        if (status != cases[i].status || !strstr(error.text, cases[i].fragment))
            fail_msg("%s: status %d, '%s'", cases[i].spec, status, error.text);
        assert_null(strchr(error.text, '\n'));
        assert_null(A.row_ptr);
    }
}

/* The source of a matrix is a specification of that matrix, whatever the number of threads; another seed makes another
 * matrix where chance has a part. */
static void sources_threads_and_seeds(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"grid:rows=900,nnz=4000",
         "grid:rows=900,kind=cross,width=30,dofs=1,loops=1,nnz=4000,seed=1"},
        {"road:rows=900", "road:rows=900,deg=2.8,width=27,seed=1"},
        {"graph:rows=900",
         "graph:rows=900,deg=8,skew=0.7,flat=8,empty=0,near=0.5,window=14,seed=1"},
        {"words:rows=900,cols=500,nnz=9000",
         "words:rows=900,cols=500,nnz=9000,cov=0.8,single=0,longest=500,power=8,flat=8,seed=1"},
        {"banded:rows=900", "banded:rows=900,deg=32,window=128,dofs=1,cov=0.3,seed=1"},
        {"arrow:rows=900,nnz=9000", "arrow:rows=900,border=16,band=2,nnz=9000,seed=1"},
        {"islands:rows=900,spread=2", "islands:rows=900,block=32,spread=2,seed=1"},
    };
    const int threads = omp_get_max_threads();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A, B;
        char source[512], again[512];
        error_text error;
        omp_set_num_threads(1);
        assert_int_equal(generate(cases[i][0], &A, source, sizeof source, &error), STATUS_OK);
        if (strcmp(source, cases[i][1])) fail_msg("%s", source);
        omp_set_num_threads(3);
        assert_int_equal(generate(source, &B, again, sizeof again, &error), STATUS_OK);
        assert_string_equal(again, source);
        assert_same(&A, &B);
        csr_free(&B);
        snprintf(again, sizeof again, "%s,seed=2", cases[i][0]);
        B = made(again);
        assert_true(A.nnz != B.nnz ||
                    memcmp(A.col_idx, B.col_idx, (size_t)A.nnz * sizeof *A.col_idx) != 0);
        csr_free(&A);
        csr_free(&B);
    }
    omp_set_num_threads(threads);
}

/* ---- set:real --------------------------------------------------------------------------------- */

/* Share of the entries within cols / 64 of the diagonal. */
static double near_share(const csr_matrix *A)
{
    int64_t near = 0;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            near += llabs(A->col_idx[k] - i * A->cols / A->rows) <= A->cols / 64;
    return (double)near / (double)A->nnz;
}

/* A stand-in has the counts of the real file. Its variation of row lengths is the file's within a quarter, and its
 * locality within a fifth of all entries. */
static void stand_ins_are_like_the_files(void **state)
{
    (void)state;
    const char *named = getenv("SPMM_SHARED_DATASETS");
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/mtx", named && *named ? named : "../shared/datasets");
    if (access(folder, R_OK) != 0) {
        print_message("no %s: set SPMM_SHARED_DATASETS to the folder with SOURCES.md\n", folder);
        skip();
    }
    char **names;
    size_t count, compared = 0;
    error_text error = {""};
    if (dataset_expand("set:real", NULL, &names, &count, &error) != STATUS_OK)
        fail_msg("%s", error.text);
    assert_true(count >= 30);
    for (size_t i = 0; i < count; i++) {
        dataset file, made_one;
        char spec[256];
        assert_int_equal(dataset_identify(names[i], folder, &file, &error), STATUS_OK);
        if (file.origin != ORIGIN_REAL) continue;
        snprintf(spec, sizeof spec, "stand-in:%s", names[i]);
        if (dataset_open(names[i], folder, &file, &error) != STATUS_OK ||
            dataset_open(spec, folder, &made_one, &error) != STATUS_OK)
            fail_msg("%s", error.text);
        row_stats a, b;
        assert_int_equal(row_stats_compute(&file.matrix, &a, &error), STATUS_OK);
        assert_int_equal(row_stats_compute(&made_one.matrix, &b, &error), STATUS_OK);
        const double near = near_share(&file.matrix), near_made = near_share(&made_one.matrix);
        if (fabs(a.cov - b.cov) > 0.25 * a.cov || fabs(near - near_made) > 0.2)
            fail_msg("%s: CoV %.3f and %.3f, near %.3f and %.3f", names[i], a.cov, b.cov, near,
                     near_made);
        dataset_close(&file);
        dataset_close(&made_one);
        compared++;
    }
    assert_int_equal(compared, 12);
    dataset_names_free(names, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids_have_their_stencils),
        cmocka_unit_test(arrows_have_a_shaft_and_a_head),
        cmocka_unit_test(islands_do_not_touch),
        cmocka_unit_test(roads_have_crossings_and_bends),
        cmocka_unit_test(bands_hold_blocks),
        cmocka_unit_test(graphs_have_hubs_and_neighbours),
        cmocka_unit_test(words_follow_zipf),
        cmocka_unit_test(parts_are_exact),
        cmocka_unit_test(edges),
        cmocka_unit_test(refusals_name_the_key),
        cmocka_unit_test(sources_threads_and_seeds),
        cmocka_unit_test(stand_ins_are_like_the_files),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
