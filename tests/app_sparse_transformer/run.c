/*
 * run.c - apps/sparse_transformer under the instruments: a checked layer of each variant, with all kernels of the app and
 * of the labs that its plans choose. Nothing may be read or written outside of arrays, and nothing in a race.
 */
#include "apps/sparse_transformer/check.h"
#include "matrix/generate.h"
#include "tests/instrumented.h"

enum { ROWS = 37, HEADS = 2, HIDDEN = 18, FILTER = 21, SEED = 1 };

static const model_shape SHAPE = {
    .rows = ROWS, .layers = 1, .heads = HEADS, .hidden = HIDDEN, .filter = FILTER};

static enum status one_layer(const attend_settings *is, const csr_matrix *pattern,
                             error_text *error)
{
    model m;
    verdict v;
    enum status status = model_open(&m, &SHAPE, is, SEED, "the model", error);
    if (status != STATUS_OK) return status;
    status = check_layer(&m, SEED, pattern, &v, error);
    model_close(&m);
    return status;
}

/* Attention by the contender of that name; without one, dense: up to the diagonal. */
static void test_layer(const instruments *all, const char *name, enum precision precision)
{
    csr_matrix A;
    row_stats stats;
    char source[128];
    error_text error = {""};
    const char *spec = name ? "mask:rows=37,band=5,share=0.3" : "mask:rows=37,band=37";
    enum status status = generate(spec, &A, source, sizeof source, &error);
    if (status == STATUS_OK) status = row_stats_compute(&A, &stats, &error);
    const attend_settings is = {.sparse = name ? (const attention_contender *)contender_find(
                                                     &attention_operation, name, precision)
                                               : NULL,
                                .precision = precision,
                                .mask = name ? &A : NULL,
                                .stats = &stats,
                                .rows = ROWS,
                                .heads = HEADS,
                                .d = HIDDEN / HEADS};
    instrumented_begin(all);
    if (status == STATUS_OK) status = one_layer(&is, &A, &error);
    instrumented_end(all, status, &error, true, "%s in %s", name ? name : "dense",
                     precision_name(precision));
    csr_free(&A);
}

int main(void)
{
    const instruments *all = instrumented_open();
    if (!all) return 1;
    test_layer(all, NULL, PRECISION_FP32);
    test_layer(all, NULL, PRECISION_FP16);
    test_layer(all, "fused_attention", PRECISION_FP32);
    test_layer(all, "fused_attention", PRECISION_FP16);
    test_layer(all, "attention", PRECISION_FP32);
    return tap_done();
}
