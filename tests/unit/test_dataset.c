/*
 * test_dataset.c - from a word on the command line to a matrix: the registry, where files are
 * looked for, sets, the sample, and what is said when a name means nothing.
 *
 * Most tests use a registry of their own, whose dataset "tiny" is 3 x 3 with 2 nonzeros.
 */
#include "fixture.h"

#include "matrix/dataset.h"
#include "matrix/registry.h"

#include <inttypes.h>

#define TINY "tiny\ttoys\t3\t3\t2\trand:rows=3,deg=0.667,empty=0.4\n"
#define REST \
    "wide\ttoys\t2\t5\t4\tweights:rows=2,cols=5,nnz=4\ncube\tsolids\t1\t1\t0\trand:rows=1,deg=0\n"
#define MTX "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n"

static void use_registry(const char *text)
{
    write_text("registry.tsv", text);
    assert_int_equal(setenv("SPMM_REGISTRY", fixture_path("registry.tsv"), 1), 0);
}

static int test_registry(void **state)
{
    (void)state;
    unsetenv("SPMM_DATA_DIR");
    use_registry("# name\tset\n" TINY REST);
    static const char *const folders[] = {"data", "mine", "theirs"};
    for (int i = 0; i < 3; i++) {
        const char *folder = fixture_path(folders[i]);
        nftw(folder, fixture_remove, 16, FTW_DEPTH | FTW_PHYS);
        mkdir(folder, 0755);
    }
    return 0;
}

static int real_registry(void **state)
{
    (void)state;
    unsetenv("SPMM_DATA_DIR");
    return unsetenv("SPMM_REGISTRY");
}

static void assert_opens(const char *spec, const char *data_dir, enum dataset_origin origin,
                         const char *source)
{
    dataset data;
    error_text error = {""};
    if (dataset_open(spec, data_dir, &data, &error) != STATUS_OK) fail_msg("%s", error.text);
    assert_string_equal(dataset_origin_name(data.origin), dataset_origin_name(origin));
    if (strcmp(data.source, source) != 0) fail_msg("%s, not %s", data.source, source);
    assert_int_equal(csr_validate(&data.matrix, spec, &error), STATUS_OK);
    dataset_close(&data);
    assert_null(data.matrix.row_ptr);
}

static void assert_fails(const char *spec, const char *data_dir, const char *fragment)
{
    dataset data;
    error_text error = {""};
    enum status status = dataset_open(spec, data_dir, &data, &error);
    if (status != STATUS_DATASET || !strstr(error.text, fragment) || strchr(error.text, '\n'))
        fail_msg("%s: status %d, '%s', without '%s'", spec, status, error.text, fragment);
    assert_null(data.matrix.row_ptr);
}

/* ---- where files are found ------------------------------------------------------------------- */

static void folders_in_order(void **state)
{
    (void)state;
    char mine[256];
    strcpy(mine, fixture_path("mine"));
    assert_opens("tiny", NULL, ORIGIN_STAND_IN,
                 "stand-in: rand:rows=3,cols=3,deg=0.667,skew=0,empty=0.4,near=0,seed=1");
    write_text("data/tiny.mtx", MTX "1 2\n3 3\n");
    assert_opens("tiny", NULL, ORIGIN_REAL, fixture_path("data/tiny.mtx"));
    setenv("SPMM_DATA_DIR", fixture_path("theirs"), 1);
    assert_opens("tiny", NULL, ORIGIN_REAL, fixture_path("data/tiny.mtx"));
    write_text("theirs/tiny.mtx", MTX "1 2\n3 3\n");
    assert_opens("tiny", NULL, ORIGIN_REAL, fixture_path("theirs/tiny.mtx"));
    assert_opens("tiny", mine, ORIGIN_REAL, fixture_path("theirs/tiny.mtx"));
    write_text("mine/tiny.smtx", "3, 3, 2\n0 1 1 2\n1 2\n");
    assert_opens("tiny", mine, ORIGIN_REAL, fixture_path("mine/tiny.smtx"));
    assert_opens("stand-in:tiny", mine, ORIGIN_STAND_IN,
                 "stand-in: rand:rows=3,cols=3,deg=0.667,skew=0,empty=0.4,near=0,seed=1");
    assert_opens("wide", mine, ORIGIN_STAND_IN,
                 "stand-in: weights:rows=2,cols=5,nnz=4,kind=uniform,seed=1");
}

static void every_format_in_order(void **state)
{
    (void)state;
    csr_matrix A;
    error_text error;
    write_text("data/tiny.txt", "0\t1\n2\t2\n");
    assert_opens("tiny", NULL, ORIGIN_REAL, fixture_path("data/tiny.txt"));
    write_gzip("data/tiny.mtx.gz", MTX "1 2\n3 3\n");
    assert_opens("tiny", NULL, ORIGIN_REAL, fixture_path("data/tiny.mtx.gz"));
    assert_int_equal(matrix_read(fixture_path("data/tiny.mtx.gz"), &A, &error), STATUS_OK);
    assert_int_equal(csr_write(&A, fixture_path("data/tiny.csr"), &error), STATUS_OK);
    csr_free(&A);
    assert_opens("tiny", NULL, ORIGIN_REAL, fixture_path("data/tiny.csr"));
    write_text("data/tiny.config", "3 2\n");
    write_text("data/tiny.graph", "0 1 1 2\n1 2\n");
    assert_opens("tiny", NULL, ORIGIN_REAL, fixture_path("data/tiny"));
}

static void wrong_counts_are_an_error(void **state)
{
    (void)state;
    write_text("data/tiny.mtx", MTX "1 2\n3 3\n");
    write_text("data/tiny.smtx", "3, 3, 3\n0 1 2 3\n1 2 0\n");
    assert_opens("tiny", NULL, ORIGIN_REAL, fixture_path("data/tiny.mtx"));
    remove(fixture_path("data/tiny.mtx"));
    assert_fails("tiny", NULL, "3 x 3 with 3 nonzeros, but the registry has tiny as 3 x 3 with 2");
    assert_fails("tiny", NULL, "move that file away");
    assert_opens(fixture_path("data/tiny.smtx"), NULL, ORIGIN_FILE, fixture_path("data/tiny.smtx"));
    write_text("data/tiny.smtx", "garbage\n");
    assert_fails("tiny", NULL, "tiny.smtx");

    use_registry("tiny\ttoys\t3\t3\t2\trand:rows=3,deg=1\n");
    remove(fixture_path("data/tiny.smtx"));
    assert_fails("tiny", NULL, "with 3 nonzeros, but the registry has tiny");
}

static void folders_must_exist(void **state)
{
    (void)state;
    assert_fails("tiny", "/nowhere", "/nowhere: no such folder (named by --data-dir)");
    setenv("SPMM_DATA_DIR", "/nowhere/either", 1);
    assert_fails("tiny", NULL, "/nowhere/either: no such folder (named by SPMM_DATA_DIR)");
    setenv("SPMM_DATA_DIR", "", 1);
    assert_opens("cube", NULL, ORIGIN_STAND_IN,
                 "stand-in: rand:rows=1,cols=1,deg=0,skew=0,empty=1,near=0,seed=1");
}

/* ---- names ----------------------------------------------------------------------------------- */

static void unknown_names(void **state)
{
    (void)state;
    assert_fails("tiy", NULL, "tiy: no such file or dataset; did you mean tiny? (--list shows");
    assert_fails("qqqqqqqq", NULL, "qqqqqqqq: no such file or dataset (--list shows");
    assert_fails("32", NULL,
                 "32: no such file or dataset; DATASET comes first, then the width: arxiv 32");
    assert_fails("32,256", NULL, "comes first, then the width: arxiv 32,256");
    assert_fails("some/where.mtx", NULL, "some/where.mtx: no such file or dataset");
    assert_fails("", NULL, "no such file or dataset");
    assert_fails("rnd:rows=4", NULL, "no generator 'rnd'");
    assert_fails("set:toys", NULL, "set:toys: a set of datasets; one is needed here");
}

static void files_and_generators(void **state)
{
    (void)state;
    dataset data;
    error_text error;
    write_text("some.mtx", MTX "1 2\n3 3\n");
    assert_opens(fixture_path("some.mtx"), NULL, ORIGIN_FILE, fixture_path("some.mtx"));
    assert_int_equal(dataset_open(fixture_path("some.mtx"), NULL, &data, &error), STATUS_OK);
    assert_string_equal(data.name, "some.mtx");
    dataset_close(&data);
    assert_int_equal(dataset_open("rand:rows=4", NULL, &data, &error), STATUS_OK);
    assert_string_equal(data.name, "rand:rows=4");
    assert_string_equal(dataset_origin_name(data.origin), "generated");
    dataset_close(&data);
    assert_fails("rand:rows=x", NULL, "rows is a whole number");
    assert_fails(NULL, NULL, "the bundled sample is not here");
}

/* A file that is there but cannot be read is no unknown name: the reader says what is wrong with it. */
static void what_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(fixture_path("pipe"), 0666), 0);
    assert_fails(fixture_path("pipe"), NULL, "/pipe: is a device or a pipe, not a file");
    assert_fails("/dev/null", NULL, "/dev/null: is a device or a pipe, not a file");
    assert_int_equal(symlink("loop", fixture_path("loop")), 0);
    assert_fails(fixture_path("loop"), NULL, "/loop: Too many levels of symbolic links");
    assert_fails("/dev/null/x.mtx", NULL, "no such file or dataset");
    char longest[300];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_fails(longest, NULL, "no such file or dataset");
    mkdir(fixture_path("forbidden"), 0);
    if (geteuid() != 0) /* root may look everywhere */
        assert_fails(fixture_path("forbidden/x.mtx"), NULL, "x.mtx: Permission denied");
}

static void sets_expand(void **state)
{
    (void)state;
    char **names;
    size_t count;
    error_text error;
    assert_int_equal(dataset_expand("set:toys", NULL, &names, &count, &error), STATUS_OK);
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "tiny");
    assert_string_equal(names[1], "wide");
    dataset_names_free(names, count);
    assert_int_equal(dataset_expand("rand:rows=3", NULL, &names, &count, &error), STATUS_OK);
    assert_int_equal(count, 1);
    assert_string_equal(names[0], "rand:rows=3");
    dataset_names_free(names, count);
    assert_int_equal(dataset_expand(NULL, NULL, &names, &count, &error), STATUS_OK);
    assert_int_equal(count, 1);
    assert_null(names[0]);
    dataset_names_free(names, count);
    assert_int_equal(dataset_expand("set:toy", NULL, &names, &count, &error), STATUS_DATASET);
    assert_non_null(strstr(error.text, "set:toy: no such set; did you mean set:toys?"));
    assert_null(names);
}

static void assert_expands(const char *spec, const char *data_dir, const char *const *expected,
                           size_t expected_count)
{
    char **names;
    size_t count;
    error_text error = {""};
    if (dataset_expand(spec, data_dir, &names, &count, &error) != STATUS_OK)
        fail_msg("%s", error.text);
    assert_int_equal(count, expected_count);
    for (size_t i = 0; i < count; i++) {
        const char *below = names[i] + strlen(names[i]) - strlen(expected[i]);
        assert_string_equal(below, expected[i]);
        assert_int_equal(below[-1], '/');
    }
    dataset_names_free(names, count);
}

static void assert_does_not_expand(const char *spec, const char *data_dir, const char *fragment)
{
    char **names;
    size_t count;
    error_text error;
    assert_int_equal(dataset_expand(spec, data_dir, &names, &count, &error), STATUS_DATASET);
    if (!strstr(error.text, fragment)) fail_msg("%s", error.text);
    assert_null(names);
}

#define SMTX "2, 2, 1\n0 1 1\n1 \n"

/* As DLMC's archive unpacks: the same layer under each way of pruning. */
static void dlmc_is_what_lies_there(void **state)
{
    (void)state;
    static const char *const below[] = {
        "theirs/dlmc",           "theirs/dlmc/rn50",        "theirs/dlmc/rn50/0.9",
        "theirs/dlmc/rn50/0.98", "theirs/dlmc/transformer", "theirs/dlmc/.hidden"};
    assert_does_not_expand("set:dlmc", NULL, "set:dlmc: no .smtx files below");
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++)
        mkdir(fixture_path(below[i]), 0755);
    write_text("theirs/dlmc/transformer/ffn_group1.smtx", SMTX);
    write_text("theirs/dlmc/rn50/0.98/block_group4_1.smtx", SMTX);
    write_gzip("theirs/dlmc/rn50/0.9/block_group4_1.smtx.gz", SMTX);
    write_text("theirs/dlmc/.hidden/x.smtx", SMTX);
    write_text("theirs/tiny.mtx", MTX "1 2\n3 3\n");
    static const char *const all[] = {"rn50/0.9/block_group4_1.smtx.gz",
                                      "rn50/0.98/block_group4_1.smtx",
                                      "transformer/ffn_group1.smtx"};
    setenv("SPMM_DATA_DIR", fixture_path("theirs"), 1);
    assert_expands("set:dlmc", NULL, all, 3);
    assert_expands("set:dlmc", fixture_path("mine"), all, 3); /* nothing there: the next folder */
    assert_expands("set:dlmc/rn50", NULL, all, 2);
    assert_expands("set:dlmc/group4/0.9", NULL, all, 1);
    assert_expands("set:dlmc/group1", NULL, all + 2, 1);
    assert_does_not_expand("set:dlmc/theirs", NULL, "no member has all these words");
    write_text("mine/own.smtx", SMTX);
    assert_expands("set:dlmc", fixture_path("mine"), (const char *const[]){"own.smtx"}, 1);

    dataset data;
    error_text error;
    const char *path = fixture_path("theirs/dlmc/rn50/0.9/block_group4_1.smtx.gz");
    assert_int_equal(dataset_open(path, NULL, &data, &error), STATUS_OK);
    assert_string_equal(data.name, "rn50/0.9/block_group4_1");
    assert_string_equal(data.source, path);
    assert_int_equal(data.origin, ORIGIN_FILE);
    dataset_close(&data);
}

static void a_folder_is_a_set(void **state)
{
    (void)state;
    assert_does_not_expand(fixture_path("mine"), NULL, "mine: no matrices in this folder");
    write_text("mine/b.mtx", MTX "1 2\n3 3\n");
    write_text("mine/a.config", "3 2\n");
    write_text("mine/a.graph", "0 1 1 2\n1 2\n");
    write_text("mine/README.txt", "no matrix\n");
    mkdir(fixture_path("mine/c"), 0755);
    write_text("mine/c/x.smtx", SMTX);
    static const char *const all[] = {"mine/a", "mine/b.mtx", "mine/c/x.smtx"};
    assert_expands(fixture_path("mine"), NULL, all, 3);
    assert_expands(fixture_path("mine/"), NULL, all, 3);
    /* One matrix, although it is a folder: OGB's raw form. */
    write_text("theirs/edge.csv", "0,1\n");
    static const char *const raw[] = {"theirs"};
    assert_expands(fixture_path("theirs"), NULL, raw, 1);
}

static void list_shows_everything(void **state)
{
    (void)state;
    write_text("mine/tiny.mtx", MTX "1 2\n3 3\n");
    char *text = NULL, expected[512];
    size_t bytes;
    error_text error;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(dataset_list(out, fixture_path("mine"), &error), STATUS_OK);
    fclose(out);
    snprintf(expected, sizeof expected,
             "set:toys\n"
             "  tiny                     3         3           2  %s\n"
             "  wide                     2         5           4  stand-in\n"
             "set:solids\n"
             "  cube                     1         1           0  stand-in\n",
             fixture_path("mine/tiny.mtx"));
    if (!strstr(text, expected)) fail_msg("%s", text);
    static const char *const words[] = {
        "rand:KEY=VALUE", "weights:KEY=VALUE",        "mask:KEY=VALUE",           "  deg ",
        "  mtx ",         "set:rnn  36 stand-ins; N", "set:dlmc  the .smtx files"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strstr(text, words[i])) fail_msg("no '%s' in %s", words[i], text);
    free(text);

    out = open_memstream(&text, &bytes);
    assert_int_equal(dataset_list(out, "/nowhere", &error), STATUS_DATASET);
    fclose(out);
    assert_int_equal(bytes, 0);
    assert_string_equal(error.text, "/nowhere: no such folder (named by --data-dir)");
    free(text);
}

static void bad_registries(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fragment;
    } cases[] = {
        {"tiny\ttoys\t3\t3\n", "registry.tsv:1: not name, set, rows"},
        {"# x\n\ntiny\ttoys\tthree\t3\t2\trand:\n", "registry.tsv:3:"},
        {"tiny\ttoys\t3\t3\t-2\trand:\n", "registry.tsv:1:"},
        {"tiny\t\t3\t3\t2\trand:\n", "registry.tsv:1:"},
        {TINY TINY, "registry.tsv:2: a second tiny"},
        {"", "the list of datasets is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        use_registry(cases[i].text);
        assert_fails("tiny", NULL, cases[i].fragment);
    }
    setenv("SPMM_REGISTRY", "/nowhere/registry.tsv", 1);
    assert_fails("tiny", NULL, "/nowhere/registry.tsv: the list of datasets: No such file");
    setenv("SPMM_REGISTRY", fixture_folder, 1);
    assert_fails("tiny", NULL, ": the list of datasets: Is a directory");
    use_registry("tiny\ttoys\t3\t3\t2\tstandins/tiny.txt\n");
    assert_fails("tiny", NULL, "standins/tiny.txt: the stand-in's table: No such file");
}

/* ---- the project's own registry ---------------------------------------------------------------
 */

static void project_is_found(void **state)
{
    (void)state;
    char path[4200];
    assert_non_null(project_root());
    snprintf(path, sizeof path, "%s/datasets/registry.tsv", project_root());
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(chdir("/"), 0); /* wherever it is called from */
    assert_int_equal(access(path, R_OK), 0);
    snprintf(path, sizeof path, "%s/datasets/samples/market.mtx", project_root());
    assert_opens(NULL, NULL, ORIGIN_SAMPLE, path);
}

/* Counts, sets and stand-ins fit together without making the large matrices. */
static void registry_is_sound(void **state)
{
    (void)state;
    registry r;
    error_text error;
    assert_int_equal(registry_load(&r, &error), STATUS_OK);
    int graphs = 0, of_real = 0;
    for (size_t i = 0; i < r.count; i++) {
        const registry_entry *e = &r.entry[i];
        char text[4200];
        if (strcmp(e->set, "graphs") == 0) {
            graphs++;
            assert_int_equal(e->rows, e->cols);
            snprintf(text, sizeof text, "standins/%s.txt", e->name);
            assert_string_equal(e->stand_in, text);
            continue;
        }
        if (strcmp(e->set, "huge") == 0) {
            snprintf(text, sizeof text,
                     "powerlaw:rows=%" PRId64 ",nnz=%" PRId64 ",longest=", e->rows, e->nnz);
            assert_int_equal(strncmp(e->stand_in, text, strlen(text)), 0);
            assert_int_equal(e->rows, e->cols);
            continue;
        }
        if (strcmp(e->set, "real") == 0) {
            of_real++;
            assert_false(e->decoded);
        } else {
            snprintf(text, sizeof text,
                     "weights:rows=%" PRId64 ",cols=%" PRId64 ",nnz=%" PRId64 ",", e->rows, e->cols,
                     e->nnz);
            assert_int_equal(strncmp(e->stand_in, text, strlen(text)), 0);
        }
        if (e->nnz < 1000000) {
            dataset data;
            if (dataset_open(e->name, NULL, &data, &error) != STATUS_OK) fail_msg("%s", error.text);
            dataset_close(&data);
        }
        if (strncmp(e->name, "opt-", 4) == 0) /* pruned by 60 % */
            assert_true(llabs(5 * e->nnz - 2 * e->rows * e->cols) < 5);
    }
    assert_int_equal(graphs, 13);
    assert_int_equal(of_real, 45);
    registry_free(&r);
}

static void real_data_is_recognised(void **state)
{
    (void)state;
    char folder[512];
    const char *shared = getenv("SPMM_SHARED_DATASETS");
    if (shared)
        snprintf(folder, sizeof folder, "%s/lab-format", shared);
    else
        snprintf(folder, sizeof folder, "%s/../shared/datasets/lab-format", project_root());
    char ddi[600], config[600];
    snprintf(ddi, sizeof ddi, "%s/ddi", folder);
    snprintf(config, sizeof config, "%s/ddi.config", folder);
    if (access(config, R_OK) != 0) {
        print_message("# no lab-format/ in $SPMM_SHARED_DATASETS\n");
        skip();
    }
    assert_opens("ddi", folder, ORIGIN_REAL, ddi);
}

#define WITH(setup, test) cmocka_unit_test_setup(test, setup)

/* "@1/3" behind a name: that range of its rows, the work before them like that of the other ranges. */
static void a_range_of_rows_is_a_dataset(void **state)
{
    (void)state;
    dataset whole, part;
    error_text error;
    assert_int_equal(dataset_open("rand:rows=50,cols=70,deg=5,skew=1", NULL, &whole, &error), 0);
    int64_t row = 0;
    for (int r = 0; r < 3; r++) {
        char spec[64];
        snprintf(spec, sizeof spec, "rand:rows=50,cols=70,deg=5,skew=1@%d/3", r);
        assert_int_equal(dataset_open(spec, NULL, &part, &error), 0);
        assert_string_equal(part.name, spec);
        assert_int_equal(part.matrix.cols, 70);
        assert_int_equal(csr_validate(&part.matrix, spec, &error), 0);
        for (int64_t i = 0; i < part.matrix.rows; i++, row++) {
            const int64_t at = whole.matrix.row_ptr[row], own = part.matrix.row_ptr[i];
            const int64_t length = whole.matrix.row_ptr[row + 1] - at;
            assert_int_equal(part.matrix.row_ptr[i + 1] - own, length);
            assert_memory_equal(part.matrix.col_idx + own, whole.matrix.col_idx + at,
                                length * sizeof(int32_t));
        }
        dataset_close(&part);
        assert_int_equal(dataset_identify(spec, NULL, &part, &error), 0);
        assert_string_equal(part.name, spec);
    }
    assert_int_equal(row, 50);
    dataset_close(&whole);
    assert_int_equal(dataset_open("rand:rows=50,deg=5@3/3", NULL, &part, &error), STATUS_DATASET);
    assert_int_equal(dataset_open("rand:rows=50,deg=5@0/0", NULL, &part, &error), STATUS_DATASET);
    assert_int_equal(dataset_open("rand:rows=3,deg=1@4/5", NULL, &part, &error),
                     0); /* of few rows */
    dataset_close(&part);
    assert_fails("rand:rows=50,deg=5@1/3x", NULL, "deg");
    assert_fails("rand:rows=50,deg=5@4294967297/3", NULL, "deg");
    mkdir(fixture_path("run@5"), 0755);
    write_text("run@5/2.mtx", MTX "1 2\n3 3\n"); /* a file, and no range 5 of 2 */
    assert_int_equal(dataset_open(fixture_path("run@5/2.mtx"), NULL, &part, &error), 0);
    assert_string_equal(part.name, "2.mtx");
    assert_int_equal(part.matrix.nnz, 2);
    dataset_close(&part);
}

/* Makes the whole once, for ranges that follow each other. */
static void a_whole_is_kept_between_its_ranges(void **state)
{
    (void)state;
    dataset_whole kept = {0};
    dataset one, again;
    error_text error;
    const char *const spec = "rand:rows=60,deg=5@1/2";
    assert_int_equal(dataset_open_next(spec, NULL, &kept, &one, &error), 0);
    assert_string_equal(kept.spec, "rand:rows=60,deg=5");
    const int32_t *const made = kept.data.matrix.col_idx;
    assert_int_equal(dataset_open_next("rand:rows=60,deg=5@0/3", NULL, &kept, &again, &error), 0);
    assert_ptr_equal(kept.data.matrix.col_idx, made);
    assert_string_equal(again.name, "rand:rows=60,deg=5@0/3");
    dataset_close(&again);
    assert_int_equal(dataset_open(spec, NULL, &again, &error), 0);
    assert_int_equal(one.matrix.nnz, again.matrix.nnz);
    assert_memory_equal(one.matrix.col_idx, again.matrix.col_idx, one.matrix.nnz * sizeof(int32_t));
    dataset_close(&again);
    dataset_close(&one);
    assert_int_equal(dataset_open_next("rand:rows=9,deg=2@0/3", NULL, &kept, &one, &error), 0);
    assert_string_equal(kept.spec, "rand:rows=9,deg=2");
    assert_int_equal(one.matrix.cols, 9);
    dataset_close(&one);
    assert_int_equal(dataset_open_next("rand:rows=60,deg=5", NULL, &kept, &one, &error), 0);
    assert_int_equal(one.matrix.rows, 60);
    assert_string_equal(kept.spec, ""); /* nobody needs it any more */
    dataset_close(&one);
    assert_int_equal(dataset_open_next("nothing@0/2", NULL, &kept, &one, &error), STATUS_DATASET);
    dataset_whole_close(&kept);
}

static void all_ranges_are_a_list(void **state)
{
    (void)state;
    char **names;
    size_t count;
    error_text error;
    assert_int_equal(dataset_expand("rand:rows=9,deg=2@all/3", NULL, &names, &count, &error), 0);
    assert_int_equal(count, 3);
    assert_string_equal(names[0], "rand:rows=9,deg=2@0/3");
    assert_string_equal(names[2], "rand:rows=9,deg=2@2/3");
    dataset_names_free(names, count);
    assert_fails("rand:rows=9,deg=2@all/3", NULL, "one is needed");
    static const char *const others[] = {"rand:rows=9@all/0", "rand:rows=9@all/3x",
                                         "rand:rows=9@all/5000", "rand:rows=9@all"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        dataset data;
        assert_int_equal(dataset_expand(others[i], NULL, &names, &count, &error), 0);
        assert_int_equal(count, 1); /* itself, which ... */
        dataset_names_free(names, count);
        assert_int_equal(dataset_open(others[i], NULL, &data, &error), STATUS_DATASET);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(test_registry, folders_in_order),
        WITH(test_registry, every_format_in_order),
        WITH(test_registry, wrong_counts_are_an_error),
        WITH(test_registry, folders_must_exist),
        WITH(test_registry, unknown_names),
        WITH(test_registry, files_and_generators),
        WITH(test_registry, what_is_no_file),
        WITH(test_registry, sets_expand),
        WITH(test_registry, dlmc_is_what_lies_there),
        WITH(test_registry, a_folder_is_a_set),
        WITH(test_registry, list_shows_everything),
        WITH(test_registry, bad_registries),
        WITH(real_registry, a_range_of_rows_is_a_dataset),
        WITH(real_registry, a_whole_is_kept_between_its_ranges),
        WITH(real_registry, all_ranges_are_a_list),
        WITH(real_registry, project_is_found),
        WITH(real_registry, registry_is_sound),
        WITH(real_registry, real_data_is_recognised),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
