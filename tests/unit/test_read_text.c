/*
 * test_read_text.c - the text formats: what each accepts, and how each kind of damage is refused.
 */
#include "fixture.h"
#include "random_matrix.h"

typedef struct sample {
    const char *name, *text;
    const char *expected; /* as matrix_text writes it, or what the message must hold */
} sample;

static void check_samples(const sample *samples, size_t count,
                          void (*check)(const char *name, const char *expected))
{
    for (size_t i = 0; i < count; i++) {
        write_text(samples[i].name, samples[i].text);
        check(samples[i].name, samples[i].expected);

        /* The same, gzipped; the name need not tell. */
        char packed[128];
        snprintf(packed, sizeof packed, "gz-%s.gz", samples[i].name);
        if (!*samples[i].text) continue;
        write_gzip(packed, samples[i].text);
        check(packed, samples[i].expected);
    }
}

#define CHECK_READS(samples) check_samples(samples, sizeof samples / sizeof *samples, assert_reads)
#define CHECK_REFUSED(samples) \
    check_samples(samples, sizeof samples / sizeof *samples, assert_refused)

#define GENERAL "%%MatrixMarket matrix coordinate real general\n"
#define PATTERN "%%MatrixMarket matrix coordinate pattern general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define SKEW "%%MatrixMarket matrix coordinate integer skew-symmetric\n"

/* ---- Matrix Market --------------------------------------------------------------------------- */

static void mtx_reads(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"real.mtx", GENERAL "2 3 3\n2 1 1.5\n1 3 -2e0\n1 1 0\n", "2x3: 0,0=0 0,2=-2 1,0=1.5"},
        {"pattern.mtx", PATTERN "2 2 2\n2 2\n1 1\n", "2x2: 0,0 1,1"},
        {"integer.mtx",
         "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 -2147483648\n",
         "1x1: 0,0=-2.14748365e+09"},
        {"symmetric.mtx", SYMMETRIC "3 3 3\n1 1 5\n3 1 6\n3 2 7\n",
         "3x3: 0,0=5 0,2=6 1,2=7 2,0=6 2,1=7"},
        {"skew.mtx", SKEW "2 2 1\n2 1 3\n", "2x2: 0,1=-3 1,0=3"},
        {"mirrored.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
         "2x2: 0,0 0,1 1,0"},
        {"duplicates.mtx", GENERAL "1 1 2\n1 1 1\n1 1 2\n", "1x1: 0,0=1 0,0=2"},
        {"comments.mtx",
         "%%matrixmarket MATRIX Coordinate Pattern GENERAL\n%\n\n  % more\n\n2 2 1\n% here\n\n "
         "1\t2 \n"
         "\n% and there\n",
         "2x2: 0,1"},
        {"windows.mtx", "%%MatrixMarket matrix coordinate real general\r\n1 1 1\r\n1 1 2\r\n",
         "1x1: 0,0=2"},
        {"no-newline.mtx", PATTERN "1 1 1\n1 1", "1x1: 0,0"},
        {"empty.mtx", GENERAL "3 4 0\n", "3x4:"},
        {"nothing.mtx", PATTERN "0 0 0", "0x0:"},
        {"no-suffix", PATTERN "1 1 1\n1 1\n", "1x1: 0,0"},
        {"upper.mtx", SYMMETRIC "3 3 3\n1 1 5\n1 3 6\n2 3 7\n",
         "3x3: 0,0=5 0,2=6 1,2=7 2,0=6 2,1=7"},
        {"upper-skew.mtx", SKEW "2 2 1\n1 2 3\n", "2x2: 0,1=3 1,0=-3"},
        {"fortran.mtx",
         GENERAL "1 3 3\n1 1 1D+05\n1 2 -2.5d-1\n1 3 1.00000005960464477539062501D0\n",
         "1x3: 0,0=100000 0,1=-0.25 0,2=1.00000012"},
        {"mark.mtx", "\xef\xbb\xbf" PATTERN "1 1 1\n1 1\n", "1x1: 0,0"},
        {"marked", "\xef\xbb\xbf" PATTERN "1 1 1\n1 1\n", "1x1: 0,0"},
        {"tall.mtx", PATTERN "5 1 1\n5 1\n", "5x1: 4,0"},
    };
    CHECK_READS(samples);
}

static void mtx_refuses(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"empty.mtx", "", "empty.mtx: the file is empty"},
        {"banner.mtx", "1 1 1\n1 1\n", ":1: no Matrix Market file"},
        {"object.mtx", "%%MatrixMarket vector coordinate real general\n", "'vector' is no matrix"},
        {"array.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n", ":1: a dense 'array'"},
        {"format.mtx", "%%MatrixMarket matrix mangled real general\n", "unknown format 'mangled'"},
        {"complex.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n",
         ":1: complex values are not supported"},
        {"field.mtx", "%%MatrixMarket matrix coordinate mangled general\n",
         "unknown field 'mangled'"},
        {"hermitian.mtx", "%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n",
         ":1: hermitian is not supported"},
        {"symmetry.mtx", "%%MatrixMarket matrix coordinate real mangled\n",
         "unknown symmetry 'mangled'"},
        {"short-banner.mtx", "%%MatrixMarket matrix coordinate\n1 1 0\n", "unknown field ''"},
        {"long-banner.mtx", "%%MatrixMarket matrix coordinate real general x\n1 1 0\n",
         ":1: expected the end of the line, found 'x'"},
        {"skew-pattern.mtx", "%%MatrixMarket matrix coordinate pattern skew-symmetric\n",
         ":1: a pattern cannot be skew-symmetric"},
        {"no-sizes.mtx", GENERAL "% nothing\n",
         "expected the number of rows (an integer), found the"},
        {"two-sizes.mtx", GENERAL "3 3\n1 1 1\n",
         ":2: expected the number of entries (an integer), found the end of the line"},
        {"four-sizes.mtx", GENERAL "3 3 1 9\n1 1 1\n",
         ":2: expected the end of the line, found '9'"},
        {"negative.mtx", GENERAL "-3 3 1\n1 1 1\n", ":2: the number of rows of -3 is outside"},
        {"too-wide.mtx", GENERAL "3 2147483648 1\n1 1 1\n",
         ":2: the number of columns of 2147483648 is outside 0..2147483647"},
        {"too-many.mtx", GENERAL "3 3 9223372036854775808\n", ":2: the number of entries of 92"},
        {"promise.mtx", GENERAL "3 3 1000000000000\n1 1 1\n",
         ":2: 1000000000000 entries are promised, but the file can hold"},
        {"oblong.mtx", SYMMETRIC "3 4 0\n", ":2: a symmetric matrix must be square, not 3 x 4"},
        {"truncated.mtx", GENERAL "3 3 3\n1 1 1\n2 2 2\n", "the file ends after 2 of 3 entries"},
        {"cut.mtx", GENERAL "3 3 1\n1 1", ":3: expected a value, found the end of the file"},
        {"more.mtx", GENERAL "3 3 1\n1 1 1\n% c\n2 2 2\n",
         ":5: expected nothing after the last entry, found '2'"},
        {"garbage.mtx", GENERAL "3 3 1\n1 1 1\nfoo\n", ":4: expected nothing after the last entry"},
        {"zero.mtx", GENERAL "3 3 1\n0 1 1\n", ":3: a row number of 0 is outside 1..3"},
        {"row.mtx", GENERAL "3 3 1\n4 1 1\n", ":3: a row number of 4 is outside 1..3"},
        {"column.mtx", GENERAL "3 3 1\n1 4 1\n", ":3: a column number of 4 is outside 1..3"},
        {"minus.mtx", GENERAL "3 3 1\n1 -1 1\n", ":3: a column number of -1 is outside 1..3"},
        {"int32.mtx", GENERAL "3 3 1\n4294967297 1 1\n", "a row number of 4294967297 is outside"},
        {"fraction.mtx", GENERAL "3 3 1\n1.0 1 1\n", ":3: expected a row number (an integer)"},
        {"no-value.mtx", GENERAL "3 3 1\n1 1\n", ":3: expected a value, found the end of the line"},
        {"extra.mtx", PATTERN "3 3 1\n1 1 1\n", ":3: expected the end of the line, found '1'"},
        {"large.mtx", GENERAL "3 3 1\n1 1 1e300\n",
         ":3: expected a value that is finite in fp32, found '1e300'"},
        {"word.mtx", GENERAL "3 3 1\n1 1 one\n", ":3: expected a value, found 'one'"},
        {"half.mtx", "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 0.5\n",
         ":3: expected a value (an integer), found '0.5'"},
        {"both.mtx", SYMMETRIC "3 3 2\n1 2 1\n2 1 1\n",
         ":4: entry (2, 1) is below the diagonal, earlier ones above it"},
        {"both-again.mtx", SYMMETRIC "3 3 2\n3 1 1\n1 2 1\n",
         ":4: entry (1, 2) is above the diagonal, earlier ones below it"},
        {"rows.mtx", GENERAL "2147483647 1 1\n1 1 1\n",
         "2147483647 rows are absurd for 1 nonzeros"},
        {"columns.mtx", GENERAL "1 2147483647 1\n1 1 1\n",
         "2147483647 columns are absurd for 1 nonzeros"},
        {"least.mtx", GENERAL "8389609 1 1\n1 1 1\n", "8389609 rows are absurd"},
        {"old.mtx", "%%MatrixMarket matrix coordinate pattern general\r1 1 1\r1 1\r",
         ": text whose lines end with CR alone; convert it first"},
        {"zip.mtx", "PK\3\4 and so on", ": a zip archive, no text; unpack it first"},
        {"utf16.mtx", "\xff\xfe%", ": UTF-16 text; save it as UTF-8"},
        {"bzip2.mtx", "BZh91AY", ": bzip2 data; unpack it first (bunzip2)"},
        {"A.mtx.bz2", "BZh91AY", ": bzip2 data; unpack it first (bunzip2)"},
        {"old-ends", "0 1\r1 0\r", ": text whose lines end with CR alone"},
        {"exponent.mtx", GENERAL "1 1 1\n1 1 1D\n", ":3: expected a value, found '1D'"},
        {"d39.mtx", GENERAL "1 1 1\n1 1 1D39\n", ":3: expected a value that is finite in fp32"},
        {"diagonal.mtx", SKEW "3 3 1\n2 2 1\n", ":3: entry (2, 2) is on the diagonal"},
    };
    CHECK_REFUSED(samples);
}

static void mtx_in_archives(void **state)
{
    (void)state;
    static const char wanted[] = PATTERN "1 2 1\n1 2\n", other[] = PATTERN "9 9 0\n";
    static const char *const names[] = {"A.tar.gz", "A.tgz", "A.tar"};
    for (int i = 0; i < 3; i++) {
        struct archive *archive = archive_begin(names[i]);
        archive_member(archive, "A/A_b.mtx", other, sizeof other - 1);
        archive_member(archive, "A/A.mtx", wanted, sizeof wanted - 1);
        archive_member(archive, "A/A_coord.mtx", other, sizeof other - 1);
        archive_end(archive);
        assert_reads(names[i], "1x2: 0,1");
    }
    struct archive *archive = archive_begin("none.tar.gz");
    archive_member(archive, "A/B.mtx", wanted, sizeof wanted - 1);
    archive_end(archive);
    assert_refused("none.tar.gz", "the archive has no member <name>/<name>.mtx");

    archive = archive_begin("dot.tar.gz"); /* as `tar -c .` names them */
    archive_member(archive, "./A/A.mtx", wanted, sizeof wanted - 1);
    archive_end(archive);
    assert_reads("dot.tar.gz", "1x2: 0,1");

    archive = archive_begin("bad.tar.gz");
    archive_member(archive, "A/A.mtx", PATTERN "1 1 1\n1 9\n", sizeof(PATTERN "1 1 1\n1 9\n") - 1);
    archive_end(archive);
    assert_refused("bad.tar.gz", "bad.tar.gz:A/A.mtx:3: a column number of 9 is outside 1..1");

    write_text("fake.tar.gz", "no archive at all");
    assert_refused("fake.tar.gz", "no readable tar archive");

    /* Cut inside the member. */
    size_t bytes;
    char *whole = read_bytes("A.tar", &bytes);
    write_bytes("cut.tar", whole, 2 * 512 + 512 + 10);
    assert_refused("cut.tar", "cut.tar");
    free(whole);

    /* The checksum stands behind all members. */
    whole = read_bytes("A.tar.gz", &bytes);
    whole[bytes - 8] ^= 1;
    write_bytes("sum.tar.gz", whole, bytes);
    assert_refused("sum.tar.gz",
                   "sum.tar.gz: the gzip data is cut short or corrupt (incorrect data check");
    free(whole);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void blocks_reads(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"four.blocks", "2 3 32\n101\n010\n", "2x3: 0,0 0,2 1,1"},
        {"apart.blocks", "# why\n2 3 8\n1 0 1 \n# between\n\n 010", "2x3: 0,0 0,2 1,1"},
        {"end.blocks", "1 2 64\n01\n# the end\n", "1x2: 0,1"},
        {"none.blocks", "1 2 64\n00\n", "1x2:"},
        {"no-rows.blocks", "0 3 16\n", "0x3:"},
        {"no-columns.blocks", "2 0 16\n\n\n", "2x0:"},
    };
    CHECK_READS(samples);
}

static void blocks_refuses(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"empty.blocks", "", "empty.blocks: the file is empty"},
        {"header.blocks", "2 3\n101\n010\n", ":1: expected the side of a block (an integer)"},
        {"side.blocks", "1 1 12\n1\n", ":1: blocks have a side of 8, 16, 32 or 64, not 12"},
        {"minus.blocks", "-1 1 8\n1\n", ":1: the number of block rows of -1 is outside"},
        {"digit.blocks", "2 3 32\n101\n021\n", ":3: column 2: expected 0 or 1, found '2'"},
        {"letter.blocks", "1 3 32\nx01\n", ":2: column 1: expected 0 or 1, found 'x'"},
        {"short.blocks", "2 3 32\n101\n01\n", ":3: the line ends after 2 of 3 digits"},
        {"long.blocks", "2 3 32\n1011\n010\n", ":2: the line goes on after its 3 digits"},
        {"few.blocks", "3 3 32\n101\n010\n", "the file ends after 2 of 3 block rows"},
        {"many.blocks", "1 3 32\n101\n010\n", ":3: expected nothing after the last block row"},
    };
    CHECK_REFUSED(samples);
    write_text("promise.blocks", "1000000 1000000 32\n1\n");
    assert_refused("promise.blocks", "digits are promised, but the file can hold");
    write_text("rows.blocks", "2000000000 0 32\n");
    assert_refused("rows.blocks", "block rows");
}

/* ---- smtx ------------------------------------------------------------------------------------ */

static void smtx_reads(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"dlmc.smtx", "2, 3, 3\n0 2 3 \n0 2 1 \n", "2x3: 0,0 0,2 1,1"},
        {"blanks.smtx", "% a comment\n%another\n2 3 3\n0 2 3\n0 2 1", "2x3: 0,0 0,2 1,1"},
        {"commas.smtx", "2,3,3\n0 2 3\n2 0 1\n", "2x3: 0,2 0,0 1,1"},
        {"none.smtx", "2, 3, 0\n0 0 0 \n\n", "2x3:"},
        {"none-at-all.smtx", "2, 3, 0\n0 0 0", "2x3:"},
        {"no-rows.smtx", "0, 3, 0\n0 \n\n", "0x3:"},
    };
    CHECK_READS(samples);
}

static void smtx_refuses(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"empty.smtx", "", "empty.smtx: the file is empty"},
        {"header.smtx", "2, 3\n0 2 3\n0 2 1\n", ":1: expected the number of nonzeros (an integer)"},
        {"header4.smtx", "2, 3, 3, 4\n0 2 3\n0 2 1\n",
         ":1: expected the end of the line, found ','"},
        {"word.smtx", "rows cols nnz\n",
         ":1: expected the number of rows (an integer), found 'rows'"},
        {"negative.smtx", "2, -3, 3\n0 2 3\n0 2 1\n", ":1: the number of columns of -3 is outside"},
        {"wide.smtx", "2, 2147483648, 3\n0 2 3\n0 2 1\n", "the number of columns of 2147483648"},
        {"decreasing.smtx", "3, 3, 3\n0 2 1 3\n0 2 1\n", ":2: row 1: offsets decrease (1 after 2)"},
        {"start.smtx", "2, 3, 3\n1 2 3\n0 2 1\n",
         ":2: row 0: the row offsets begin with 1, not with 0"},
        {"minus.smtx", "2, 3, 3\n0 -1 3\n0 2 1\n", ":2: row 0: offsets decrease (-1 after 0)"},
        {"count.smtx", "2, 3, 3\n0 2 4\n0 2 1\n",
         ":2: the row offsets end at 4, but 3 nonzeros are promised"},
        {"missing.smtx", "2, 3, 3\n0 3\n0 2 1\n", ":3: row 1: offsets decrease (0 after 3)"},
        {"promise.smtx", "2, 3, 1000000000000\n0 2 3\n0 2 1\n",
         "1000000000000 nonzeros are promised, but the file can hold"},
        {"rows.smtx", "2000000000, 3, 3\n0 2 3\n0 2 1\n",
         "2000000000 rows are promised, but the file can hold"},
        {"column.smtx", "2, 3, 3\n0 2 3\n0 2 3\n",
         ": row 1: column 3 is outside the matrix (3 columns)"},
        {"column-.smtx", "2, 3, 3\n0 2 3\n0 -2 1\n", ": row 0: column -2 is outside the matrix"},
        {"int32.smtx", "2, 3, 3\n0 2 3\n0 2 2147483648\n",
         ":3: a column index of 2147483648 is outside"},
        {"short.smtx", "2, 3, 3\n0 2 3\n0 2\n",
         "expected a column index (an integer), found the end"},
        {"cut.smtx", "2, 3, 3\n0 2",
         "expected a row offset (an integer), found the end of the file"},
        {"long.smtx", "2, 3, 3\n0 2 3\n0 2 1 1\n",
         ":3: expected nothing after the last column index, found '1'"},
        {"fraction.smtx", "2, 3, 3\n0 2 3\n0 2.5 1\n", ":3: expected a column index (an integer)"},
    };
    CHECK_REFUSED(samples);
}

/* ---- edge lists ------------------------------------------------------------------------------ */

static void edge_lists_read(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"snap.txt", "# Directed graph\n# FromNodeId\tToNodeId\n0\t3\n3\t0\n1 1\n0\t3\n",
         "4x4: 0,3 0,3 1,1 3,0"},
        {"youtube.ungraph", "1\t2\n\n2\t0\n", "3x3: 1,2 2,0"},
        {"konect.tsv", "% asym\n0 1\r\n2 0\r\n", "3x3: 0,1 2,0"},
        {"plain.edges", "5 0", "6x6: 5,0"},
        {"commas.csv", "0,1\n1 , 2\n", "3x3: 0,1 1,2"},
        {"names.csv", "source,target\n0,1\n", "2x2: 0,1"},
        {"comments.csv", "# c\nid_1,id_2\n0,1\n#later\n1,0", "2x2: 0,1 1,0"},
        {"no-suffix", "7 7\n", "8x8: 7,7"},
        {"weights.txt", "0 1 5\n1 0 -0.5\n", "2x2: 0,1=5 1,0=-0.5"},
        {"times.csv", "SOURCE,TARGET,RATING,TIME\n0,1,5,1289241911.72836\n1,0,-3,1.2E9\n",
         "2x2: 0,1=5 1,0=-3"},
        {"header.txt", "FromNodeId\tToNodeId\n0\t1\n", "2x2: 0,1"},
        {"quoted.csv", "\"source\",\"target\"\n0,1\n", "2x2: 0,1"},
        {"mark.csv", "\xef\xbb\xbfsource,target\n0,1\n", "2x2: 0,1"},
        {"marked-edges",
         "\xef\xbb\xbf"
         "0 1\n",
         "2x2: 0,1"},
    };
    CHECK_READS(samples);
}

static void edge_lists_refuse(void **state)
{
    (void)state;
    static const sample samples[] = {
        {"empty.txt", "", "empty.txt: the file is empty"},
        {"comments.txt", "# nothing\n# here\n", "the list ends without an edge"},
        {"one.txt", "0 1\n2\n", ":2: expected a target vertex (an integer), found the end of the"},
        {"cut.txt", "0 1\n2",
         ":2: expected a target vertex (an integer), found the end of the file"},
        {"fewer.txt", "0 1 5\n1 0\n", ":2: this line has 2 numbers, the first one has 3"},
        {"neighbours.txt", "0 1 2\n1 0 2 3\n", ":2: expected the end of the line, found '3'"},
        {"five.txt", "0 1 2 3 4\n", ":1: expected the end of the line, found '4'"},
        {"weight.txt", "0 1 heavy\n", ":1: expected a value, found 'heavy'"},
        {"hashes.txt", "1 0\n0 1051577\n0 2147483646\n",
         ": 2147483647 rows are absurd for 3 nonzeros: number them from"},
        {"beyond.txt", "0 1\n0 1\n0 8391608\n", "8391609 rows are absurd for 3 nonzeros"},
        {"later.txt", "0 1\n1 0 6\n", ":2: expected the end of the line, found '6'"},
        {"minus.txt", "0 1\n-1 0\n", ":2: a source vertex of -1 is outside 0..2147483646"},
        {"int32.txt", "0 1\n0 2147483647\n", ":2: a target vertex of 2147483647 is outside"},
        {"word.txt", "0 1\n1 x\n", ":2: expected a target vertex (an integer), found 'x'"},
        {"fraction.txt", "0 1\n1 2.0\n", ":2: expected a target vertex (an integer), found '2.0'"},
        {"commas.csv", "0,,1\n", ":1: expected a target vertex (an integer), found ',1'"},
        {"names.csv", "0,1\nsource,target\n", ":2: expected a source vertex (an integer), found"},
        {"prose.txt", "It was a dark night\nand stormy\n",
         ":2: expected a source vertex (an integer), found 'and'"},
        {"prose", "It was a dark night\n",
         "no format that is known here (blocks, csr, lab, mtx, npz, ogb, "},
    };
    CHECK_REFUSED(samples);

    /* The largest id that one edge may have. */
    csr_matrix A;
    error_text error;
    write_text("widest.txt", "0 8389607\n");
    assert_int_equal(matrix_read(fixture_path("widest.txt"), &A, &error), STATUS_OK);
    assert_int_equal(A.rows, 8389608);
    csr_free(&A);
}

static void binary_garbage_is_refused(void **state)
{
    (void)state;
    char garbage[20000];
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)random_bits(3, i);
    static const char *const names[] = {
        "garbage",     "garbage.mtx", "garbage.smtx", "garbage.npz",    "garbage.csr",
        "garbage.txt", "garbage.csv", "edge.csv",     "garbage.config", "garbage.graph"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        write_bytes(names[i], garbage, sizeof garbage);
        assert_refused(names[i], "");
    }
    static const char nuls[] = "0 1\n0\0 1\n";
    write_bytes("nuls.txt", nuls, sizeof nuls - 1);
    assert_refused("nuls.txt", "nuls.txt:2: expected a target vertex (an integer), found '\\x00'");
}

/* ---- OGB ------------------------------------------------------------------------------------- */

static void ogb_reads(void **state)
{
    (void)state;
    mkdir(fixture_path("raw"), 0777);
    write_gzip("raw/edge.csv.gz", "0,1\n3,0\n");
    assert_reads("raw", "4x4: 0,1 3,0"); /* without counts: the largest id + 1 */
    write_gzip("raw/num-node-list.csv.gz", "6\n");
    write_gzip("raw/num-edge-list.csv.gz", "2\n");
    assert_reads("raw", "6x6: 0,1 3,0");
    assert_reads("raw/edge.csv.gz", "6x6: 0,1 3,0");

    write_text("ogbl.edge.csv", "0,1\n");
    write_text("ogbl.num-node-list.csv", "3\n");
    assert_reads("ogbl.edge.csv", "3x3: 0,1");
    write_text("knowledge.csv", "0,1\n"); /* not an edge.csv */
    write_text("knowl"
               "num-node-list.csv",
               "3\n");
    assert_reads("knowledge.csv", "2x2: 0,1");
}

static void ogb_refuses(void **state)
{
    (void)state;
    mkdir(fixture_path("bad"), 0777);
    assert_refused("bad", "bad: is a directory, not a file");
    write_text("bad/edge.csv", "0,1\n3,0\n");
    write_text("bad/num-node-list.csv", "3\n");
    assert_refused("bad", "bad/edge.csv:2: a source vertex of 3 is outside 0..2");
    write_text("bad/num-node-list.csv", "3\n4\n");
    assert_refused("bad",
                   "num-node-list.csv:2: expected nothing after the count (a list of several");
    write_text("bad/num-node-list.csv", "many\n");
    assert_refused("bad", "num-node-list.csv:1: expected a count (an integer), found 'many'");
    write_text("bad/num-node-list.csv", "4\n");
    write_text("bad/num-edge-list.csv", "3\n");
    assert_refused("bad", "bad/edge.csv:3: the list ends after 2 of 3 edges");
    write_text("bad/num-edge-list.csv", "1\n");
    assert_refused("bad", "the list ends after 2 of 1 edges");
    write_text("bad/num-edge-list.csv", "2\n");
    write_text("bad/num-node-list.csv", "2147483647\n");
    assert_refused("bad", "bad/edge.csv: 2147483647 rows are absurd for 2 nonzeros");
}

/* ---- gzip ------------------------------------------------------------------------------------ */

static void damaged_gzip_is_refused(void **state)
{
    (void)state;
    char *text = malloc(40 * 20000);
    size_t length = 0;
    for (uint64_t i = 0; i < 20000; i++)
        length += (size_t)sprintf(text + length, "%d %d\n", (int)random_below(1, i, 100000),
                                  (int)random_below(2, i, 100000));
    write_gzip("whole.txt.gz", text);
    free(text);
    size_t bytes;
    char *whole = read_bytes("whole.txt.gz", &bytes);
    error_text error;
    csr_matrix A;
    assert_int_equal(matrix_read(fixture_path("whole.txt.gz"), &A, &error), STATUS_OK);
    assert_int_equal(A.nnz, 20000);
    csr_free(&A);

    static const double cuts[] = {0.001, 0.3, 0.9, 0.9999};
    for (int i = 0; i < 4; i++) {
        write_bytes("cut.txt.gz", whole, (size_t)((double)bytes * cuts[i]));
        assert_refused("cut.txt.gz", "cut.txt.gz: the gzip data is cut short or corrupt");
    }
    for (size_t cut = 1; cut <= 8; cut++) { /* inside the trailer */
        write_bytes("cut.txt.gz", whole, bytes - cut);
        assert_refused("cut.txt.gz", "cut.txt.gz: the gzip data is cut short or corrupt");
    }
    /* A flipped bit anywhere behind the header either breaks the packing or changes the text. */
    for (uint64_t i = 0; i < 60; i++) {
        size_t at = 10 + (size_t)random_below(9, i, bytes - 10);
        whole[at] ^= (char)(1 << i % 8);
        write_bytes("flipped.txt.gz", whole, bytes);
        assert_refused("flipped.txt.gz", "flipped.txt.gz: the gzip data is cut short or corrupt");
        whole[at] ^= (char)(1 << i % 8);
    }
    /* Several joined members are one file, and zeros behind the last one are no member. */
    char *twice = malloc(2 * bytes);
    memcpy(twice, whole, bytes);
    memcpy(twice + bytes, whole, bytes);
    write_bytes("twice.txt.gz", twice, 2 * bytes);
    assert_int_equal(matrix_read(fixture_path("twice.txt.gz"), &A, &error), STATUS_OK);
    assert_int_equal(A.nnz, 40000);
    csr_free(&A);
    twice[2 * bytes - 8] ^= 1; /* the checksum of the second */
    write_bytes("twice.txt.gz", twice, 2 * bytes);
    assert_refused("twice.txt.gz", "incorrect data check");
    memset(twice + bytes, 0, bytes);
    write_bytes("zeros.txt.gz", twice, 2 * bytes);
    assert_int_equal(matrix_read(fixture_path("zeros.txt.gz"), &A, &error), STATUS_OK);
    assert_int_equal(A.nnz, 20000);
    csr_free(&A);
    twice[bytes] = 'x';
    write_bytes("more.txt.gz", twice, 2 * bytes);
    assert_refused("more.txt.gz", "other bytes follow its end");
    free(twice);
    free(whole);

    write_gzip("inner.gz", "0 1\n");
    whole = read_bytes("inner.gz", &bytes);
    struct archive *outer = archive_begin("outer.txt.gz");
    archive_member(outer, "data", whole, bytes);
    archive_end(outer);
    assert_refused("outer.txt.gz", "outer.txt.gz: gzip data inside gzip data; unpack it once");
    free(whole);

    write_gzip("nothing.txt.gz", "");
    assert_refused("nothing.txt.gz", "nothing.txt.gz: the file is empty");
    write_gzip("nothing.mtx.gz", "");
    assert_refused("nothing.mtx.gz", "nothing.mtx.gz: the file is empty");
}

/* 120 MB of blanks in 116 kB: more than 64 MB and a hundred times the file. */
static void bombs_are_refused(void **state)
{
    (void)state;
    const size_t bytes = 120000000;
    char *text = malloc(bytes + 1);
    memset(text, ' ', bytes);
    memcpy(text, "0 1\n", 4);
    text[bytes] = 0;
    write_gzip("bomb.txt.gz", text);
    assert_refused("bomb.txt.gz", "bytes, as no matrix does; if you trust it, unpack it first");
    text[60000000] = 0;
    write_gzip("bomb.txt.gz", text);
    assert_reads("bomb.txt.gz", "2x2: 0,1");
    free(text);
}

static void unreadable_files(void **state)
{
    (void)state;
    assert_refused("no-such-file", "no-such-file: No such file or directory");
    assert_refused("no-such-file.mtx", "no-such-file.mtx: No such file or directory");
    mkdir(fixture_path("folder.mtx"), 0777);
    assert_refused("folder.mtx", "folder.mtx: is a directory, not a file");
    assert_int_equal(mkfifo(fixture_path("pipe.txt"), 0666), 0);
    assert_refused("pipe.txt", "pipe.txt: is a device or a pipe, not a file");
    assert_refused("pipe.csr", "pipe.csr: No such file");
    assert_int_equal(mkfifo(fixture_path("pipe.csr"), 0666), 0);
    assert_refused("pipe.csr", "pipe.csr: is not a regular file");
}

static void forbidden_files(void **state)
{
    (void)state;
    if (geteuid() == 0) skip(); /* root may read everything */
    write_text("secret.mtx", PATTERN "1 1 0\n");
    chmod(fixture_path("secret.mtx"), 0);
    assert_refused("secret.mtx", "secret.mtx: Permission denied");
}

/* A file that could hold what it promises, on a machine that cannot: 2 TB, nearly all a hole. */
static void matrices_that_do_not_fit(void **state)
{
    (void)state;
    write_text("huge.smtx", "1, 1, 500000000000\n0 500000000000\n");
    if (truncate(fixture_path("huge.smtx"), INT64_C(2000) << 30) != 0) skip();
    assert_refused_with("huge.smtx", STATUS_MEMORY,
                        "huge.smtx: the matrix needs 2000.0 GB of memory, but only ");
    unlink(fixture_path("huge.smtx"));
}

/* ---- round trips ----------------------------------------------------------------------------- */

static void write_matrix(const csr_matrix *A, const char *name, const char *format)
{
    FILE *file = fopen(fixture_path(name), "w");
    bool mtx = strcmp(format, "mtx") == 0, smtx = strcmp(format, "smtx") == 0;
    if (mtx)
        fprintf(file, "%%%%MatrixMarket matrix coordinate %s general\n%ld %ld %ld\n",
                A->values ? "real" : "pattern", (long)A->rows, (long)A->cols, (long)A->nnz);
    if (smtx) {
        fprintf(file, "%ld, %ld, %ld\n", (long)A->rows, (long)A->cols, (long)A->nnz);
        for (int64_t i = 0; i <= A->rows; i++)
            fprintf(file, "%ld ", (long)A->row_ptr[i]);
        fprintf(file, "\n");
    }
    for (int64_t i = 0; i < A->rows; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            if (smtx)
                fprintf(file, "%d ", A->col_idx[k]);
            else if (A->values)
                fprintf(file, "%ld %d %.9g\n", (long)i + 1, A->col_idx[k] + 1, A->values[k]);
            else
                fprintf(file, "%ld %d\n", (long)i + mtx, A->col_idx[k] + mtx);
        }
    }
    fclose(file);
}

static void round_trips(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        csr_matrix A = random_matrix(seed, 50, 80, 2000, seed % 2), B;
        error_text error;
        write_matrix(&A, "trip.mtx", "mtx");
        assert_int_equal(matrix_read(fixture_path("trip.mtx"), &B, &error), STATUS_OK);
        assert_same(&A, &B);
        csr_free(&B);
        if (!A.values) {
            write_matrix(&A, "trip.smtx", "smtx");
            assert_int_equal(matrix_read(fixture_path("trip.smtx"), &B, &error), STATUS_OK);
            assert_same(&A, &B);
            csr_free(&B);
        }
        csr_free(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mtx_reads),
        cmocka_unit_test(mtx_refuses),
        cmocka_unit_test(mtx_in_archives),
        cmocka_unit_test(blocks_reads),
        cmocka_unit_test(blocks_refuses),
        cmocka_unit_test(smtx_reads),
        cmocka_unit_test(smtx_refuses),
        cmocka_unit_test(edge_lists_read),
        cmocka_unit_test(edge_lists_refuse),
        cmocka_unit_test(binary_garbage_is_refused),
        cmocka_unit_test(ogb_reads),
        cmocka_unit_test(ogb_refuses),
        cmocka_unit_test(damaged_gzip_is_refused),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(unreadable_files),
        cmocka_unit_test(forbidden_files),
        cmocka_unit_test(matrices_that_do_not_fit),
        cmocka_unit_test(round_trips),
    };
    return cmocka_run_group_tests_name("read_text", tests, fixture_setup, fixture_teardown);
}
