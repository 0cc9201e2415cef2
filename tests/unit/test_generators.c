/*
 * test_generators.c - rand:, weights: and mask:, from their text to their matrix.
 */
#include "fixture.h"
#include "generated.h"

#include "matrix/dataset.h"
#include "matrix/generate.h"
#include "matrix/stats.h"

#include <omp.h>

static row_stats stats_of(const csr_matrix *A)
{
    row_stats stats;
    error_text error;
    assert_int_equal(row_stats_compute(A, &stats, &error), STATUS_OK);
    return stats;
}

static void assert_columns_ascend(const csr_matrix *A)
{
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i] + 1; k < A->row_ptr[i + 1]; k++)
            assert_true(A->col_idx[k - 1] < A->col_idx[k]);
}

/* ---- rand: ----------------------------------------------------------------------------------- */

static void rand_keeps_its_word(void **state)
{
    (void)state;
    csr_matrix A = made("rand:rows=2000,cols=700,deg=12.5,seed=3");
    assert_int_equal(A.rows, 2000);
    assert_int_equal(A.cols, 700);
    assert_int_equal(A.nnz, 25000);
    assert_null(A.values);
    assert_columns_ascend(&A);
    row_stats s = stats_of(&A);
    assert_int_equal(s.max, 13);
    assert_int_equal(s.quantile[0], 12);
    csr_free(&A);

    A = made("rand:rows=2000,deg=10,skew=1.5,empty=0.25");
    s = stats_of(&A);
    assert_int_equal(s.empty_rows, 500);
    assert_int_equal(A.nnz, 20000);
    assert_int_equal(s.max, 2000); /* 1 + 18500 / zeta(1.5) would be 7164: the row is full */
    assert_true(s.quantile[3] >= 1 && s.quantile[3] < 5);
    assert_columns_ascend(&A);
    csr_free(&A);
}

/* Zipf's law: the r-th longest row has about (r + 1)^-1 times the longest row's length. */
static void rand_skew_is_zipf(void **state)
{
    (void)state;
    csr_matrix A = made("rand:rows=5000,cols=100000,deg=20,skew=1");
    static int64_t count[100001];
    memset(count, 0, sizeof count);
    for (int64_t i = 0; i < A.rows; i++)
        count[A.row_ptr[i + 1] - A.row_ptr[i]]++;
    int64_t rank = 0, longest = 0;
    for (int64_t length = 100000; length > 0; length--) {
        if (!count[length]) continue;
        if (!longest) longest = length - 1;
        if (rank < 100) assert_true(llabs(length - 1 - longest / (rank + 1)) <= 1);
        rank += count[length];
    }
    assert_int_equal(rank, 5000);
    csr_free(&A);
}

static void rand_near_is_local(void **state)
{
    (void)state;
    csr_matrix A = made("rand:rows=20000,cols=10000,deg=10,near=0.7,window=25");
    int64_t inside = 0;
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            inside += llabs(A.col_idx[k] - i / 2) <= 25;
    double share = (double)inside / (double)A.nnz;
    assert_true(share > 0.695 && share < 0.71);
    csr_free(&A);

    A = made("rand:rows=500,deg=9,near=1,window=4"); /* the window is exactly full */
    for (int64_t i = 4; i < 496; i++)
        assert_int_equal(A.col_idx[A.row_ptr[i]], i - 4);
    csr_free(&A);
}

static void rand_edges(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t rows, cols, nnz;
    } cases[] = {
        {"rand:", 1000, 1000, 8000},
        {"rand:rows=0", 0, 0, 0},
        {"rand:rows=1", 1, 1, 1},
        {"rand:rows=1,deg=0", 1, 1, 0},
        {"rand:rows=7,cols=1,skew=2", 7, 1, 7},
        {"rand:rows=1,cols=7", 1, 7, 7},
        {"rand:rows=9,cols=0", 9, 0, 0},
        {"rand:rows=0,cols=9", 0, 9, 0},
        {"rand:rows=100,deg=0.3", 100, 100, 30},
        {"rand:rows=40,deg=40,skew=3", 40, 40, 1600},
        {"rand:rows=100,deg=50,empty=0.5", 100, 100, 5000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A = made(cases[i].spec);
        assert_int_equal(A.rows, cases[i].rows);
        assert_int_equal(A.cols, cases[i].cols);
        assert_int_equal(A.nnz, cases[i].nnz);
        assert_columns_ascend(&A);
        csr_free(&A);
    }
}

/* ---- weights: -------------------------------------------------------------------------------- */

static void weights_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t nnz;
    } cases[] = {
        {"weights:rows=64,cols=256,sparsity=0.8,kind=uniform", 3277},
        {"weights:rows=64,cols=256,sparsity=0.8,kind=magnitude", 3277},
        {"weights:rows=64,cols=256,sparsity=0.8,kind=quota", 3277},
        {"weights:rows=64,cols=256,sparsity=0.8,kind=banded", 3277},
        {"weights:rows=64,cols=256,nnz=3276,kind=magnitude,cov=2", 3276},
        {"weights:rows=300,cols=70,sparsity=0", 21000},
        {"weights:rows=300,cols=70,sparsity=1", 0},
        {"weights:rows=300,cols=70,sparsity=0,kind=banded", 21000},
        {"weights:rows=33,cols=20,kind=two_four", 330},
        {"weights:rows=3,cols=8,sparsity=0.5,kind=two_four", 12},
        {"weights:rows=300,cols=70,nnz=1", 1},
        {"weights:rows=300,cols=70,nnz=20999", 20999},
        {"weights:rows=0", 0},
        {"weights:cols=0,kind=banded", 0},
        {"weights:rows=1,cols=1,sparsity=0.4", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A = made(cases[i].spec);
        assert_int_equal(A.nnz, cases[i].nnz);
        assert_null(A.values);
        assert_columns_ascend(&A);
        csr_free(&A);
    }
}

/* Kept with probability p, a row's length is binomial: mean cols p, variance cols p (1 - p). */
static void uniform_weights_are_binomial(void **state)
{
    (void)state;
    csr_matrix A = made("weights:rows=4000,cols=1000,sparsity=0.7,kind=uniform");
    row_stats s = stats_of(&A);
    double deviation = s.cov * s.mean, expected = sqrt(1000 * 0.3 * 0.7);
    assert_true(fabs(deviation / expected - 1) < 0.04); /* 4000 rows: 1.1 % standard error */
    csr_matrix T;
    error_text error;
    assert_int_equal(csr_transpose(&A, &T, &error), STATUS_OK);
    s = stats_of(&T);
    expected = sqrt(4000 * 0.3 * 0.7);
    assert_true(fabs(s.cov * s.mean / expected - 1) < 0.08); /* 1000 columns: 2.2 % */
    csr_free(&A);
    csr_free(&T);
}

/* Each four of each row has two, and every pair of places is drawn. */
static void two_of_each_four(void **state)
{
    (void)state;
    csr_matrix A = made("weights:rows=100,cols=36,kind=two_four");
    int drawn[4][4] = {{0}};
    for (int64_t k = 0; k < A.nnz; k += 2) {
        assert_int_equal(A.col_idx[k] / 4, k / 2 % 9);
        assert_int_equal(A.col_idx[k + 1] / 4, k / 2 % 9);
        assert_true(A.col_idx[k] < A.col_idx[k + 1]);
        drawn[A.col_idx[k] % 4][A.col_idx[k + 1] % 4]++;
    }
    for (int low = 0; low < 4; low++)
        for (int high = low + 1; high < 4; high++)
            assert_in_range(drawn[low][high], 100, 200); /* 150 on average */
    csr_free(&A);
}

static void other_weights_have_their_shape(void **state)
{
    (void)state;
    csr_matrix A = made("weights:rows=20000,cols=2000,sparsity=0.9,kind=magnitude,cov=0.3");
    row_stats s = stats_of(&A);
    assert_true(fabs(s.cov - 0.3) < 0.01);
    assert_true(s.quantile[3] < 200 && s.quantile[3] > 185); /* median 200 / sqrt(1.09) = 191.6 */
    csr_free(&A);

    A = made("weights:rows=5120,cols=2000,sparsity=0.6,kind=quota");
    s = stats_of(&A);
    assert_int_equal(s.max, 800);
    assert_int_equal(s.quantile[0], 800);
    csr_free(&A);

    A = made("weights:rows=900,cols=300,sparsity=0.9,kind=banded,window=20");
    for (int64_t i = 0; i < A.rows; i++) {
        int64_t low = i / 3 - 20 < 0 ? 0 : i / 3 - 20;
        if (low > 300 - 41) low = 300 - 41;
        assert_true(A.col_idx[A.row_ptr[i]] >= low);
        assert_true(A.col_idx[A.row_ptr[i + 1] - 1] <= low + 40);
    }
    csr_free(&A);
}

/* ---- mask: ------------------------------------------------------------------------------------ */

/* Says why A is no mask of `nnz` nonzeros whose first `band` diagonals are full; NULL: it is one. */
static const char *wrong_mask(const csr_matrix *A, int64_t band, int64_t nnz)
{
    if (A->rows != A->cols || A->nnz != nnz) return "the number of nonzeros";
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t begin = A->row_ptr[i], end = A->row_ptr[i + 1];
        const int64_t inside = i < band ? i + 1 : band;
        if (end - begin < inside || A->col_idx[end - 1] != i) return "no diagonal";
        if (A->col_idx[end - inside] != i - inside + 1) return "a hole in the band";
        for (int64_t k = begin + 1; k < end; k++)
            if (A->col_idx[k - 1] >= A->col_idx[k]) return "a place drawn twice";
    }
    return NULL;
}

static int64_t *count_diagonals(const csr_matrix *A)
{
    int64_t *count = calloc((size_t)A->rows, sizeof *count);
    assert_non_null(count);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++)
            count[i - A->col_idx[z]]++;
    return count;
}

/* The published mask: its count, and c = 101.784 on each diagonal. */
static void mask_is_the_published_one(void **state)
{
    (void)state;
    csr_matrix A = made("mask:rows=12288");
    assert_null(wrong_mask(&A, 256, 6732614));
    int64_t *count = count_diagonals(&A);
    for (int64_t k = 256; k < A.rows; k++)
        assert_true(fabs((double)count[k] - (double)(A.rows - k) * 101.784 / (double)k) < 1.02);
    free(count);
    csr_matrix B = made("mask:rows=12288,band=256,nnz=6732614,seed=1");
    assert_same(&A, &B);
    csr_free(&A);
    csr_free(&B);
}

/* Every place of a diagonal is drawn with the same probability: 400 masks, of which each place has a binomial share. */
static void mask_places_are_even(void **state)
{
    (void)state;
    enum { ROWS = 60, BAND = 20, MASKS = 400 };
    static int drawn[ROWS][ROWS];
    int64_t *count = NULL;
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1); /* they are small */
    for (int seed = 0; seed < MASKS; seed++) {
        char spec[80];
        snprintf(spec, sizeof spec, "mask:rows=%d,band=%d,share=0.3,seed=%d", ROWS, BAND, seed);
        csr_matrix A = made(spec);
        assert_null(wrong_mask(&A, BAND, 1010 + 246));
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t z = A.row_ptr[i]; z < A.row_ptr[i + 1]; z++)
                drawn[i][A.col_idx[z]]++;
        free(count);
        count = count_diagonals(&A);
        csr_free(&A);
    }
    omp_set_num_threads(threads);
    for (int k = BAND; k < ROWS; k++)
        for (int j = 0; j < ROWS - k; j++) {
            const double p = (double)count[k] / (ROWS - k);
            const double deviation = sqrt(MASKS * p * (1 - p));
            assert_true(fabs(drawn[j + k][j] - MASKS * p) <= 5 * deviation);
        }
    free(count);
}

static void mask_edges(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t rows, band, nnz;
    } cases[] = {
        {"mask:rows=1", 1, 1, 1},
        {"mask:rows=100", 100, 100, 5050},
        {"mask:rows=7,band=1,share=0", 7, 1, 7},
        {"mask:rows=7,band=1,share=1", 7, 7, 28},
        {"mask:rows=7,band=1,nnz=27", 7, 1, 27},
        {"mask:rows=7,band=6,nnz=28", 7, 7, 28},
        {"mask:rows=300,band=40,share=0", 300, 40, 11220},
        {"mask:rows=300,band=40,share=0.9", 300, 40, 11220 + 30537},
        {"mask:rows=300,band=299,share=0.4", 300, 299, 45149},
        {"mask:rows=257,share=0.5", 257, 256, 33153},
        {"mask:", 1024, 256, 229504 + 14765},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A = made(cases[i].spec);
        assert_int_equal(A.rows, cases[i].rows);
        if (wrong_mask(&A, cases[i].band, cases[i].nnz))
            fail_msg("%s: %s, %ld nonzeros", cases[i].spec,
                     wrong_mask(&A, cases[i].band, cases[i].nnz), (long)A.nnz);
        csr_free(&A);
    }
}

/* Generators with a fault, which the tests above must see. */
static void wrong_masks_are_seen(void **state)
{
    (void)state;
    csr_matrix A = made("mask:rows=600,band=64,share=0.2");
    const int64_t nnz = A.nnz;
    assert_null(wrong_mask(&A, 64, nnz));

    /* drawn with replacement: the second of two equal places is lost, or both are there */
    csr_matrix T = made("mask:rows=600,band=64,share=0.2");
    T.col_idx[T.row_ptr[599] + 1] = T.col_idx[T.row_ptr[599]];
    assert_string_equal(wrong_mask(&T, 64, nnz), "a place drawn twice");
    T.nnz--;
    for (int64_t k = T.row_ptr[599] + 1; k < T.nnz; k++)
        T.col_idx[k] = T.col_idx[k + 1];
    T.row_ptr[600]--;
    assert_string_equal(wrong_mask(&T, 64, nnz), "the number of nonzeros");
    csr_free(&T);

    /* a band from 1 on: no diagonal, first where nothing else is */
    for (int64_t i = 0, next = 0; i < A.rows; i++) {
        const int64_t end = A.row_ptr[i + 1] - i - 1; /* one a row is gone */
        for (; next < end; next++)
            A.col_idx[next] = A.col_idx[next + i];
    }
    for (int64_t i = 0; i < A.rows; i++)
        A.row_ptr[i + 1] -= i + 1;
    A.nnz -= A.rows;
    assert_string_equal(wrong_mask(&A, 64, nnz), "the number of nonzeros");
    assert_string_equal(wrong_mask(&A, 64, nnz - 600), "no diagonal");
    csr_free(&A);
}

/* ---- the text -------------------------------------------------------------------------------- */

static void refusals_name_the_key(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *fragment;
    } cases[] = {
        {"rand:rowz=5", "no key 'rowz'; did you mean rows?"},
        {"rand:zebra=5", "(keys: rows cols deg"},
        {"rand:rows", "rows needs a value"},
        {"rand:rows=", "rows is a whole number from 0 to 2147483647"},
        {"rand:rows=1.5", "rows=1.5: rows is a whole number"},
        {"rand:rows=-1", "from 0 to 2147483647"},
        {"rand:rows=2147483648", "from 0 to 2147483647"},
        {"rand:rows=5x", "rows=5x"},
        {"rand:rows=nan", "rows=nan"},
        {"rand:rows=5,rows=6", "rows is given twice"},
        {"rand:rows=10,deg=11", "here deg is from 1 to 10"},
        {"rand:rows=10,deg=0.5,empty=0.2", "here deg is from 0.8 to 8"},
        {"rand:skew=5", "skew is a number from 0 to 4"},
        {"rand:near=1.01", "near is a number from 0 to 1"},
        {"rand:window=5", "window needs near="},
        {"weights:sparsity=1.1", "sparsity is a number from 0 to 1"},
        {"weights:kind=magnitud", "kind is one of uniform, magnitude, quota, banded, two_four"},
        {"weights:nnz=1048577", "here nnz is from 0 to 1048576"},
        {"weights:nnz=5,sparsity=0.5", "exclude each other"},
        {"weights:cov=0.2", "cov needs kind=magnitude"},
        {"weights:window=3", "window needs kind=banded"},
        {"weights:kind=two_four,sparsity=0.6", "kind=two_four has a sparsity of 0.5"},
        {"weights:kind=two_four,rows=10,nnz=5", "kind=two_four has a sparsity of 0.5"},
        {"weights:kind=two_four,cols=6", "needs columns in fours, and 6 are not"},
        {"weights:kind=banded,window=50", "here window is from 51 to 512"},
        {"weights:rows=1000000,cols=1000000", "here rows is from 0 to 17179"},
        {"mask:rows=0", "rows is a whole number from 1 to 131072"},
        {"mask:rows=10,band=11", "here band is from 1 to 10"},
        {"mask:rows=10,band=3,nnz=26", "here nnz is from 27 to 55"},
        {"mask:rows=10,band=3,nnz=56", "here nnz is from 27 to 55"},
        {"mask:nnz=250000,share=0.1", "exclude each other"},
        {"mask:share=1.5", "share is a number from 0 to 1"},
        {"rnd:rows=5", "no generator 'rnd'; did you mean rand"},
        {"weight:rows=5", "did you mean weights"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A;
        char source[512];
        error_text error = {""};
        enum status status = generate(cases[i].spec, &A, source, sizeof source, &error);
        if (status != STATUS_DATASET || !strstr(error.text, cases[i].fragment))
            fail_msg("%s: status %d, '%s'", cases[i].spec, status, error.text);
        assert_null(strchr(error.text, '\n'));
        assert_null(A.row_ptr);
    }
}

static void huge_matrices_are_refused(void **state)
{
    (void)state;
    csr_matrix A;
    char source[512];
    error_text error = {""};
    assert_int_equal(generate("rand:rows=2147483647,deg=2000", &A, source, sizeof source, &error),
                     STATUS_MEMORY);
    assert_null(A.row_ptr);
    assert_non_null(strstr(error.text, "GB"));
}

/* The source of a matrix is a specification of that matrix. */
static void source_is_complete(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"rand:rows=50", "rand:rows=50,cols=50,deg=8,skew=0,empty=0,near=0,seed=1"},
        {"rand:deg=0.25,rows=64,near=.5",
         "rand:rows=64,cols=64,deg=0.25,skew=0,empty=0.75,near=0.5,window=1,seed=1"},
        {"weights:seed=9007199254740992,rows=8,cols=64",
         "weights:rows=8,cols=64,sparsity=0.8,kind=uniform,seed=9007199254740992"},
        {"weights:nnz=100,kind=magnitude,rows=8,cols=64",
         "weights:rows=8,cols=64,nnz=100,kind=magnitude,cov=0.25,seed=1"},
        {"mask:rows=300", "mask:rows=300,band=256,share=0.05,seed=1"},
        {"mask:rows=30,nnz=400,band=9,seed=4", "mask:rows=30,band=9,nnz=400,seed=4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        csr_matrix A, B;
        char source[512], again[512];
        error_text error;
        assert_int_equal(generate(cases[i][0], &A, source, sizeof source, &error), STATUS_OK);
        assert_string_equal(source, cases[i][1]);
        assert_int_equal(generate(source, &B, again, sizeof again, &error), STATUS_OK);
        assert_string_equal(again, source);
        assert_same(&A, &B);
        csr_free(&A);
        csr_free(&B);
    }
}

static void threads_and_seeds(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "rand:rows=3000,deg=20,skew=1.2,near=0.3,window=9",
        "weights:rows=512,cols=700,sparsity=0.6",
        "weights:rows=512,cols=700,sparsity=0.6,kind=magnitude",
        "mask:rows=700,band=30,share=0.2",
    };
    int threads = omp_get_max_threads();
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        char other[128];
        snprintf(other, sizeof other, "%s,seed=2", specs[i]);
        omp_set_num_threads(1);
        csr_matrix A = made(specs[i]);
        omp_set_num_threads(3);
        csr_matrix B = made(specs[i]), C = made(other);
        assert_same(&A, &B);
        assert_memory_not_equal(A.col_idx, C.col_idx, (size_t)A.nnz * sizeof *A.col_idx);
        csr_free(&A);
        csr_free(&B);
        csr_free(&C);
    }
    omp_set_num_threads(threads);
}

/* The bundled sample says which specification it is; it must still be that one's matrix. */
static void sample_is_its_specification(void **state)
{
    (void)state;
    dataset data;
    error_text error = {""};
    if (dataset_open(NULL, NULL, &data, &error) != STATUS_OK) fail_msg("%s", error.text);
    FILE *file = fopen(data.source, "r");
    assert_non_null(file);
    char text[1024] = "";
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    char *spec = strstr(text, "rand:");
    assert_non_null(spec);
    spec[strcspn(spec, "\n")] = '\0';
    csr_matrix A = made(spec);
    assert_same(&A, &data.matrix);
    csr_free(&A);
    dataset_close(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_of_each_four),
        cmocka_unit_test(rand_keeps_its_word),
        cmocka_unit_test(rand_skew_is_zipf),
        cmocka_unit_test(rand_near_is_local),
        cmocka_unit_test(rand_edges),
        cmocka_unit_test(weights_are_exact),
        cmocka_unit_test(uniform_weights_are_binomial),
        cmocka_unit_test(other_weights_have_their_shape),
        cmocka_unit_test(mask_is_the_published_one),
        cmocka_unit_test(mask_places_are_even),
        cmocka_unit_test(mask_edges),
        cmocka_unit_test(wrong_masks_are_seen),
        cmocka_unit_test(refusals_name_the_key),
        cmocka_unit_test(huge_matrices_are_refused),
        cmocka_unit_test(source_is_complete),
        cmocka_unit_test(threads_and_seeds),
        cmocka_unit_test(sample_is_its_specification),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
