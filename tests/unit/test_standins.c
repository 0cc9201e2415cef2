/*
 * test_standins.c - the stand-ins of the published graphs: counts, row lengths, columns.
 *
 * What is expected of row lengths is what is known of the graphs themselves. Their full histograms
 * are compared where $SPMM_SHARED_DATASETS (default ../shared/datasets) has them.
 */
#include "fixture.h"

#include "matrix/dataset.h"
#include "matrix/registry.h"
#include "matrix/standin.h"
#include "matrix/standin_table.h"
#include "matrix/stats.h"

#include <inttypes.h>
#include <omp.h>

#define ANY (-1)

/* -1: not known of the graph. Shares are in per cent of the nonzeros. */
static const struct known {
    const char *name;
    int64_t rows, nnz, max, empty, p50, p90, p99;
    double cov, beyond_256, top_1_percent;
} graphs[] = {
    {"arxiv", 169343, 1166243, 13155, 62006, 1, 12, 87, 9.82, 24.5, 39.9},
    {"collab", 235868, 2358104, 671, 0, 5, 21, 89, 1.90, 2.2, 14.6},
    {"citation", 2927963, 30387995, 1738, 126334, 6, 23, 67, 1.44, 0.7, 9.7},
    {"ddi", 4267, 2135822, 2234, 0, ANY, ANY, ANY, 0.84, ANY, ANY},
    {"protein", 132534, 79122504, 7750, 0, ANY, ANY, ANY, ANY, ANY, ANY},
    {"ppa", 576289, 42463862, 3241, 0, 43, 166, 515, 1.35, 25.9, 9.5},
    {"reddit.dgl", 232965, 114615891, 21657, 0, ANY, ANY, ANY, ANY, ANY, ANY},
    {"products", 2449029, 123718280, 17481, 0, ANY, ANY, ANY, ANY, ANY, ANY},
    {"youtube", 1138499, 5980886, 28754, 0, 1, 8, 58, 9.65, 19.0, 36.5},
    {"amazon_cogdl", 1569960, 264339468, 58000, 0, ANY, ANY, ANY, ANY, ANY, ANY},
    {"yelp", 716847, 13954819, 4886, 0, 6, 38, 212, 3.64, 22.7, 25.6},
    {"wikikg2", 2500604, 16109182, 911, 5400, 6, 10, 20, 0.65, 0.1, 4.5},
    {"am", 881680, 5668682, 154828, 0, 3, 5, 36, 48.5, 27.4, 36.9},
};

enum { NUM_GRAPHS = sizeof graphs / sizeof graphs[0] };

static csr_matrix stand_in(const char *name)
{
    csr_matrix A;
    char path[512], source[512];
    error_text error = {""};
    snprintf(path, sizeof path, "%s/datasets/standins/%s.txt", project_root(), name);
    enum status status = standin_make(path, &A, source, sizeof source, &error);
    if (status == STATUS_MEMORY) skip();
    if (status != STATUS_OK) fail_msg("%s", error.text);
    assert_int_equal(strncmp(source, "stand-in: ", 10), 0);
    assert_non_null(strstr(source, "seed"));
    return A;
}

/* ---- row lengths ----------------------------------------------------------------------------- */

/* count[L]: the number of rows of length L, up to the longest. The caller frees it. */
static int64_t *histogram_of(const csr_matrix *A, int64_t longest)
{
    int64_t *count = calloc((size_t)longest + 1, sizeof *count);
    assert_non_null(count);
    for (int64_t i = 0; i < A->rows; i++)
        count[A->row_ptr[i + 1] - A->row_ptr[i]]++;
    return count;
}

/* Per cent of the nonzeros that the longest `share` of the rows holds. */
static double held_by_top(const int64_t *count, int64_t longest, int64_t rows, int64_t nnz,
                          double share)
{
    int64_t left = (int64_t)(share * (double)rows), held = 0;
    for (int64_t length = longest; length > 0 && left > 0; length--) {
        int64_t taken = count[length] < left ? count[length] : left;
        held += taken * length;
        left -= taken;
    }
    return 100 * (double)held / (double)nnz;
}

static void assert_near(double got, double known, double tolerance, const char *graph,
                        const char *what)
{
    if (known != ANY && !(fabs(got - known) <= tolerance))
        fail_msg("%s: %s is %g, not %g +- %g", graph, what, got, known, tolerance);
}

static void assert_row_lengths(const csr_matrix *A, const struct known *g)
{
    row_stats s;
    error_text error;
    assert_int_equal(row_stats_compute(A, &s, &error), STATUS_OK);
    assert_int_equal(s.max, g->max);
    assert_int_equal(s.empty_rows, g->empty);
    assert_near((double)s.quantile[3], (double)g->p50, 0, g->name, "p50");
    assert_near((double)s.quantile[5], (double)g->p90, 0, g->name, "p90");
    assert_near((double)s.quantile[6], (double)g->p99, 0, g->name, "p99");
    assert_near(s.cov, g->cov, 0.001 * g->cov + 0.005, g->name, "CoV");

    int64_t *count = histogram_of(A, s.max), beyond = 0;
    for (int64_t length = 257; length <= s.max; length++)
        beyond += count[length] * length;
    assert_near(100 * (double)beyond / (double)s.nnz, g->beyond_256, 0.051, g->name,
                "the share in rows beyond 256");
    assert_near(held_by_top(count, s.max, s.rows, s.nnz, 0.01), g->top_1_percent, 0.051, g->name,
                "the share of the longest 1 %");
    free(count);
}

/* The largest difference between the distribution functions of the row lengths (Kolmogorov and
 * Smirnov's distance); -1 where the histogram is not here. */
static double distance_to_published(const csr_matrix *A, const char *name, int64_t longest)
{
    const char *shared = getenv("SPMM_SHARED_DATASETS");
    char path[512], line[256];
    snprintf(path, sizeof path, "%s/degree-histograms/%s.csv",
             shared ? shared : "../shared/datasets", name);
    FILE *file = fopen(path, "r");
    if (!file) return -1;
    int64_t *count = histogram_of(A, longest), length, rows;
    double worst = 0;
    int64_t difference = 0, next = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%" SCNd64 ",%" SCNd64, &length, &rows) != 2) continue;
        for (; next <= length; next++) {
            difference += count[next] - (next == length ? rows : 0);
            worst = fmax(worst, fabs((double)difference) / (double)A->rows);
        }
    }
    fclose(file);
    free(count);
    return worst;
}

static void distributions_are_the_published_ones(void **state)
{
    (void)state;
    int compared = 0;
    for (int g = 0; g < NUM_GRAPHS; g++) {
        if (graphs[g].nnz > 50000000) continue; /* no histogram of these is published */
        csr_matrix A = stand_in(graphs[g].name);
        double distance = distance_to_published(&A, graphs[g].name, graphs[g].max);
        csr_free(&A);
        if (distance < 0) continue;
        compared++;
        print_message("# %s: distance of row lengths %.5f\n", graphs[g].name, distance);
        if (distance > 0.0003 + 15.0 / (double)graphs[g].rows)
            fail_msg("%s: row lengths differ by %g", graphs[g].name, distance);
    }
    if (!compared) {
        print_message("# no degree-histograms/ in $SPMM_SHARED_DATASETS\n");
        skip();
    }
}

/* ---- one test a graph ------------------------------------------------------------------------ */

static void assert_columns(const csr_matrix *A, const standin_table *t, const char *name)
{
    error_text error;
    if (csr_validate(A, name, &error) != STATUS_OK) fail_msg("%s", error.text);
    assert_null(A->values);
    int64_t unsorted = 0, repeated = 0, diagonal = 0, inside = 0, followers = 0;
    int64_t window = 2 * t->model.window + 1;
#pragma omp parallel for reduction(+ : unsorted, repeated, diagonal, inside, followers)
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t low = i - t->model.window;
        if (low > A->cols - window) low = A->cols - window;
        if (low < 0) low = 0;
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            int32_t col = A->col_idx[k];
            diagonal += col == i;
            inside += col >= low && col < low + window;
            if (k == A->row_ptr[i]) continue;
            followers++;
            unsorted += A->col_idx[k - 1] > col;
            repeated += A->col_idx[k - 1] == col;
        }
    }
    assert_int_equal(unsorted, 0);
    assert_int_equal(diagonal, 0);
    double share = (double)repeated / (double)followers;
    assert_near(share, t->model.repeats, t->model.repeats > 0 ? 0.001 : 0, name,
                "the share of repeats");
    double by_chance = (1 - t->model.near) * (double)window / (double)A->cols;
    if (t->model.near > 0)
        assert_near((double)inside / (double)A->nnz, t->model.near + by_chance, 0.005, name,
                    "the share near the diagonal");
}

static void stand_in_of(void **state)
{
    const struct known *g = *state;
    char path[512];
    standin_table table;
    error_text error = {""};
    snprintf(path, sizeof path, "%s/datasets/standins/%s.txt", project_root(), g->name);
    if (standin_table_read(path, &table, &error) != STATUS_OK) fail_msg("%s", error.text);
    assert_int_equal(table.rows, g->rows);
    assert_int_equal(table.nnz, g->nnz);

    csr_matrix A = stand_in(g->name);
    assert_int_equal(A.rows, g->rows);
    assert_int_equal(A.cols, g->rows);
    assert_int_equal(A.nnz, g->nnz);
    assert_row_lengths(&A, g);
    assert_columns(&A, &table, g->name);
    csr_free(&A);
}

/* ---- what the columns are like --------------------------------------------------------------- */

/* Per cent of the entries that fall on the most popular `share` of the columns. */
static double drawn_by_top(const csr_matrix *A, double share, row_stats *columns)
{
    csr_matrix T;
    error_text error;
    assert_int_equal(csr_transpose(A, &T, &error), STATUS_OK);
    assert_int_equal(row_stats_compute(&T, columns, &error), STATUS_OK);
    int64_t *count = histogram_of(&T, columns->max);
    double drawn = held_by_top(count, columns->max, T.rows, T.nnz, share);
    free(count);
    csr_free(&T);
    return drawn;
}

/* The columns of arxiv are rows of its published transpose: at most 436 entries, CoV 1.29. */
static void arxiv_columns_are_its_transpose(void **state)
{
    (void)state;
    csr_matrix A = stand_in("arxiv");
    row_stats columns;
    drawn_by_top(&A, 0.01, &columns);
    assert_in_range(columns.max, 350, 520);
    assert_true(columns.cov > 1.2 && columns.cov < 1.35);
    csr_free(&A);
}

static void wikikg2_has_hubs(void **state)
{
    (void)state;
    csr_matrix A = stand_in("wikikg2");
    row_stats columns;
    double drawn = drawn_by_top(&A, 0.0016, &columns);
    assert_true(drawn > 31 && drawn < 36);
    assert_true(columns.max > A.nnz / 100);
    csr_free(&A);
}

/* In a symmetric graph the long rows' columns are the popular ones: they draw what they hold. */
static void popularity_follows_row_length(void **state)
{
    (void)state;
    static const char *const names[] = {"collab", "ppa", "youtube", "yelp", "ddi"};
    for (size_t g = 0; g < sizeof names / sizeof names[0]; g++) {
        csr_matrix A = stand_in(names[g]);
        int64_t threshold = A.nnz / A.rows * 5, held = 0, drawn = 0;
        if (strcmp(names[g], "ddi") == 0) threshold = 1100; /* the longest tenth */
        for (int64_t i = 0; i < A.rows; i++) {
            int64_t length = A.row_ptr[i + 1] - A.row_ptr[i];
            held += length > threshold ? length : 0;
        }
        for (int64_t k = 0; k < A.nnz; k++) {
            int32_t row = A.col_idx[k];
            drawn += A.row_ptr[row + 1] - A.row_ptr[row] > threshold;
        }
        /* A column can be drawn once a row, which holds the densest back. */
        double ratio = (double)drawn / (double)held;
        if (ratio < 0.85 || ratio > 1.02) fail_msg("%s: drawn / held is %g", names[g], ratio);
        csr_free(&A);
    }
}

/* Without locality |i - j| is a third of the width on average. */
static void most_orders_have_no_locality(void **state)
{
    (void)state;
    static const char *const names[] = {"arxiv", "ddi", "collab", "yelp"};
    for (size_t g = 0; g < sizeof names / sizeof names[0]; g++) {
        csr_matrix A = stand_in(names[g]);
        double sum = 0;
        for (int64_t i = 0; i < A.rows; i++)
            for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
                sum += llabs(A.col_idx[k] - i);
        double mean = sum / (double)A.nnz / (double)A.rows;
        assert_near(mean, 1.0 / 3, 0.01, names[g], "mean |i - j| / n");
        csr_free(&A);
    }
}

static void am_begins_with_its_long_rows(void **state)
{
    (void)state;
    csr_matrix A = stand_in("am");
    assert_near(100 * (double)A.row_ptr[A.rows / 100] / (double)A.nnz, 36.9, 0.1, "am",
                "the share of the first 1 % of the rows");
    assert_true(A.row_ptr[A.rows / 1000] < A.row_ptr[A.rows / 100] / 3); /* shuffled within */
    csr_free(&A);
}

/* ---- reproducibility ------------------------------------------------------------------------- */

static uint64_t checksum(const csr_matrix *A)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, by words */
    for (int64_t i = 0; i <= A->rows; i++)
        hash = (hash ^ (uint64_t)A->row_ptr[i]) * UINT64_C(1099511628211);
    for (int64_t k = 0; k < A->nnz; k++)
        hash = (hash ^ (uint64_t)A->col_idx[k]) * UINT64_C(1099511628211);
    return hash;
}

/* A stand-in is data: results measured on it must mean the same next year and on any machine. The
 * sums change only when a table or the drawing is changed on purpose. */
static void bits_stay_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t sum;
    } sums[] = {
        {"arxiv", UINT64_C(0x055eba6f121c5ef9)},   {"collab", UINT64_C(0xdb083fbcb17b83f6)},
        {"ddi", UINT64_C(0x37a1a25a7721a465)},     {"youtube", UINT64_C(0x54ad269bd8d69ea6)},
        {"wikikg2", UINT64_C(0x19ce28164757e8ef)}, {"am", UINT64_C(0x34845d92f02f47d9)},
    };
    int threads = omp_get_max_threads(), changed = 0;
    for (size_t g = 0; g < sizeof sums / sizeof sums[0]; g++) {
        uint64_t sum[2];
        for (int i = 0; i < 2; i++) {
            omp_set_num_threads(i + 1);
            csr_matrix A = stand_in(sums[g].name);
            sum[i] = checksum(&A);
            csr_free(&A);
        }
        if (sum[0] == sums[g].sum && sum[1] == sums[g].sum) continue;
        changed++;
        print_message("# %s: 0x%" PRIx64 " with one thread, 0x%" PRIx64 " with two\n", sums[g].name,
                      sum[0], sum[1]);
    }
    omp_set_num_threads(threads);
    assert_int_equal(changed, 0);
}

int main(void)
{
    static char names[NUM_GRAPHS][64];
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(distributions_are_the_published_ones),
        cmocka_unit_test(arxiv_columns_are_its_transpose),
        cmocka_unit_test(wikikg2_has_hubs),
        cmocka_unit_test(popularity_follows_row_length),
        cmocka_unit_test(most_orders_have_no_locality),
        cmocka_unit_test(am_begins_with_its_long_rows),
        cmocka_unit_test(bits_stay_the_same),
    };
    enum { NUM_OTHERS = sizeof others / sizeof others[0] };
    struct CMUnitTest tests[NUM_GRAPHS + NUM_OTHERS];
    for (int g = 0; g < NUM_GRAPHS; g++) {
        snprintf(names[g], sizeof names[g], "stand_in_of %s", graphs[g].name);
        tests[g] = (struct CMUnitTest){names[g], stand_in_of, NULL, NULL, (void *)&graphs[g]};
    }
    memcpy(tests + NUM_GRAPHS, others, sizeof others);
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
