/*
 * test_read_lab.c - the lab's format: dumps and text, every name for it, and every disagreement
 * between its files.
 */
#include "fixture.h"
#include "random_matrix.h"

static void write_ints(const char *name, const int32_t *numbers, size_t count)
{
    write_bytes(name, numbers, count * sizeof *numbers);
}

/* 3 vertices, 4 edges; a row in no order and an empty one. */
static const int32_t offsets[] = {0, 2, 2, 4}, columns[] = {2, 0, 1, 1};
#define GRAPH "3x3: 0,2 0,0 2,1 2,1"

static void write_dumps(void)
{
    write_text("g.config", "3 4");
    write_ints("g.graph.ptrdump", offsets, 4);
    write_ints("g.graph.edgedump", columns, 4);
}

static void remove_dumps(void)
{
    unlink(fixture_path("g.graph.ptrdump"));
    unlink(fixture_path("g.graph.edgedump"));
}

static void reads_dumps_by_any_name(void **state)
{
    (void)state;
    write_dumps();
    static const char *const names[] = {"g", "g.config", "g.graph.ptrdump", "g.graph.edgedump",
                                        "g.graph"};
    for (int i = 0; i < 5; i++)
        assert_reads(names[i], GRAPH);

    csr_matrix A;
    error_text error;
    assert_int_equal(matrix_read(fixture_path("g"), &A, &error), STATUS_OK);
    assert_ptr_equal(A.col_idx, A.mapping); /* the columns were not copied */
    csr_free(&A);

    /* A file of that very name is what the user means. */
    write_text("g", "0 1\n");
    assert_reads("g", "2x2: 0,1");
    unlink(fixture_path("g"));
}

static void reads_text_where_there_are_no_dumps(void **state)
{
    (void)state;
    write_dumps();
    remove_dumps();
    write_text("g.graph", "0 2 2 4 \n2 0 1 1 \n");
    assert_reads("g", GRAPH);
    assert_reads("g.graph", GRAPH);
    write_text("g.graph", "0 2\n2 4 2\n\n0 1\n1"); /* as fscanf would read it, too */
    assert_reads("g", GRAPH);
    /* Nothing is written beside the data. */
    assert_int_equal(access(fixture_path("g.graph.ptrdump"), F_OK), -1);

    unlink(fixture_path("g.graph"));
    write_gzip("g.graph.gz", "0 2 2 4 \n2 0 1 1 \n");
    assert_reads("g", GRAPH);
    assert_reads("g.graph.gz", GRAPH);
    unlink(fixture_path("g.graph.gz"));
}

static void reads_no_edges(void **state)
{
    (void)state;
    write_text("none.config", "2 0\n");
    write_ints("none.graph.ptrdump", (int32_t[]){0, 0, 0}, 3);
    write_ints("none.graph.edgedump", columns, 0);
    assert_reads("none", "2x2:");
    write_text("null.config", "0 0\n");
    write_ints("null.graph.ptrdump", (int32_t[]){0}, 1);
    write_ints("null.graph.edgedump", columns, 0);
    assert_reads("null", "0x0:");
}

static void refuses_config(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fragment;
    } configs[] = {
        {"", "g.config: the file is empty"},
        {"3", "g.config:1: expected the number of edges (an integer), found the end of the file"},
        {"3 4 5", "g.config:1: expected nothing after the two counts, found '5'"},
        {"-3 4", "g.config:1: the number of vertices of -3 is outside 0..2147483647"},
        {"2147483648 4", "g.config:1: the number of vertices of 2147483648 is outside"},
        {"3 x", "g.config:1: expected the number of edges (an integer), found 'x'"},
        {"4 4", "g.graph.ptrdump: holds 16 bytes, but the vertices of .config need 5 numbers"},
        {"2147483647 4", "g.graph.ptrdump: holds 16 bytes, but"},
        {"3 5", "g.graph.edgedump: holds 16 bytes, but the edges of .config need 5 numbers"},
        {"3 9223372036854775807", "g.graph.edgedump: holds 16 bytes, but"},
    };
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        write_dumps();
        write_text("g.config", configs[i].text);
        assert_refused("g", configs[i].fragment);
    }
}

static void refuses_dumps(void **state)
{
    (void)state;
    static const struct {
        int32_t offsets[4], columns[4];
        const char *fragment;
    } dumps[] = {
        {{0, 3, 2, 4}, {0, 0, 0, 0}, "g: row 1: offsets decrease (ends at entry 2, starts at 3)"},
        {{0, -1, 2, 4}, {0, 0, 0, 0}, "g: row 0: offsets decrease"},
        {{1, 2, 2, 4}, {0, 0, 0, 0}, "g: row 0: starts at entry 1, not at 0"},
        {{0, 2, 2, 5}, {0, 0, 0, 0}, "g: the row offsets end at 5, but there are 4 nonzeros"},
        {{0, 2, 2, 4}, {0, 0, 3, 0}, "g: row 2: column 3 is outside the matrix (3 columns)"},
        {{0, 2, 2, 4}, {-1, 0, 0, 0}, "g: row 0: column -1 is outside the matrix (3 columns)"},
    };
    for (size_t i = 0; i < sizeof dumps / sizeof *dumps; i++) {
        write_dumps();
        write_ints("g.graph.ptrdump", dumps[i].offsets, 4);
        write_ints("g.graph.edgedump", dumps[i].columns, 4);
        assert_refused("g", dumps[i].fragment);
    }
    write_dumps();
    write_bytes("g.graph.edgedump", columns, 15);
    assert_refused("g", "g.graph.edgedump: holds 15 bytes");
    char longer[19] = {0}; /* the right numbers, and a part of one more */
    memcpy(longer, columns, sizeof columns);
    write_bytes("g.graph.edgedump", longer, 17);
    assert_refused("g", "g.graph.edgedump: holds 17 bytes");
    memcpy(longer, offsets, sizeof offsets);
    write_bytes("g.graph.ptrdump", longer, 19);
    assert_refused("g", "g.graph.ptrdump: holds 19 bytes");
    write_bytes("g.graph.ptrdump", offsets, 0);
    assert_refused("g", "g.graph.ptrdump: holds 0 bytes");
}

static void refuses_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fragment;
    } texts[] = {
        {"", "g.graph: the file is empty"},
        {"0 2 2 4\n2 0 1\n", "g.graph:3: expected a column index (an integer), found the end"},
        {"0 2 2 4\n2 0 1 1 1\n", "g.graph:2: expected nothing after the last column index"},
        {"0 2 1 4\n2 0 1 1\n", "g.graph:1: row 1: offsets decrease (1 after 2)"},
        {"0 2 2 5\n2 0 1 1\n", "g.graph:1: the row offsets end at 5, but 4 nonzeros are promised"},
        {"0 2 2 4\n2 0 7 1\n", "g: row 2: column 7 is outside the matrix (3 columns)"},
        {"0 2 2 4\n2 0 x 1\n", "g.graph:2: expected a column index (an integer), found 'x'"},
    };
    write_dumps();
    remove_dumps();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_text("g.graph", texts[i].text);
        assert_refused("g", texts[i].fragment);
    }
    write_text("g.graph", "0 2 2 4\n2 0 1 1\n");
    write_text("g.config", "3 1000000000000\n");
    assert_refused("g", "g.graph:1: 1000000000000 nonzeros are promised, but the file can hold");
    unlink(fixture_path("g.graph"));
}

static void refuses_what_is_incomplete(void **state)
{
    (void)state;
    write_text("alone.config", "3 4\n");
    assert_refused("alone", "alone.config: there is neither .graph beside it nor .graph.ptrdump");
    write_ints("alone.graph.ptrdump", offsets, 4);
    assert_refused("alone", "alone.config: there is neither .graph");

    write_text("metis.graph", "2 1\n2\n1\n");
    assert_refused("metis.graph", "metis.config beside it (a METIS .graph file is not supported)");
    assert_refused("missing.graph", "missing.graph: No such file or directory");
    assert_refused("missing.config", "missing.config: No such file or directory");
    write_ints("orphan.graph.edgedump", columns, 4);
    assert_refused("orphan.graph.edgedump", "there is no");
}

static void round_trips(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        int64_t rows = 60, cols = 60;
        coo_list list = random_list(seed, &rows, &cols, 3000, false);
        int64_t n = rows > cols ? rows : cols;
        csr_matrix A, B;
        error_text error;
        assert_int_equal(csr_from_coo(&list, n, n, &A, "m", &error), STATUS_OK);
        char config[64];
        snprintf(config, sizeof config, "%ld %ld\n", (long)A.rows, (long)A.nnz);
        int32_t *narrow = malloc((size_t)(n + 1) * sizeof *narrow);
        for (int64_t i = 0; i <= n; i++)
            narrow[i] = (int32_t)A.row_ptr[i];
        write_text("trip.config", config);
        write_ints("trip.graph.ptrdump", narrow, (size_t)n + 1);
        write_ints("trip.graph.edgedump", A.col_idx, (size_t)A.nnz);
        free(narrow);
        assert_int_equal(matrix_read(fixture_path("trip"), &B, &error), STATUS_OK);
        assert_same(&A, &B);
        csr_free(&A);
        csr_free(&B);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_dumps_by_any_name),
        cmocka_unit_test(reads_text_where_there_are_no_dumps),
        cmocka_unit_test(reads_no_edges),
        cmocka_unit_test(refuses_config),
        cmocka_unit_test(refuses_dumps),
        cmocka_unit_test(refuses_text),
        cmocka_unit_test(refuses_what_is_incomplete),
        cmocka_unit_test(round_trips),
    };
    return cmocka_run_group_tests_name("read_lab", tests, fixture_setup, fixture_teardown);
}
