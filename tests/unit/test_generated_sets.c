/*
 * test_generated_sets.c - the sets of problems that a rule makes: how many, of which shapes, with
 * exactly how many nonzeros, and that each is found, opened and labelled like a name of the registry.
 */
#include "fixture.h"

#include "matrix/dataset.h"
#include "matrix/generated_sets.h"
#include "matrix/stats.h"

#include <inttypes.h>

static registry all;

static int load(void **state)
{
    error_text error;
    unsetenv("SPMM_DATA_DIR");
    unsetenv("SPMM_REGISTRY");
    return fixture_setup(state) || registry_load(&all, &error) != STATUS_OK;
}

static int unload(void **state)
{
    registry_free(&all);
    return fixture_teardown(state);
}

static size_t members(const char *spec)
{
    char **names;
    size_t count;
    error_text error = {""};
    if (dataset_expand(spec, NULL, &names, &count, &error) != STATUS_OK) fail_msg("%s", error.text);
    for (size_t i = 0; i < count; i++)
        if (!registry_find(&all, names[i])) fail_msg("%s: %s is no name", spec, names[i]);
    dataset_names_free(names, count);
    return count;
}

static void assert_entry(const char *name, int64_t rows, int64_t cols, int64_t nnz)
{
    const registry_entry *e = registry_find(&all, name);
    if (!e) fail_msg("no %s", name);
    assert_int_equal(e->rows, rows);
    assert_int_equal(e->cols, cols);
    assert_int_equal(e->nnz, nnz);
}

static void as_many_as_the_rule_says(void **state)
{
    (void)state;
    assert_int_equal(members("set:rnn"), 36); /* 72 problems with two widths */
    assert_int_equal(members("set:llm"), 31 * 4 * 2);
    assert_int_equal(members("set:llm/28672x8192/random"), 4);
    assert_int_equal(members("set:llm/quota/0.5"), 31);
    assert_int_equal(members("set:sweep"), 25);
    assert_int_equal(members("set:cov"), 11);
    assert_int_equal(members("set:dlmc-like"), 23 * 7 * 4);
    size_t count;
    const generated_set *sets = generated_sets(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < all.listed; k++)
            assert_string_not_equal(sets[i].name, all.entry[k].set);
}

/* Worked out by hand; a share that is no whole number of nonzeros is cut, as in DLMC's files. */
static void shapes_and_nonzeros(void **state)
{
    (void)state;
    assert_entry("rnn.rnn-1024-0.7", 1024, 1024, 314572);
    assert_entry("rnn.gru-2048-0.8", 6144, 2048, 2516582);
    assert_entry("rnn.lstm-8192-0.9", 32768, 8192, 26843545);
    assert_entry("llm.28672x8192-random-0.5", 28672, 8192, 117440512);
    assert_entry("llm.12288x49152-quota-0.7", 12288, 49152, 181193932);
    assert_entry("sweep-0.50", 8192, 2048, 8388608);
    assert_entry("sweep-0.98", 8192, 2048, 335544);
    assert_entry("cov-1.0", 8192, 2048, 1677721);
    assert_entry("transformer.attention-magnitude-0.5", 512, 512, 131072);
    assert_entry("transformer.ffn1-magnitude-0.8", 2048, 512, 209715);
    assert_entry("transformer.ffn2-l0-0.98", 512, 2048, 20971);
    assert_entry("transformer.embedding-variational-0.95", 33288, 512, 852172);
    assert_entry("rn50.g1.reduce-magnitude-0.8", 64, 256, 3276);
    assert_entry("rn50.g4.3x3-random-0.6", 512, 4608, 943718);
    assert_entry("rn50.g4.expand-random-0.95", 2048, 512, 52428);
}

static void names_are_different(void **state)
{
    (void)state;
    for (size_t i = 0; i < all.count; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(all.entry[i].name, all.entry[k].name))
                fail_msg("%s twice", all.entry[i].name);
    for (size_t i = all.listed; i < all.count; i++) /* none was cut where it was too long */
        assert_true(strstr(all.entry[i].stand_in, ",seed=") != NULL);
}

/* Sets filter by whole words of the names. */
static void words_choose_members(void **state)
{
    (void)state;
    assert_int_equal(members("set:rnn/lstm"), 12);
    assert_int_equal(members("set:rnn/lstm/0.9"), 4);
    assert_int_equal(members("set:rnn/2048/gru/0.8"), 1);
    assert_int_equal(members("set:dlmc-like/0.9"), 23 * 4); /* 0.95 and 0.98 are others */
    assert_int_equal(members("set:dlmc-like/transformer/magnitude"), 4 * 7);
    assert_int_equal(members("set:dlmc-like/rn50.g1"), 4 * 7 * 4);
    assert_int_equal(members("set:dlmc-like/rn50.g4/3x3/0.5"), 4);
    assert_int_equal(members("set:rnn/"), 36);
}

static row_stats stats_of(const char *name)
{
    dataset data;
    row_stats s;
    error_text error = {""};
    if (dataset_open(name, NULL, &data, &error) != STATUS_OK) fail_msg("%s", error.text);
    assert_int_equal(data.origin, ORIGIN_STAND_IN);
    assert_string_equal(data.name, name);
    assert_int_equal(strncmp(data.source, "stand-in: weights:", 18), 0);
    assert_int_equal(row_stats_compute(&data.matrix, &s, &error), STATUS_OK);
    dataset_close(&data);
    return s;
}

/* Row lengths vary as those of the files they follow: what DLMC's have is in datasets/README.md. */
static void row_lengths_vary_as_in_the_files(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double low, high;
    } cases[] = {
        {"rn50.g4.expand-random-0.95", .18, .20}, /* the file: 0.19 */
        {"transformer.ffn1-magnitude-0.8", .15, .25},
        {"transformer.ffn2-magnitude-0.98", .36, .44},
        {"transformer.embedding-l0-0.98", 1.15, 1.3},
        {"transformer.ffn1-variational-0.98", .65, .8},
        {"cov-0.0", 0, .01},
        {"cov-0.4", .38, .42},
        {"cov-1.0", .9, 1.1},
        {"sweep-0.98", .15, .17}, /* sqrt(0.98 / (0.02 * 2048)) = 0.155 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double cov = stats_of(cases[i].name).cov;
        if (!(cov >= cases[i].low && cov <= cases[i].high))
            fail_msg("%s: CoV %.3f", cases[i].name, cov);
    }
}

static void nearest_names(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"rnn.gru-2048-0.85", "did you mean rnn.gru-2048-0.8?"},
        {"rnn.lstn-1024-0.7", "did you mean rnn.lstm-1024-0.7?"},
        {"sweep-0.5", "did you mean sweep-0.50?"},
        {"transformer.fnn1-l0-0.9", "did you mean transformer.ffn1-l0-0.9?"},
    };
    dataset data;
    error_text error;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(dataset_open(cases[i][0], NULL, &data, &error), STATUS_DATASET);
        if (!strstr(error.text, cases[i][1])) fail_msg("%s", error.text);
    }
    char **names;
    size_t count;
    assert_int_equal(dataset_expand("set:rn", NULL, &names, &count, &error), STATUS_DATASET);
    assert_non_null(strstr(error.text, "did you mean set:rnn?"));
    assert_int_equal(dataset_expand("set:rnn/lstn", NULL, &names, &count, &error), STATUS_DATASET);
    assert_non_null(strstr(error.text, "set:rnn/lstn: no member has all these words"));
}

/* A file of the name goes before the generator, and must have its counts. */
static void a_file_goes_first(void **state)
{
    (void)state;
    dataset data;
    error_text error;
    mkdir(fixture_path("data"), 0755);
    write_text("data/rn50.g1.enter-l0-0.98.smtx", "64, 64, 1\n0\n0\n");
    assert_int_equal(dataset_open("rn50.g1.enter-l0-0.98", fixture_path("data"), &data, &error),
                     STATUS_DATASET);
    assert_non_null(strstr(error.text, "rn50.g1.enter-l0-0.98.smtx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_the_rule_says),
        cmocka_unit_test(shapes_and_nonzeros),
        cmocka_unit_test(names_are_different),
        cmocka_unit_test(words_choose_members),
        cmocka_unit_test(row_lengths_vary_as_in_the_files),
        cmocka_unit_test(nearest_names),
        cmocka_unit_test(a_file_goes_first),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
