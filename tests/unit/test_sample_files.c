/*
 * test_sample_files.c - every real file of the shared dataset folder loads with the figures its
 * SOURCES.md gives, or is refused as it says. The folder is $SPMM_SHARED_DATASETS, or
 * ../shared/datasets; where there is none, the tests are skipped.
 */
#include "fixture.h"

#include "matrix/stats.h"

static char folder[1024];

static int find_folder(void **state)
{
    const char *named = getenv("SPMM_SHARED_DATASETS");
    snprintf(folder, sizeof folder, "%s", named && *named ? named : "../shared/datasets");
    return fixture_setup(state);
}

/* The path of a sample, or a skipped test. */
static const char *sample_path(const char *name)
{
    static char path[2048];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(folder, R_OK) != 0) {
        print_message("no %s: set SPMM_SHARED_DATASETS to the folder with SOURCES.md\n", folder);
        skip();
    }
    return path;
}

typedef struct sample {
    const char *name;
    int64_t rows, cols, nnz, empty_rows, max;
    double cov; /* with two digits; -1: not stated */
    bool with_values;
} sample;

static void check(const sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const sample *s = &samples[i];
        csr_matrix A;
        row_stats stats;
        error_text error;
        if (matrix_read(sample_path(s->name), &A, &error) != STATUS_OK) fail_msg("%s", error.text);
        assert_int_equal(row_stats_compute(&A, &stats, &error), STATUS_OK);
        bool same = A.rows == s->rows && A.cols == s->cols && A.nnz == s->nnz &&
                    stats.empty_rows == s->empty_rows && stats.max == s->max &&
                    (s->cov < 0 || fabs(stats.cov - s->cov) <= 0.005) &&
                    (A.values != NULL) == s->with_values;
        if (!same)
            fail_msg("%s: %ld x %ld, %ld nonzeros, %ld empty rows, max %ld, CoV %.3f, %s", s->name,
                     (long)A.rows, (long)A.cols, (long)A.nnz, (long)stats.empty_rows,
                     (long)stats.max, stats.cov, A.values ? "values" : "no values");
        csr_free(&A);
    }
}

#define CHECK(samples) check(samples, sizeof samples / sizeof *samples)

static void lab_format(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"lab-format/arxiv", 169343, 169343, 1166243, 62006, 13155, 9.82, false},
        {"lab-format/arxiv.config", 169343, 169343, 1166243, 62006, 13155, 9.82, false},
        {"lab-format/arxiv.graph.ptrdump", 169343, 169343, 1166243, 62006, 13155, 9.82, false},
        {"lab-format/ddi", 4267, 4267, 2135822, 0, 2234, 0.84, false},
        {"lab-format/ddi.graph.edgedump", 4267, 4267, 2135822, 0, 2234, 0.84, false},
    };
    CHECK(samples);
}

static void npz(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"npz/ogbn-arxiv.adj_full.npz", 169343, 169343, 1166243, 17440, 436, 1.29, false},
    };
    CHECK(samples);
}

/* The lab's arxiv is the transpose of the published one. */
static void npz_is_the_transpose_of_the_lab_format(void **state)
{
    (void)state;
    csr_matrix lab, published, transposed;
    error_text error;
    assert_int_equal(matrix_read(sample_path("lab-format/arxiv"), &lab, &error), STATUS_OK);
    assert_int_equal(matrix_read(sample_path("npz/ogbn-arxiv.adj_full.npz"), &published, &error),
                     STATUS_OK);
    assert_int_equal(csr_transpose(&published, &transposed, &error), STATUS_OK);
    assert_same(&lab, &transposed);
    csr_free(&lab);
    csr_free(&published);
    csr_free(&transposed);
}

static void ogb_csv(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"ogb-csv/ogbl-ddi.edge.csv.gz", 4267, 4267, 1067911, 160, 2034, -1, false},
    };
    CHECK(samples);
}

/* The lab's ddi is this list with the reverse of each edge. */
static void ogb_csv_is_half_of_the_lab_format(void **state)
{
    (void)state;
    csr_matrix lab, half, built;
    error_text error;
    coo_list both;
    assert_int_equal(matrix_read(sample_path("lab-format/ddi"), &lab, &error), STATUS_OK);
    assert_int_equal(matrix_read(sample_path("ogb-csv/ogbl-ddi.edge.csv.gz"), &half, &error),
                     STATUS_OK);
    assert_int_equal(coo_init(&both, lab.nnz, false, &error), STATUS_OK);
    for (int64_t i = 0; i < half.rows; i++) {
        for (int64_t k = half.row_ptr[i]; k < half.row_ptr[i + 1]; k++) {
            coo_push(&both, (int32_t)i, half.col_idx[k], 0, &error);
            coo_push(&both, half.col_idx[k], (int32_t)i, 0, &error);
        }
    }
    assert_int_equal(csr_from_coo(&both, half.rows, half.cols, &built, "ddi", &error), STATUS_OK);
    assert_same(&lab, &built);
    csr_free(&lab);
    csr_free(&half);
    csr_free(&built);
}

static void matrix_market(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"mtx/p2p-Gnutella31.mtx.gz", 62586, 62586, 147892, 46199, 78, 1.86, true},
        {"mtx/cora.mtx", 2708, 2708, 13264, 0, 169, 1.07, true},
        {"mtx/citeseer.mtx", 3327, 3327, 9228, 0, 99, 1.22, true},
        {"mtx/pubmed.mtx.gz", 19717, 19717, 88651, 0, 171, 1.65, true},
        {"mtx/delaunay_n16.mtx.gz", 65536, 65536, 393150, 0, 17, 0.23, false},
        {"mtx/bcsstk17.tar.gz", 10974, 10974, 428650, 0, 150, 0.39, true},
        {"mtx/bcsstk13.mtx.gz", 2003, 2003, 83883, 0, 95, 0.54, true},
        {"mtx/cryg2500.mtx", 2500, 2500, 12349, 0, 5, 0.05, true},
        {"mtx/jagmesh7.mtx", 1138, 1138, 7450, 0, 7, 0.13, false},
        {"mtx/lp_afiro.mtx", 27, 51, 102, 0, 10, 0.48, true},
        {"mtx/n1024-l1.mtx", 1024, 1024, 32768, 0, 32, 0.00, true},
        {"mtx/sparse-images-1024_subset.mtx", 1200, 1024, 122713, 0, 276, 0.37, false},
        {"mtx-conformance/structure.mtx", 7, 7, 12, 0, 3, -1, false},
        {"mtx-conformance/matrix_int32.mtx", 7, 7, 12, 0, 3, -1, true},
        {"mtx-conformance/skew_int32.mtx", 6, 6, 20, 0, 4, -1, true},
        {"mtx-conformance/skew_fp32.mtx", 6, 6, 20, 0, 4, -1, true}, /* with an infinite value */
        {"mtx-conformance/empty.mtx", 3, 4, 0, 3, 0, -1, true},
    };
    CHECK(samples);
}

static void matrix_market_values(void **state)
{
    (void)state;
    csr_matrix A;
    error_text error;
    assert_int_equal(matrix_read(sample_path("mtx/p2p-Gnutella31.mtx.gz"), &A, &error), STATUS_OK);
    int64_t zeros = 0;
    for (int64_t k = 0; k < A.nnz; k++)
        zeros += A.values[k] == 0;
    assert_int_equal(zeros, 14989); /* explicit zeros are entries like any other */
    csr_free(&A);

    assert_int_equal(matrix_read(sample_path("mtx-conformance/matrix_int32.mtx"), &A, &error),
                     STATUS_OK);
    assert_matrix_text(&A, "7x7: 0,1=2.14748365e+09 0,3=7 1,4=5 1,6=8 2,5=1 3,0=-2.14748365e+09 "
                           "3,2=0 4,5=7 5,2=5 6,2=9 6,3=1 6,4=1");
    csr_free(&A);
    assert_int_equal(matrix_read(sample_path("mtx-conformance/skew_int32.mtx"), &A, &error),
                     STATUS_OK);
    csr_matrix T;
    assert_int_equal(csr_transpose(&A, &T, &error), STATUS_OK);
    for (int64_t k = 0; k < A.nnz; k++) {
        assert_int_equal(A.col_idx[k], T.col_idx[k]);
        assert_true(A.values[k] == -T.values[k]);
    }
    csr_free(&A);
    csr_free(&T);
}

static void matrix_market_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *message;
    } files[] = {
        {"complex", ":1: a dense 'array' file"},
        {"full", ":1: a dense 'array' file"},
        {"full_symmetric", ":1: a dense 'array' file"},
        {"mangled1", ":1: a Matrix Market 'mangled' is no matrix"},
        {"mangled2", ":1: unknown format 'mangled'"},
        {"mangled3", ":1: unknown field 'mangled'"},
        {"mangled4", ":1: unknown symmetry 'mangled'"},
        {"mangled_format", ":1: a dense 'array' file"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        csr_matrix A;
        char name[128];
        error_text error = {""};
        snprintf(name, sizeof name, "mtx-conformance/%s.mtx", files[i].name);
        assert_int_equal(matrix_read(sample_path(name), &A, &error), STATUS_DATASET);
        if (!strstr(error.text, files[i].message)) fail_msg("%s", error.text);
    }
}

#define TRANSFORMER(rest) "smtx/transformer_" rest

static void smtx(void **state)
{
    (void)state;
    static const sample samples[] = {
        {TRANSFORMER(
             "magnitude_pruning_0.5_body_decoder_layer_0_self_attention_multihead_attention_q_"
             "fully_connected.smtx"),
         512, 512, 131072, 0, 316, 0.20, false},
        {TRANSFORMER("magnitude_pruning_0.8_body_decoder_layer_0_ffn_conv1_fully_connected.smtx"),
         2048, 512, 209715, 0, 283, 0.15, false},
        {TRANSFORMER("magnitude_pruning_0.98_body_decoder_layer_0_ffn_conv2_fully_connected.smtx"),
         512, 2048, 20971, 0, 250, 0.38, false},
        {TRANSFORMER("magnitude_pruning_0.98_symbol_modality_33288_512_shared_.smtx.gz"), 33288,
         512, 340867, 0, 71, 0.42, false},
        {TRANSFORMER(
             "l0_regularization_0.98_symbol_modality_33288_512_shared_weights_0_aux.smtx.gz"),
         33288, 512, 584680, 372, 389, 1.28, false},
        {TRANSFORMER("variational_dropout_0.98_body_encoder_layer_0_ffn_conv1.smtx"), 2048, 512, 0,
         2048, 0, -1, false},
        {"smtx/rn50_magnitude_pruning_0.8_bottleneck_1_block_group1_1_1.smtx", 64, 256, 3276, 0, 95,
         0.26, false},
        {"smtx/rn50_random_pruning_0.95_bottleneck_3_block_group4_1_1.smtx", 2048, 512, 52428, 0,
         44, 0.19, false},
    };
    CHECK(samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lab_format),
        cmocka_unit_test(npz),
        cmocka_unit_test(npz_is_the_transpose_of_the_lab_format),
        cmocka_unit_test(ogb_csv),
        cmocka_unit_test(ogb_csv_is_half_of_the_lab_format),
        cmocka_unit_test(matrix_market),
        cmocka_unit_test(matrix_market_values),
        cmocka_unit_test(matrix_market_refused),
        cmocka_unit_test(smtx),
    };
    return cmocka_run_group_tests_name("sample_files", tests, find_folder, fixture_teardown);
}
