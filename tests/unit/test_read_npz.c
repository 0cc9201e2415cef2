/*
 * test_read_npz.c - scipy's archives: every layout they come in, and every kind of damage.
 */
#include "fixture.h"

/* An array as numpy writes it: magic, version, header length, dictionary, elements. */
typedef struct npy {
    char bytes[4096];
    size_t count;
} npy;

static npy make_npy_version(int version, const char *descr, const char *shape, const void *elements,
                            size_t count)
{
    npy array;
    char dictionary[256];
    int length =
        snprintf(dictionary, sizeof dictionary,
                 "{'descr': %s, 'fortran_order': False, 'shape': %s, }   \n", descr, shape);
    size_t n = 0;
    memcpy(array.bytes, "\x93NUMPY", 6);
    array.bytes[6] = (char)version;
    array.bytes[7] = 0;
    n = version == 1 ? 10 : 12;
    memset(array.bytes + 8, 0, 4);
    array.bytes[8] = (char)length;
    memcpy(array.bytes + n, dictionary, (size_t)length);
    n += (size_t)length;
    memcpy(array.bytes + n, elements, count);
    array.count = n + count;
    return array;
}

static npy make_npy(const char *descr, const char *shape, const void *elements, size_t count)
{
    return make_npy_version(1, descr, shape, elements, count);
}

#define NPY(descr, shape, ...) make_npy(descr, shape, (__VA_ARGS__), sizeof(__VA_ARGS__))

/* The members of an archive; those without a name are left out. */
typedef struct part {
    const char *name;
    npy array;
} part;

static void write_npz(const char *name, const part *parts, int count, bool stored)
{
    struct archive *archive = archive_begin(name);
    if (stored)
        archive_write_zip_set_compression_store(archive);
    else
        archive_write_zip_set_compression_deflate(archive);
    for (int i = 0; i < count; i++) {
        if (parts[i].name)
            archive_member(archive, parts[i].name, parts[i].array.bytes, parts[i].array.count);
    }
    archive_end(archive);
}

enum { INDICES, INDPTR, FORMAT, SHAPE, DATA, CSR_PARTS };

/* The 2 x 3 matrix with entries (0,0) (0,2) (1,1), as save_npz would write it. */
static void make_csr(part parts[CSR_PARTS])
{
    parts[INDICES] = (part){"indices.npy", NPY("'<i4'", "(3,)", (int32_t[]){0, 2, 1})};
    parts[INDPTR] = (part){"indptr.npy", NPY("'<i4'", "(3,)", (int32_t[]){0, 2, 3})};
    parts[FORMAT] = (part){"format.npy", make_npy("'|S3'", "()", "csr", 3)};
    parts[SHAPE] = (part){"shape.npy", NPY("'<i8'", "(2,)", (int64_t[]){2, 3})};
    parts[DATA] = (part){"data.npy", NPY("'<f4'", "(3,)", (float[]){1.5f, -2, 0})};
}

static void reads_csr(void **state)
{
    (void)state;
    part parts[CSR_PARTS];
    make_csr(parts);
    for (int stored = 0; stored < 2; stored++) {
        write_npz("a.zip", parts, CSR_PARTS, stored);
        rename(fixture_path("a.zip"), fixture_path("a.npz"));
        assert_reads("a.npz", "2x3: 0,0=1.5 0,2=-2 1,1=0");
    }
    write_npz("nameless.zip", parts, CSR_PARTS, false); /* known by its contents */
    assert_reads("nameless.zip", "2x3: 0,0=1.5 0,2=-2 1,1=0");
}

static void check_csr(part parts[CSR_PARTS], const char *expected)
{
    write_npz("b.zip", parts, CSR_PARTS, true);
    assert_reads("b.zip", expected);
}

static void check_refused(part parts[CSR_PARTS], const char *fragment)
{
    write_npz("b.zip", parts, CSR_PARTS, true);
    assert_refused("b.zip", fragment);
}

static void reads_index_types(void **state)
{
    (void)state;
    const char *const expected = "2x3: 0,0=1.5 0,2=-2 1,1=0";
    part parts[CSR_PARTS];
    make_csr(parts);
    parts[INDICES].array = NPY("'<i8'", "(3,)", (int64_t[]){0, 2, 1});
    parts[INDPTR].array = NPY("'<i8'", "(3,)", (int64_t[]){0, 2, 3});
    parts[SHAPE].array = NPY("'<i4'", "(2,)", (int32_t[]){2, 3});
    check_csr(parts, expected);
    parts[INDICES].array = NPY("'<u2'", "(3L,)", (uint16_t[]){0, 2, 1});
    parts[INDPTR].array = NPY("'|u1'", "( 3, )", (uint8_t[]){0, 2, 3});
    parts[FORMAT].array = NPY("'<U3'", "()", (uint32_t[]){'c', 's', 'r'});
    parts[SHAPE].array = make_npy_version(2, "'<i8'", "(2,)", (int64_t[]){2, 3}, 16);
    check_csr(parts, expected);
    parts[FORMAT].name = NULL; /* the members tell */
    check_csr(parts, expected);
    parts[DATA].name = NULL;
    check_csr(parts, "2x3: 0,0 0,2 1,1");
}

static void reads_value_types(void **state)
{
    (void)state;
    part parts[CSR_PARTS];
    make_csr(parts);
    parts[DATA].array = NPY("'<f8'", "(3,)", (double[]){0.1, -2, 1e-3});
    check_csr(parts, "2x3: 0,0=0.100000001 0,2=-2 1,1=0.00100000005");
    parts[DATA].array = NPY("'<f2'", "(3,)", (uint16_t[]){0x3c00, 0xc200, 0x0001});
    check_csr(parts, "2x3: 0,0=1 0,2=-3 1,1=5.96046448e-08");
    parts[DATA].array = NPY("'<i8'", "(3,)", (int64_t[]){-1, INT64_MIN, 7});
    check_csr(parts, "2x3: 0,0=-1 0,2=-9.22337204e+18 1,1=7");
    parts[DATA].array = NPY("'<u8'", "(3,)", (uint64_t[]){1, UINT64_MAX, 7});
    check_csr(parts, "2x3: 0,0=1 0,2=1.84467441e+19 1,1=7");
    parts[DATA].array = NPY("'|i1'", "(3,)", (int8_t[]){1, -128, 7});
    check_csr(parts, "2x3: 0,0=1 0,2=-128 1,1=7");
    parts[DATA].array = NPY("'|b1'", "(3,)", (uint8_t[]){1, 0, 1});
    check_csr(parts, "2x3: 0,0=1 0,2=0 1,1=1");
    parts[DATA].array = NPY("'|b1'", "(3,)", (uint8_t[]){1, 1, 1}); /* no more than the pattern */
    check_csr(parts, "2x3: 0,0 0,2 1,1");
}

static void reads_coo(void **state)
{
    (void)state;
    part parts[] = {
        {"row.npy", NPY("'<i8'", "(3,)", (int64_t[]){1, 0, 1})},
        {"col.npy", NPY("'<i4'", "(3,)", (int32_t[]){2, 1, 0})},
        {"data.npy", NPY("'<f8'", "(3,)", (double[]){1, 2, 3})},
        {"shape.npy", NPY("'<i8'", "(2,)", (int64_t[]){2, 3})},
        {"format.npy", make_npy("'|S3'", "()", "coo", 3)},
    };
    write_npz("coo.zip", parts, 5, false);
    assert_reads("coo.zip", "2x3: 0,1=2 1,0=3 1,2=1");
    parts[0].array = NPY("'<i8'", "(3,)", (int64_t[]){1, 2, 1});
    write_npz("coo.zip", parts, 5, false);
    assert_refused("coo.zip", "entry 1 at (2, 1) is outside the 2 x 3 matrix");
    parts[0].array = NPY("'<i8'", "(2,)", (int64_t[]){1, 0});
    write_npz("coo.zip", parts, 5, false);
    assert_refused("coo.zip", "coo.zip: row.npy holds 2 elements, but 3 are due");
    parts[0].array = NPY("'<i8'", "(0,)", (int64_t[]){0});
    parts[0].array.count -= 8;
    parts[1] = (part){"col.npy", parts[0].array};
    parts[2] = (part){"data.npy", parts[0].array};
    write_npz("coo.zip", parts, 5, false);
    assert_reads("coo.zip", "2x3:");
    parts[1].name = NULL;
    write_npz("coo.zip", parts, 5, false);
    assert_refused("coo.zip", "there is no col.npy inside");
}

static void refuses_contents(void **state)
{
    (void)state;
    part parts[CSR_PARTS];
    static const struct {
        int part;
        const char *fragment;
    } missing[] = {{INDICES, "there is no indices.npy inside: no scipy matrix"},
                   {INDPTR, "there is no indptr.npy inside"},
                   {SHAPE, "there is no shape.npy inside"}};
    for (int i = 0; i < 3; i++) {
        make_csr(parts);
        parts[missing[i].part].name = NULL;
        check_refused(parts, missing[i].fragment);
    }
    make_csr(parts);
    for (int i = 0; i < CSR_PARTS; i++)
        parts[i].name = "readme.txt";
    check_refused(parts, "b.zip: a zip archive of readme.txt, no scipy matrix");

    make_csr(parts);
    parts[FORMAT].array = make_npy("'|S3'", "()", "dia", 3);
    check_refused(parts,
                  "b.zip:format.npy: scipy's 'dia' format is not read (csr, csc, bsr and coo");
    parts[FORMAT].array = make_npy("'|S99'", "()", "bsr", 3);
    check_refused(parts, "b.zip:format.npy: a short string is expected");

    make_csr(parts);
    parts[SHAPE].array = NPY("'<i8'", "(2,)", (int64_t[]){3, 3});
    check_refused(parts, "indptr.npy holds 3 elements, but 4 are due");
    parts[SHAPE].array = NPY("'<i8'", "(2,)", (int64_t[]){2, -3});
    check_refused(parts, "a shape of 2 x -3 is outside");
    parts[SHAPE].array = NPY("'<i8'", "(2,)", (int64_t[]){INT64_MAX, 3});
    check_refused(parts, "a shape of 9223372036854775807 x 3 is outside");
    parts[SHAPE].array = NPY("'<i8'", "(1,)", (int64_t[]){2});
    check_refused(parts, "shape.npy holds 1 elements, but 2 are due");

    make_csr(parts);
    parts[INDPTR].array = NPY("'<i4'", "(3,)", (int32_t[]){0, 4, 3});
    check_refused(parts, "row 1: offsets decrease");
    parts[INDPTR].array = NPY("'<i4'", "(3,)", (int32_t[]){0, 2, 4});
    check_refused(parts, "the row offsets end at 4, but there are 3 nonzeros");
    parts[INDPTR].array = NPY("'<u8'", "(3,)", (uint64_t[]){0, UINT64_MAX, 3});
    check_refused(parts, "b.zip:indptr.npy: element 1 is outside the range of int64");
    parts[INDPTR].array = NPY("'<f8'", "(3,)", (double[]){0, 2, 3});
    check_refused(parts, "b.zip:indptr.npy: integers are expected");

    make_csr(parts);
    parts[INDICES].array = NPY("'<i4'", "(3,)", (int32_t[]){0, 3, 1});
    check_refused(parts, "row 0: column 3 is outside the matrix (3 columns)");
    parts[INDICES].array = NPY("'<i8'", "(3,)", (int64_t[]){0, 2, INT64_C(1) << 32});
    check_refused(parts, "b.zip:indices.npy: element 2 is outside the range of int32");
    /* Its lower half is a column of the matrix. */
    parts[INDICES].array = NPY("'<i8'", "(3,)", (int64_t[]){0, 1 - (INT64_C(1) << 32), 1});
    check_refused(parts, "b.zip:indices.npy: element 1 is outside the range of int32");
    parts[INDICES].array = NPY("'<i4'", "(2,)", (int32_t[]){0, 2});
    check_refused(parts, "data.npy holds 3 elements, but 2 are due");

    make_csr(parts);
    parts[DATA].array = NPY("'<c8'", "(3,)", (float[]){1, 0, 1, 0, 1, 0});
    check_refused(parts, "b.zip:data.npy: arrays of type 'c8' are not read");
    parts[DATA].array = NPY("'|S4'", "(3,)", (char[]){"123412341234"});
    check_refused(parts, "b.zip:data.npy: numbers are expected");
    parts[DATA] = parts[INDICES];
    check_refused(parts, "b.zip:indices.npy: is there twice");
}

static void reads_big_endian(void **state)
{
    (void)state;
    part parts[CSR_PARTS];
    make_csr(parts);
    parts[INDICES].array = NPY("'>i4'", "(3,)", (char[]){0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1});
    parts[INDPTR].array = NPY("'>u2'", "(3,)", (char[]){0, 0, 0, 2, 0, 3});
    parts[SHAPE].array =
        NPY("'>i8'", "(2,)", (char[]){0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3});
    parts[DATA].array =
        NPY("'>f4'", "(3,)", (unsigned char[]){0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0});
    parts[FORMAT].array = NPY("'>U3'", "()", (char[]){0, 0, 0, 'c', 0, 0, 0, 's', 0, 0, 0, 'r'});
    check_csr(parts, "2x3: 0,0=1.5 0,2=-2 1,1=0");
    parts[DATA].array = NPY("'>f8'", "(3,)", (unsigned char[24]){0x3f, 0xf8, [8] = 0xc0});
    check_csr(parts, "2x3: 0,0=1.5 0,2=-2 1,1=0");
}

static void reads_csc(void **state)
{
    (void)state;
    part parts[CSR_PARTS];
    make_csr(parts);
    parts[FORMAT].array = make_npy("'|S3'", "()", "csc", 3);
    parts[SHAPE].array = NPY("'<i8'", "(2,)", (int64_t[]){3, 2});
    check_csr(parts, "3x2: 0,0=1.5 1,1=0 2,0=-2");
    parts[DATA].name = NULL;
    check_csr(parts, "3x2: 0,0 1,1 2,0");
    parts[SHAPE].array = NPY("'<i8'", "(2,)", (int64_t[]){2, 3});
    check_refused(parts, "indptr.npy holds 3 elements, but 4 are due");
    parts[SHAPE].array = NPY("'<i8'", "(2,)", (int64_t[]){2, 2});
    check_refused(parts, "b.zip, transposed: row 0: column 2 is outside");
    parts[SHAPE].array = NPY("'<i8'", "(2,)", (int64_t[]){2147483647, 2});
    check_refused(parts, "2147483647 rows are absurd for 3 nonzeros");
}

/* Blocks of 2 x 1 at rows 0 and 1: columns 0 and 2; at rows 2 and 3: column 1. */
static void reads_bsr(void **state)
{
    (void)state;
    part parts[CSR_PARTS];
    make_csr(parts);
    parts[FORMAT].array = make_npy("'|S3'", "()", "bsr", 3);
    parts[SHAPE].array = NPY("'<i8'", "(2,)", (int64_t[]){4, 3});
    parts[DATA].array = NPY("'<f4'", "(3, 2, 1)", (float[]){1, 2, 3, 4, 0, 6});
    check_csr(parts, "4x3: 0,0=1 0,2=3 1,0=2 1,2=4 2,1=0 3,1=6");
    parts[DATA].array = NPY("'|b1'", "(3, 2, 1)", (char[]){1, 1, 1, 1, 1, 1});
    check_csr(parts, "4x3: 0,0 0,2 1,0 1,2 2,1 3,1");
    parts[DATA].array = NPY("'<f4'", "(3, 1, 2)", (float[]){1, 2, 3, 4, 0, 6});
    parts[SHAPE].array = NPY("'<i8'", "(2,)", (int64_t[]){2, 6});
    check_csr(parts, "2x6: 0,0=1 0,1=2 0,4=3 0,5=4 1,2=0 1,3=6");

    parts[SHAPE].array = NPY("'<i8'", "(2,)", (int64_t[]){2, 5});
    check_refused(parts, "blocks of 1 x 2 do not fill 2 x 5");
    parts[SHAPE].array = NPY("'<i8'", "(2,)", (int64_t[]){2, 4});
    check_refused(parts, "b.zip, in blocks: row 0: column 2 is outside");
    parts[DATA].array = NPY("'<f4'", "(2, 1, 2)", (float[]){1, 2, 3, 4});
    check_refused(parts, "data.npy holds 4 elements, but 6 are due");
    parts[DATA].array = NPY("'<f4'", "(6,)", (float[]){1, 2, 3, 4, 5, 6});
    check_refused(parts, "blocks of 0 x 0 do not fill");
    parts[DATA].name = NULL;
    check_refused(parts, "there is no data.npy inside");
    make_csr(parts);
    parts[DATA].array = NPY("'<f4'", "(3, 1, 1)", (float[]){1, 2, 3});
    check_refused(parts, "data.npy has three dimensions, as only bsr's have");
}

static void names_what_a_zip_holds(void **state)
{
    (void)state;
    struct archive *archive = archive_begin("A.mtx.zip");
    archive_member(archive, "A.mtx", "%%MatrixMarket", 14);
    archive_end(archive);
    assert_refused("A.mtx.zip",
                   "A.mtx.zip: a zip archive of A.mtx, no scipy matrix; unpack it first");
}

static void refuses_headers(void **state)
{
    (void)state;
    static const struct {
        const char *descr, *shape, *fragment;
    } headers[] = {
        {"'<i3'", "(3,)", "arrays of type 'i3' are not read"},
        {"'<f16'", "(3,)", "arrays of type 'f16' are not read"},
        {"'|O'", "(3,)", "no simple type"},
        {"[('a', '<i4')]", "(3,)", "no simple type"},
        {"''", "(3,)", "no simple type"},
        {"'<i99999999999999999999'", "(3,)", "no simple type"},
        {"'<i4'", "(3, 1)", "neither one dimension nor three"},
        {"'<i4'", "(-3,)", "neither one dimension nor three"},
        {"'<i4'", "(three,)", "neither one dimension nor three"},
        {"'<i4'", "(3, 1, 1, 1)", "neither one dimension nor three"},
        {"'<i4'", "(3, 1, 1)", "has three dimensions"},
        {"'<i4'", "(3000000000, 3000000000, 3000000000)", "more than the file can hold"},
        {"'<i4'", "3", "without a shape"},
        {"'<i4'", "(4,)", "ends before its last element"},
        {"'<i4'", "(2,)", "bytes follow the last element"},
        {"'<i4'", "(1000000000000,)", "1000000000000 elements are promised, more than the file"},
        {"'<i4'", "(9999999999999999999999,)", "neither one dimension nor three"},
    };
    part parts[CSR_PARTS];
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        make_csr(parts);
        parts[INDICES].array = NPY(headers[i].descr, headers[i].shape, (int32_t[]){0, 2, 1});
        char fragment[200];
        snprintf(fragment, sizeof fragment, "b.zip:indices.npy: ");
        check_refused(parts, fragment);
        check_refused(parts, headers[i].fragment);
    }
    make_csr(parts);
    parts[INDICES].array.bytes[1] = 'X';
    check_refused(parts, "b.zip:indices.npy: no .npy array");
    make_csr(parts);
    parts[INDICES].array.bytes[6] = 9;
    check_refused(parts, "b.zip:indices.npy: unknown .npy version 9");
    make_csr(parts);
    parts[INDICES].array.bytes[9] = (char)255;
    check_refused(parts, "b.zip:indices.npy: ends before its last element");
    make_csr(parts);
    parts[INDICES].array.bytes[6] = 2; /* 4 bytes of length: the dictionary's begin among them */
    check_refused(parts, "b.zip:indices.npy: an absurdly long .npy header");
    memcpy(parts[INDICES].array.bytes + 8, (char[]){0, 0, 1, 0}, 4); /* 65536, the first */
    check_refused(parts, "b.zip:indices.npy: an absurdly long .npy header");
    parts[INDICES].array.count = 3;
    check_refused(parts, "b.zip:indices.npy: ends before its last element");
}

static void refuses_damaged_archives(void **state)
{
    (void)state;
    part parts[CSR_PARTS];
    make_csr(parts);
    write_npz("whole.zip", parts, CSR_PARTS, true);
    size_t bytes;
    char *whole = read_bytes("whole.zip", &bytes);
    for (size_t cut = 1; cut < bytes; cut += 13) {
        write_bytes("cut.npz", whole, bytes - cut);
        assert_refused("cut.npz", "cut.npz");
    }
    /* A flipped bit in the elements of a stored member: only the checksum can tell. */
    for (size_t at = 0; at + 12 < bytes; at++) {
        if (memcmp(whole + at, (float[]){1.5f, -2, 0}, 12) != 0) continue;
        whole[at + 2] ^= 4;
        write_bytes("flipped.npz", whole, bytes);
        assert_refused("flipped.npz", "data.npy");
        whole[at + 2] ^= 4;
    }
    free(whole);
    write_text("text.npz", "this is no zip archive");
    assert_refused("text.npz", "text.npz: no readable zip archive");
    write_text("empty.npz", "");
    assert_refused("empty.npz", "empty.npz: ");
    assert_refused("missing.npz", "missing.npz: ");
    mkdir(fixture_path("folder.npz"), 0777);
    assert_refused("folder.npz", "folder.npz: ");
}

/* An array that could hold what it promises, in an archive behind 64 GB of a hole. */
static void arrays_that_do_not_fit(void **state)
{
    (void)state;
    part parts[CSR_PARTS];
    make_csr(parts);
    parts[INDPTR].array = NPY("'|i1'", "(1099511627776,)", (int8_t[]){0});
    write_npz("end.zip", parts, CSR_PARTS, true);
    size_t bytes;
    char *end = read_bytes("end.zip", &bytes);
    write_bytes("huge.npz", "PK\3\4", 4);
    if (truncate(fixture_path("huge.npz"), INT64_C(1) << 36) != 0) skip();
    FILE *file = fopen(fixture_path("huge.npz"), "a");
    assert_int_equal(fwrite(end, 1, bytes, file), bytes);
    fclose(file);
    free(end);
    assert_refused_with("huge.npz", STATUS_MEMORY,
                        "huge.npz: an array of the file needs 8796.1 GB of memory, but only ");
    unlink(fixture_path("huge.npz"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_csr),
        cmocka_unit_test(reads_index_types),
        cmocka_unit_test(reads_value_types),
        cmocka_unit_test(reads_coo),
        cmocka_unit_test(refuses_contents),
        cmocka_unit_test(reads_big_endian),
        cmocka_unit_test(reads_csc),
        cmocka_unit_test(reads_bsr),
        cmocka_unit_test(names_what_a_zip_holds),
        cmocka_unit_test(refuses_headers),
        cmocka_unit_test(refuses_damaged_archives),
        cmocka_unit_test(arrays_that_do_not_fit),
    };
    return cmocka_run_group_tests_name("read_npz", tests, fixture_setup, fixture_teardown);
}
