/*
 * test_csr_file.c - the binary format, its checksum, and the cache of parsed text that is made of
 * it.
 */
#include "fixture.h"
#include "random_matrix.h"

#include "matrix/cache.h"
#include "matrix/checksum.h"
#include "matrix/csr_file.h"

#include <fcntl.h>
#include <glob.h>
#include <omp.h>

/* ---- checksums ------------------------------------------------------------------------------- */

static void checksum_sees_every_bit(void **state)
{
    (void)state;
    enum { BYTES = (1 << 20) * 2 + 77 };
    unsigned char *data = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (unsigned char)random_bits(1, i);
    uint64_t whole = checksum(data, BYTES, 0);
    for (int threads = 1; threads <= 5; threads++) {
        omp_set_num_threads(threads);
        assert_true(checksum(data, BYTES, 0) == whole);
    }
    for (uint64_t i = 0; i < 200; i++) {
        size_t at = (size_t)random_below(2, i, BYTES);
        data[at] ^= (unsigned char)(1 << i % 8);
        assert_true(checksum(data, BYTES, 0) != whole);
        data[at] ^= (unsigned char)(1 << i % 8);
    }
    /* Neither swapped blocks, nor lengths, nor the seed go unnoticed. */
    unsigned char *swapped = malloc(BYTES);
    memcpy(swapped, data + (1 << 20), 1 << 20);
    memcpy(swapped + (1 << 20), data, 1 << 20);
    memcpy(swapped + (2 << 20), data + (2 << 20), 77);
    assert_true(checksum(swapped, BYTES, 0) != whole);
    assert_true(checksum(data, BYTES, 1) != whole);
    memset(data, 0, 100);
    for (size_t bytes = 0; bytes < 100; bytes++)
        assert_true(checksum(data, bytes, 0) != checksum(data, bytes + 1, 0));
    free(swapped);
    free(data);
}

/* ---- .csr files ------------------------------------------------------------------------------ */

static void round_trips(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        csr_matrix A = random_matrix(seed, 60, 90, seed % 10 ? 3000 : 0, seed % 2), B;
        error_text error;
        assert_int_equal(csr_write(&A, fixture_path("a.csr"), &error), STATUS_OK);
        assert_int_equal(matrix_read(fixture_path("a.csr"), &B, &error), STATUS_OK);
        assert_same(&A, &B);
        assert_non_null(B.mapping);
        csr_free(&A);
        csr_free(&B);
    }
    csr_matrix A;
    error_text error;
    assert_int_equal(csr_alloc(&A, 0, 0, 0, true, &error), STATUS_OK);
    assert_int_equal(csr_write(&A, fixture_path("none.csr"), &error), STATUS_OK);
    csr_free(&A);
    assert_reads("none.csr", "0x0:");
}

static void write_example(const char *name)
{
    int64_t offsets[] = {0, 2, 3};
    int32_t columns[] = {0, 2, 1};
    float values[] = {1, 2, 3};
    csr_matrix A = {
        .rows = 2, .cols = 3, .nnz = 3, .row_ptr = offsets, .col_idx = columns, .values = values};
    error_text error;
    assert_int_equal(csr_write(&A, fixture_path(name), &error), STATUS_OK);
}

static void damage_is_refused(void **state)
{
    (void)state;
    write_example("whole.csr");
    assert_reads("whole.csr", "2x3: 0,0=1 0,2=2 1,1=3");
    size_t bytes;
    char *whole = read_bytes("whole.csr", &bytes);
    assert_int_equal(bytes, 64 + 3 * 8 + 16 + 16);

    for (size_t cut = 1; cut <= bytes; cut++) {
        write_bytes("cut.csr", whole, bytes - cut);
        assert_refused("cut.csr", "cut.csr: ");
    }
    /* Every bit counts, but for the padding behind the columns and behind the values. */
    for (size_t bit = 0; bit < bytes * 8; bit++) {
        size_t at = bit / 8;
        if ((at >= 100 && at < 104) || at >= 116) continue;
        whole[at] ^= (char)(1 << bit % 8);
        write_bytes("flipped.csr", whole, bytes);
        assert_refused("flipped.csr", "flipped.csr");
        whole[at] ^= (char)(1 << bit % 8);
    }
    whole[7] = 2;
    write_bytes("later.csr", whole, bytes);
    assert_refused("later.csr", "version 2 of the .csr format, but this program reads version 1");
    whole[7] = 1;
    whole[100 - 4] ^= 1;
    write_bytes("column.csr", whole, bytes);
    assert_refused("column.csr", "column.csr: the checksum differs: the file is damaged");
    whole[100 - 4] ^= 1;

    char *longer = calloc(1, bytes + 8);
    memcpy(longer, whole, bytes);
    write_bytes("longer.csr", longer, bytes + 8);
    assert_refused("longer.csr",
                   "longer.csr: the file has 128 bytes, which is not what its header");
    free(longer);

    /* Values "twice", under a checksum that is right. */
    whole[32] = 2;
    uint64_t sum = checksum(whole, 56, 0);
    sum = checksum(whole + 64, 3 * 8, sum);
    sum = checksum(whole + 88, 3 * 4, sum);
    sum = checksum(whole + 104, 3 * 4, sum);
    memcpy(whole + 56, &sum, sizeof sum);
    write_bytes("twice.csr", whole, bytes);
    assert_refused("twice.csr", "twice.csr: the file has 120 bytes, which is not what its header");
    whole[32] = 1;
    free(whole);

    write_text("text.csr", "row_ptr col_idx values");
    assert_refused("text.csr", "text.csr: no .csr file of this suite");
    write_text("empty.csr", "");
    assert_refused("empty.csr", "empty.csr: no .csr file of this suite");
}

/* A file whose checksum is right may still hold nonsense. */
static void contents_are_validated(void **state)
{
    (void)state;
    int64_t offsets[] = {0, 2, 3};
    int32_t columns[] = {0, 2, 3};
    csr_matrix A = {.rows = 2, .cols = 3, .nnz = 3, .row_ptr = offsets, .col_idx = columns};
    error_text error;
    assert_int_equal(csr_write(&A, fixture_path("bad.csr"), &error), STATUS_OK);
    assert_refused("bad.csr", "bad.csr: row 1: column 3 is outside the matrix (3 columns)");
}

static void unwritable_places(void **state)
{
    (void)state;
    int64_t offsets[] = {0};
    csr_matrix A = {.rows = 0, .cols = 0, .nnz = 0, .row_ptr = offsets};
    error_text error;
    assert_int_equal(csr_write(&A, fixture_path("no/such/folder/a.csr"), &error), STATUS_RUNTIME);
    assert_non_null(strstr(error.text, "no/such/folder/a.csr"));
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(csr_write(&A, "/dev/full", &error), STATUS_RUNTIME);
}

/* ---- the cache ------------------------------------------------------------------------------- */

/* A list of 600 thousand edges, above the 4 MB from which on parsing is worth keeping. */
static void write_list(const char *name, uint64_t seed)
{
    FILE *file = fopen(fixture_path(name), "w");
    for (uint64_t i = 0; i < 600000; i++)
        fprintf(file, "%u\t%u\n", 10000 + (unsigned)random_below(seed, i, 1000),
                (unsigned)i % 1000);
    fclose(file);
}

/* How many entries there are for files of this name ("*": any), and the path of one of them. */
static size_t cache_entries(const char *name, char *path)
{
    glob_t found;
    char pattern[128];
    snprintf(pattern, sizeof pattern, "%s/cache/spmm-lab/%s-*.csr", fixture_folder, name);
    size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    if (count > 0 && path) strcpy(path, found.gl_pathv[0]);
    if (count > 0) globfree(&found);
    return count;
}

static csr_matrix read_list(const char *name)
{
    csr_matrix A;
    error_text error;
    if (matrix_read(fixture_path(name), &A, &error) != STATUS_OK) fail_msg("%s", error.text);
    return A;
}

static void text_is_cached(void **state)
{
    (void)state;
    char entry[256];
    write_list("list.txt", 1);
    assert_int_equal(cache_entries("*", NULL), 0);
    csr_matrix parsed = read_list("list.txt");
    assert_null(parsed.mapping);
    assert_int_equal(cache_entries("list.txt", entry), 1);
    csr_matrix kept = read_list("list.txt");
    assert_non_null(kept.mapping); /* from the cache */
    assert_same(&parsed, &kept);
    csr_free(&kept);

    /* By another name of the same file, too. */
    char detour[256];
    snprintf(detour, sizeof detour, "%s/../%s/list.txt", fixture_folder,
             strrchr(fixture_folder, '/'));
    error_text error;
    assert_int_equal(matrix_read(detour, &kept, &error), STATUS_OK);
    assert_non_null(kept.mapping);
    csr_free(&kept);

    /* A damaged or shortened entry is parsed over, and replaced. */
    for (int damage = 0; damage < 3; damage++) {
        int file = open(entry, O_WRONLY);
        assert_true(file >= 0);
        if (damage == 0) assert_int_equal(pwrite(file, "xxxx", 4, 1000000), 4);
        if (damage == 1) assert_int_equal(ftruncate(file, 1000), 0);
        if (damage == 2) assert_int_equal(pwrite(file, "\7", 1, 7), 1); /* another version */
        close(file);
        kept = read_list("list.txt");
        assert_null(kept.mapping);
        assert_same(&parsed, &kept);
        csr_free(&kept);
        kept = read_list("list.txt");
        assert_non_null(kept.mapping);
        csr_free(&kept);
    }

    /* A file that changed is read again, and replaces its entry. */
    write_list("list.txt", 2);
    csr_matrix changed = read_list("list.txt");
    assert_null(changed.mapping);
    assert_true(memcmp(changed.row_ptr, parsed.row_ptr, 11000 * sizeof *parsed.row_ptr) != 0);
    assert_int_equal(cache_entries("*", NULL), 1);
    csr_free(&changed);

    /* The same bytes with another time count as changed. */
    struct timespec times[2] = {{1, 2}, {3, 4}};
    assert_int_equal(utimensat(AT_FDCWD, fixture_path("list.txt"), times, 0), 0);
    changed = read_list("list.txt");
    assert_null(changed.mapping);
    csr_free(&changed);

    /* Other bytes of the same number, with the old time as `cp -p` leaves it, count as changed as well. */
    struct stat before;
    assert_int_equal(stat(fixture_path("list.txt"), &before), 0);
    write_list("list.txt", 1);
    times[0] = before.st_atim;
    times[1] = before.st_mtim;
    assert_int_equal(utimensat(AT_FDCWD, fixture_path("list.txt"), times, 0), 0);
    changed = read_list("list.txt");
    assert_null(changed.mapping);
    assert_same(&parsed, &changed);
    csr_free(&changed);

    /* Another file's entry in its place is not taken for its own. */
    char other[256];
    write_list("other.txt", 3);
    changed = read_list("other.txt");
    assert_int_equal(cache_entries("other.txt", other), 1);
    assert_int_equal(rename(entry, other), 0);
    kept = read_list("other.txt");
    assert_null(kept.mapping);
    assert_same(&changed, &kept);
    csr_free(&changed);
    csr_free(&kept);
    csr_free(&parsed);
}

static void cache_can_be_declined(void **state)
{
    (void)state;
    write_list("declined.txt", 4);
    size_t before = cache_entries("*", NULL);
    setenv("SPMM_NO_CACHE", "1", 1);
    for (int i = 0; i < 2; i++) {
        csr_matrix A = read_list("declined.txt");
        assert_null(A.mapping);
        csr_free(&A);
    }
    unsetenv("SPMM_NO_CACHE");
    assert_int_equal(cache_entries("*", NULL), before);

    write_text("small.txt", "0 1\n"); /* parsed as fast as looked up */
    assert_reads("small.txt", "2x2: 0,1");
    assert_int_equal(cache_entries("*", NULL), before);
}

static void a_cache_that_fails_is_no_error(void **state)
{
    (void)state;
    char usual[256];
    snprintf(usual, sizeof usual, "%s", getenv("XDG_CACHE_HOME"));
    write_text("in-the-way", "a file where the folder should be");
    setenv("XDG_CACHE_HOME", fixture_path("in-the-way"), 1);
    write_list("uncached.txt", 5);
    csr_matrix A = read_list("uncached.txt");
    assert_int_equal(A.nnz, 600000);
    csr_free(&A);
    setenv("XDG_CACHE_HOME", usual, 1);
}

/* Not even an entry that is whole and in its place is believed to be a matrix. */
static void a_cache_is_validated(void **state)
{
    (void)state;
    write_list("believed.txt", 7);
    reader_files files = {.count = 1};
    cache_entry entry;
    strcpy(files.path[0], fixture_path("believed.txt"));
    cache_locate(&files, &entry);
    int64_t offsets[] = {0, 1};
    int32_t columns[] = {5};
    csr_matrix nonsense = {.rows = 1, .cols = 1, .nnz = 1, .row_ptr = offsets, .col_idx = columns};
    error_text error;
    assert_int_equal(csr_file_write(&nonsense, entry.path, entry.key, &error), STATUS_OK);
    csr_matrix A = read_list("believed.txt");
    assert_int_equal(A.nnz, 600000);
    csr_free(&A);
}

/* Files of one name in two folders do not take turns in one entry. */
static void entries_by_place(void **state)
{
    (void)state;
    reader_files files = {.count = 1};
    cache_entry here, there;
    mkdir(fixture_path("elsewhere"), 0755);
    write_list("twin.txt", 8);
    assert_int_equal(link(fixture_path("twin.txt"), fixture_path("elsewhere/twin.txt")), 0);
    strcpy(files.path[0], fixture_path("twin.txt"));
    cache_locate(&files, &here);
    strcpy(files.path[0], fixture_path("elsewhere/twin.txt"));
    cache_locate(&files, &there);
    assert_true(*here.path && *there.path);
    assert_string_not_equal(here.path, there.path);
}

/* A matrix that comes from several files is read again when any of them changes. */
static void companions_count(void **state)
{
    (void)state;
    reader_files files = {.count = 2};
    cache_entry first, second;
    write_list("edges", 6);
    write_text("nodes", "1\n");
    strcpy(files.path[0], fixture_path("edges"));
    strcpy(files.path[1], fixture_path("nodes"));
    cache_locate(&files, &first);
    assert_true(*first.path != 0);
    write_text("nodes", "20\n");
    cache_locate(&files, &second);
    assert_string_equal(first.path, second.path);
    assert_true(first.key != second.key);
    unlink(fixture_path("nodes"));
    cache_locate(&files, &second);
    assert_int_equal(*second.path, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksum_sees_every_bit), cmocka_unit_test(round_trips),
        cmocka_unit_test(damage_is_refused),       cmocka_unit_test(contents_are_validated),
        cmocka_unit_test(unwritable_places),       cmocka_unit_test(text_is_cached),
        cmocka_unit_test(cache_can_be_declined),   cmocka_unit_test(a_cache_that_fails_is_no_error),
        cmocka_unit_test(a_cache_is_validated),    cmocka_unit_test(entries_by_place),
        cmocka_unit_test(companions_count),
    };
    return cmocka_run_group_tests_name("csr_file", tests, fixture_setup, fixture_teardown);
}
