/*
 * test_sparse_transformer.c - the application's checks against faults that were made on purpose; crossings, pictures,
 * memory.
 */
#include "apps/sparse_transformer/check.h"
#include "apps/sparse_transformer/picture.h"
#include "fixture.h"
#include "generated.h"

#include "results/crossing.h"

enum { ROWS = 40, HEADS = 2, HIDDEN = 16, FILTER = 24, SEED = 3 };

static const model_shape SHAPE = {
    .rows = ROWS, .layers = 1, .heads = HEADS, .hidden = HIDDEN, .filter = FILTER};

static row_stats stats_of(const csr_matrix *A)
{
    row_stats stats;
    error_text error;
    assert_int_equal(row_stats_compute(A, &stats, &error), STATUS_OK);
    return stats;
}

/* Settings of attention on a mask; without one, dense. */
static attend_settings settings(const csr_matrix *mask, const row_stats *stats, const char *name,
                                enum precision precision)
{
    const attention_contender *c =
        (const attention_contender *)contender_find(&attention_operation, name, precision);
    assert_non_null(c);
    return (attend_settings){.sparse = mask ? c : NULL,
                             .precision = precision,
                             .mask = mask,
                             .stats = stats,
                             .rows = ROWS,
                             .heads = HEADS,
                             .d = HIDDEN / HEADS};
}

static void open_model(model *m, const attend_settings *is)
{
    error_text error = {""};
    if (model_open(m, &SHAPE, is, SEED, "the model", &error) != STATUS_OK)
        fail_msg("%s", error.text);
}

/* ---- what is right ----------------------------------------------------------------------------- */

static void a_right_layer_passes(void **state)
{
    (void)state;
    csr_matrix A = made("mask:rows=40,band=6,share=0.3"), causal = made("mask:rows=40,band=40");
    const row_stats stats = stats_of(&A);
    static const char *const names[] = {"fused_attention", "attention"};
    for (int i = 0; i < 8; i++) {
        const bool dense = i < 4;
        const enum precision precision = i % 2 ? PRECISION_FP16 : PRECISION_FP32;
        attend_settings is = settings(dense ? NULL : &A, &stats, names[i / 2 % 2], precision);
        is.in_place = i / 2 % 2;
        model m;
        open_model(&m, &is);
        verdict v;
        error_text error = {""};
        if (check_layer(&m, SEED, dense ? &causal : &A, &v, &error) != STATUS_OK)
            fail_msg("%d: %s", i, error.text);
        for (int part = 0; part < NUM_CHECKED; part++) {
            if (dense && part == CHECKED_MASKED) {
                assert_true(v.worst[part] == -1);
                continue;
            }
            assert_true(v.worst[part] > 0 && v.worst[part] <= 1);
        }
        model_close(&m);
    }
    csr_free(&A);
    csr_free(&causal);
}

/* A pass begins with the input again, and its sums have one order. */
static void passes_repeat(void **state)
{
    (void)state;
    csr_matrix A = made("mask:rows=40,band=6,share=0.3");
    const row_stats stats = stats_of(&A);
    const attend_settings is = settings(&A, &stats, "fused_attention", PRECISION_FP32);
    model m;
    open_model(&m, &is);
    static float first[ROWS * HIDDEN], second[ROWS * HIDDEN];
    assert_int_equal(model_pass(&m, NULL), cudaSuccess);
    assert_int_equal(cudaMemcpy(first, m.d_normed, sizeof first, cudaMemcpyDeviceToHost),
                     cudaSuccess);
    assert_int_equal(model_pass(&m, NULL), cudaSuccess);
    assert_int_equal(cudaMemcpy(second, m.d_normed, sizeof second, cudaMemcpyDeviceToHost),
                     cudaSuccess);
    assert_memory_equal(first, second, sizeof first);
    model_close(&m);
    csr_free(&A);
}

/* ---- what is wrong ----------------------------------------------------------------------------- */

/* Checks a model with a fault: the part must be found, and none before it. */
static void assert_found(model *m, const csr_matrix *pattern, enum checked part)
{
    verdict v;
    error_text error = {""};
    assert_int_equal(check_layer(m, SEED, pattern, &v, &error), STATUS_WRONG);
    if (strncmp(error.text, checked_name(part), strlen(checked_name(part))) != 0)
        fail_msg("%s expected, found: %s", checked_name(part), error.text);
    assert_true(v.worst[part] > 1);
}

static void a_wrong_weight_is_found(void **state)
{
    (void)state;
    csr_matrix A = made("mask:rows=40,band=6,share=0.3");
    const row_stats stats = stats_of(&A);
    const attend_settings is = settings(&A, &stats, "fused_attention", PRECISION_FP32);
    const layer_weights at = layer_in(&SHAPE, NULL);
    const struct {
        const float *weight;
        float by;
        enum checked part;
    } faults[] = {{at.gain[0], 1e-4f, CHECKED_NORM},
                  {at.shift[0] + 7, 1e-4f, CHECKED_NORM},
                  {at.qkv + 5, 1e-3f, CHECKED_QKV},
                  {at.qkv + 600, NAN, CHECKED_QKV},
                  {at.out + 255, 1e-3f, CHECKED_PROJECTION},
                  {at.gain[1], 1e-4f, CHECKED_NORM},
                  {at.up, 1e-3f, CHECKED_UP},
                  {at.up_bias + 23, 1e-3f, CHECKED_BIAS},
                  {at.down + 9, 1e-3f, CHECKED_DOWN},
                  {at.down_bias, 1e-3f, CHECKED_DOWN}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        model m;
        open_model(&m, &is);
        float weight, *const there = m.d_weights + (faults[i].weight - at.qkv);
        cudaMemcpy(&weight, there, sizeof weight, cudaMemcpyDeviceToHost);
        weight += faults[i].by;
        cudaMemcpy(there, &weight, sizeof weight, cudaMemcpyHostToDevice);
        assert_found(&m, &A, faults[i].part);
        model_close(&m);
    }
    csr_free(&A);
}

/* A mask that lost a nonzero, as one drawn with replacement does; one without a diagonal; a scale applied twice. */
static void wrong_attention_is_found(void **state)
{
    (void)state;
    csr_matrix A = made("mask:rows=40,band=6,share=0.3"),
               lost = made("mask:rows=40,band=6,share=0.3");
    const row_stats stats = stats_of(&A);
    attend_settings is = settings(&A, &stats, "fused_attention", PRECISION_FP32);
    lost.col_idx[lost.nnz - 7] = lost.col_idx[lost.nnz - 8];

    model m;
    open_model(&m, &is);
    assert_found(&m, &lost, CHECKED_ATTENTION);
    model_close(&m);

    open_model(&m, &is);
    m.attention.is.mask = &lost; /* of which dense attention knows a key less */
    assert_found(&m, &A, CHECKED_MASKED);
    model_close(&m);

    open_model(&m, &is);
    m.attention.plan.scale *= m.attention.plan.scale;
    assert_found(&m, &A, CHECKED_ATTENTION);
    model_close(&m);

    csr_matrix causal = made("mask:rows=40,band=40"), all = made("mask:rows=40,band=39");
    attend_settings dense = settings(NULL, &stats, "fused_attention", PRECISION_FP16);
    open_model(&m, &dense);
    assert_found(&m, &all, CHECKED_ATTENTION);
    model_close(&m);
    csr_free(&A);
    csr_free(&lost);
    csr_free(&causal);
    csr_free(&all);
}

/* ---- memory ------------------------------------------------------------------------------------ */

static void memory_is_counted(void **state)
{
    (void)state;
    csr_matrix A = made("mask:rows=40,band=6,share=0.3");
    const row_stats stats = stats_of(&A);
    const attend_settings is = settings(&A, &stats, "fused_attention", PRECISION_FP32);
    model m;
    open_model(&m, &is);
    /* weights, input, x, norm, the feed-forward layer's inside, the mask, lse; then what the plan holds */
    const size_t x = ROWS * HIDDEN;
    const size_t inside = 3 * 640 > ROWS * FILTER ? 3 * 640 : ROWS * FILTER;
    const size_t floats = layer_floats(&SHAPE) + 2 * HIDDEN + 3 * x + inside + ROWS + 1 +
                          (size_t)A.nnz + ROWS * HEADS;
    assert_int_equal(layer_floats(&SHAPE), 4 * 256 + 2 * 16 * 24 + 24 + 5 * 16);
    assert_int_equal(rooms_bytes(&m.rooms), 4 * floats);
    assert_int_equal(model_bytes(&m),
                     4 * floats + m.attention.is.sparse->workspace_bytes(&m.attention.plan));
    model_close(&m);

    rooms r = {0};
    void *small, *large;
    float fresh[250];
    error_text error = {""};
    rooms_add(&r, "weights", sizeof fresh, &small);
    assert_int_equal(rooms_open(&r, "the dense model", "fewer rows of the mask", &error),
                     STATUS_OK);
    assert_int_equal(cudaMemcpy(fresh, small, sizeof fresh, cudaMemcpyDeviceToHost), cudaSuccess);
    for (int i = 0; i < 250; i++)
        assert_true(isnan(fresh[i]));
    rooms_close(&r);
    rooms_add(&r, "logits", (size_t)1 << 50, &large);
    assert_int_equal(rooms_open(&r, "the dense model", "fewer rows of the mask", &error),
                     STATUS_MEMORY);
    assert_null(small);
    assert_non_null(strstr(error.text, "the dense model takes 1125899.91 GB of device memory "
                                       "(logits: 1125899.91 GB)"));
    csr_free(&A);
}

/* ---- crossings --------------------------------------------------------------------------------- */

static void crossings_are_between_points(void **state)
{
    (void)state;
    const timed_density points[] = {{0.01, 1}, {0.04, 4}, {0.16, 64}};
    assert_true(fabs(crossing_density(points, 3, 2) - 0.02) < 1e-12);
    assert_true(fabs(crossing_density(points, 3, 16) - 0.08) < 1e-12);
    assert_true(crossing_density(points, 3, 0.5) == 0);
    assert_true(isinf(crossing_density(points, 3, 100)));
    assert_true(isnan(crossing_density(points, 3, NAN)));
    assert_true(isnan(crossing_density(points, 0, 1)));
    const timed_density untimed[] = {{0.01, 1}, {0.04, NAN}};
    assert_true(isnan(crossing_density(untimed, 2, 2)));
}

/* ---- pictures ---------------------------------------------------------------------------------- */

static void pictures_count(void **state)
{
    (void)state;
    csr_matrix A = made("mask:rows=2048,band=4,share=0");
    error_text error = {""};
    assert_int_equal(picture_write(&A, fixture_path("mask.pgm"), &error), STATUS_OK);
    size_t bytes;
    char *text = read_bytes("mask.pgm", &bytes);
    assert_int_equal(bytes, strlen("P5\n512 512\n255\n") + 512 * 512);
    const unsigned char *pixel = (unsigned char *)text + strlen("P5\n512 512\n255\n");
    /* squares of 4 x 4: on the diagonal 10 of 16 places, left of it 6 of 16, elsewhere none */
    for (int y = 0; y < 512; y++)
        for (int x = 0; x < 512; x++)
            assert_int_equal(pixel[y * 512 + x], x == y ? 15 : x == y - 1 ? 42 : 255);
    free(text);
    assert_int_equal(picture_write(&A, fixture_path("mask.png"), &error), STATUS_USAGE);
    assert_int_equal(picture_write(&A, fixture_path("no/mask.svg"), &error), STATUS_RUNTIME);
    csr_free(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_layer_passes),    cmocka_unit_test(passes_repeat),
        cmocka_unit_test(a_wrong_weight_is_found), cmocka_unit_test(wrong_attention_is_found),
        cmocka_unit_test(memory_is_counted),       cmocka_unit_test(crossings_are_between_points),
        cmocka_unit_test(pictures_count),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
