/*
 * test_block_layout.c - layouts of blocks: their numbers, the generator, the look-up tables.
 */
#include "fixture.h"
#include "generated.h"

#include "formats/block_lut.h"
#include "formats/block_walk.h"
#include "matrix/block_layout.h"
#include "matrix/generate.h"
#include "random_matrix.h"

static block_layout layout_of(const csr_matrix *A)
{
    block_layout l;
    error_text error;
    assert_int_equal(block_layout_make(A, &l, &error), STATUS_OK);
    return l;
}

/* The layout of a text of digits, rows separated by blanks. */
static block_layout layout_drawn(const char *digits)
{
    csr_matrix A;
    error_text error;
    char text[200];
    const int cols = (int)strcspn(digits, " ");
    const int rows = ((int)strlen(digits) + 1) / (cols + 1);
    snprintf(text, sizeof text, "%d %d 32\n%s\n", rows, cols, digits);
    for (char *c = strchr(text, '\n'); *c; c++)
        if (*c == ' ') *c = '\n';
    write_text("drawn.blocks", text);
    if (matrix_read(fixture_path("drawn.blocks"), &A, &error) != STATUS_OK)
        fail_msg("%s", error.text);
    assert_int_equal(A.block, 32);
    block_layout l = layout_of(&A);
    csr_free(&A);
    return l;
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static void bits_alternate(void **state)
{
    (void)state;
    assert_int_equal(block_z_order(0, 1), 1);
    assert_int_equal(block_z_order(1, 0), 2);
    assert_int_equal(block_z_order(3, 3), 15);
    assert_true(block_z_order(0x80000000u, 0) == UINT64_C(1) << 63);
    for (int i = 0; i < 500; i++) {
        const uint32_t r = (uint32_t)random_bits(1, i), c = (uint32_t)random_bits(2, i);
        uint64_t z = 0;
        for (int bit = 31; bit >= 0; bit--)
            z = z << 2 | (uint64_t)(r >> bit & 1) << 1 | (c >> bit & 1);
        assert_true(block_z_order(r, c) == z);
    }
}

static void assert_is_layout_of(const block_layout *l, const csr_matrix *A)
{
    char *found = calloc((size_t)A->rows * A->cols + 1, 1);
    int64_t distinct = 0;
    for (int64_t r = 0; r < A->rows; r++)
        for (int64_t i = A->row_ptr[r]; i < A->row_ptr[r + 1]; i++) {
            char *f = &found[r * A->cols + A->col_idx[i]];
            distinct += !*f;
            *f = 1;
        }
    assert_int_equal(l->blocks, distinct);
    for (int b = 0; b < l->blocks; b++) {
        char *f = &found[(int64_t)l->row[b] * A->cols + l->col[b]];
        assert_int_equal(*f, 1);
        *f = 2;
        assert_int_equal(A->col_idx[l->entry[b]], l->col[b]);
        assert_true(l->entry[b] >= A->row_ptr[l->row[b]] &&
                    l->entry[b] < A->row_ptr[l->row[b] + 1]);
        if (b > 0)
            assert_true(block_z_order((uint32_t)l->row[b - 1], (uint32_t)l->col[b - 1]) <
                        block_z_order((uint32_t)l->row[b], (uint32_t)l->col[b]));
    }
    for (int r = 0; r < l->rows; r++)
        for (int i = l->row_ptr[r]; i < l->row_ptr[r + 1]; i++) {
            assert_int_equal(l->row[l->of_row[i]], r);
            if (i > l->row_ptr[r]) assert_true(l->col[l->of_row[i - 1]] < l->col[l->of_row[i]]);
        }
    for (int c = 0; c < l->cols; c++)
        for (int i = l->col_ptr[c]; i < l->col_ptr[c + 1]; i++) {
            assert_int_equal(l->col[l->of_col[i]], c);
            if (i > l->col_ptr[c]) assert_true(l->row[l->of_col[i - 1]] < l->row[l->of_col[i]]);
        }
    assert_int_equal(l->row_ptr[l->rows], l->blocks);
    assert_int_equal(l->col_ptr[l->cols], l->blocks);
    free(found);
}

static void layouts_are_the_patterns(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        csr_matrix A = random_matrix(seed, 30, 40, 300, false);
        block_layout l = layout_of(&A);
        assert_is_layout_of(&l, &A);
        block_layout_free(&l);
        csr_free(&A);
    }
}

static void weights_become_dense_and_come_back(void **state)
{
    (void)state;
    enum { B = 8 };
    block_layout l = layout_drawn("101 100 100 101");
    float W[6 * B * B], back[6 * B * B], dense[4 * 3 * B * B], identity[6 * B * B];
    for (int i = 0; i < 6 * B * B; i++)
        W[i] = (float)(i + 1);
    block_to_dense(&l, B, W, dense);
    assert_true(dense[0] == 1 && dense[B] == 0); /* block (0, 0) is number 0, and (0, 1) is none */
    assert_true(dense[2 * B] == W[l.of_col[l.col_ptr[2]] * B * B]);
    block_from_dense(&l, B, dense, back);
    assert_memory_equal(W, back, sizeof W);
    /* Blocks (c, k) with c mod 3 == k mod 4: (0, 0), (2, 2) - which is none - and (3, 0). */
    block_identity(&l, B, 2, identity);
    for (int b = 0; b < l.blocks; b++) {
        const bool on = l.col[b] == 0 && (l.row[b] == 0 || l.row[b] == 3);
        for (int i = 0; i < B * B; i++)
            assert_true(identity[b * B * B + i] == (on && i % (B + 1) == 0 ? 2 : 0));
    }
    block_layout_free(&l);
}

/* ---- the generator ---------------------------------------------------------------------------- */

/* The benchmark's layouts: hidden sizes and blocks of 32 as the reference counted them. */
static void attachment_has_the_counted_blocks(void **state)
{
    (void)state;
    static const struct {
        int hidden;
        const char *density;
        int edges, blocks;
    } counted[] = {{2560, "1", 80, 6400},      {5120, "0.2562", 22, 6694},
                   {7680, "0.1125", 14, 6750}, {10240, "0.0656", 11, 7228},
                   {12800, "0.0425", 9, 7510}, {15360, "0.0271", 7, 7144},
                   {17920, "0.0196", 6, 7238}, {20480, "0.0141", 5, 7010}};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "blocks:in=%d,density=%s,kind=attach", counted[i].hidden,
                 counted[i].density);
        csr_matrix A = made(spec);
        assert_int_equal(A.block, 32);
        assert_int_equal(A.rows, counted[i].hidden / 32);
        assert_int_equal(A.nnz, counted[i].blocks);
        snprintf(spec, sizeof spec, "blocks:in=%d,edges=%d,kind=attach", counted[i].hidden,
                 counted[i].edges);
        csr_matrix same = made(spec);
        assert_int_equal(same.nnz, A.nnz);
        assert_memory_equal(same.col_idx, A.col_idx, A.nnz * sizeof *A.col_idx);
        block_layout l = layout_of(&A);
        assert_int_equal(l.blocks, A.nnz); /* none twice */
        for (int r = 0; r < l.rows; r++) { /* symmetric, with the diagonal */
            assert_int_equal(l.row_ptr[r + 1], l.col_ptr[r + 1]);
            bool diagonal = false;
            for (int k = l.row_ptr[r]; k < l.row_ptr[r + 1]; k++) {
                assert_int_equal(l.col[l.of_row[k]], l.row[l.of_col[k]]);
                diagonal |= l.col[l.of_row[k]] == r;
            }
            assert_true(diagonal);
        }
        block_layout_free(&l);
        csr_free(&A);
        csr_free(&same);
    }
}

static void other_kinds(void **state)
{
    (void)state;
    csr_matrix A = made("blocks:in=640,out=320,block=16,density=0.3,seed=4");
    assert_int_equal(A.rows, 40);
    assert_int_equal(A.cols, 20);
    assert_int_equal(A.nnz, 240);
    assert_int_equal(A.block, 16);
    csr_free(&A);
    A = made("blocks:in=640,out=320,block=16,density=0.3,kind=band");
    for (int r = 0; r < 40; r++) {
        const int first = A.col_idx[6 * r];
        assert_int_equal(A.row_ptr[r + 1], 6 * (r + 1));
        assert_true(first <= r / 2 + 3 && first + 5 >= r / 2 - 3);
    }
    csr_free(&A);
    A = made(
        "blocks:in=320,out=240,block=8,density=0.25,kind=diagonal"); /* 40 x 30, four squares */
    for (int r = 0; r < 40; r++)
        for (int64_t i = A.row_ptr[r]; i < A.row_ptr[r + 1]; i++)
            assert_int_equal(A.col_idx[i] * 4 / 30, r * 4 / 40);
    assert_int_equal(A.nnz, 300);
    csr_free(&A);
    A = made("blocks:in=256,density=0,kind=diagonal"); /* no fewer than one a row */
    assert_int_equal(A.nnz, 8);
    csr_free(&A);
    A = made("blocks:in=256,density=0");
    assert_int_equal(A.nnz, 0);
    csr_free(&A);
    A = made("blocks:in=0,kind=attach");
    assert_int_equal(A.rows, 0);
    csr_free(&A);
}

static void recipes_that_there_are_not(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"blocks:in=100", "blocks: in=100: not a multiple of block=32; try 96 or 128"},
        {"blocks:out=20,block=8", "blocks: out=20: not a multiple of block=8; try 16 or 24"},
        {"blocks:block=12", "blocks: block=12: block is one of 8, 16, 32, 64"},
        {"blocks:kind=ring", "blocks: kind=ring: kind is one of random, attach, band, diagonal"},
        {"blocks:edges=3", "blocks: edges needs kind=attach"},
        {"blocks:kind=attach,edges=3,density=0.5", "blocks: give density or edges, not both"},
        {"blocks:kind=attach,out=2560",
         "blocks: kind=attach makes square layouts; got in=5120 and out=2560"},
        {"blocks:kind=attach,in=64,edges=3",
         "blocks: edges=3: a vertex cannot join more than there are; here edges is from 1 to 2"},
        {"blocks:dens=0.5", "did you mean density?"},
        {"block:in=64", "did you mean blocks: ?"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        csr_matrix A;
        char source[512];
        error_text error = {""};
        assert_int_equal(generate(bad[i][0], &A, source, sizeof source, &error), STATUS_DATASET);
        if (!strstr(error.text, bad[i][1])) fail_msg("%s: %s", bad[i][0], error.text);
    }
}

/* ---- look-up tables ---------------------------------------------------------------------------- */

static block_lut *table_of(const block_layout *l, bool rows, enum block_lut_rule rule)
{
    block_lut *t;
    assert_int_equal(block_lut_build(l, rows, rule, 0, &t), cudaSuccess);
    return t;
}

/* Every block is in one segment, of its own output; every output has one; shares are where several are. */
static void assert_table(const block_layout *l, bool rows, const block_lut *t)
{
    const int outs = rows ? l->rows : l->cols;
    int *seen = calloc((size_t)l->blocks + 1, sizeof *seen);
    int *of_out = calloc((size_t)outs + 1, sizeof *of_out), longest = 0, next = 2 * t->segments;
    bool empty = false;
    for (int s = 0; s < t->segments; s++) {
        const int *head = t->host + 4 * s;
        assert_int_equal(head[0], next);
        next += head[1];
        of_out[head[2]]++;
        assert_true(!empty || head[1] == 0 ||
                    t->first_of_piece); /* those without pairs come last */
        empty = head[1] == 0;
        if (head[1] > longest) longest = head[1];
        for (int i = head[0]; i < head[0] + head[1]; i++) {
            const int in = t->host[2 * i], b = t->host[2 * i + 1];
            assert_int_equal(in, rows ? l->col[b] : l->row[b]);
            assert_int_equal(head[2], rows ? l->row[b] : l->col[b]);
            seen[b]++;
        }
        if (head[3]) {
            const int part = s - t->first_segment[head[3] - 1];
            assert_true(part >= 0 && part < t->part_start[head[3]] - t->part_start[head[3] - 1]);
        }
    }
    for (int b = 0; b < l->blocks; b++)
        assert_int_equal(seen[b], 1);
    for (int o = 0; o < outs; o++)
        assert_true(of_out[o] >= 1);
    for (int s = 0; s < t->segments; s++)
        assert_int_equal(t->host[4 * s + 3] > 0, of_out[t->host[4 * s + 2]] > 1);
    assert_int_equal(2 * next, t->ints);
    assert_int_equal(longest, t->longest);
    assert_int_equal(t->part_start[t->shares], t->parts);
    free(seen);
    free(of_out);
}

static void assert_invariants(const block_layout *l, bool rows, enum block_lut_rule rule)
{
    block_lut *t = table_of(l, rows, rule);
    assert_table(l, rows, t);
    if (rule == BLOCK_LUT_UNCUT) assert_int_equal(t->shares, 0);
    block_lut_free(t);
}

/* Cut evenly: as few segments of an output as the longest allows, which differ by a pair at most; longer ones first. */
static void assert_even(const block_layout *l, bool rows, int longest)
{
    const int outs = rows ? l->rows : l->cols, *ptr = rows ? l->row_ptr : l->col_ptr;
    int *segments = calloc((size_t)outs + 1, sizeof *segments), before = longest;
    block_lut *t;
    assert_int_equal(block_lut_build(l, rows, BLOCK_LUT_EVEN, longest, &t), cudaSuccess);
    assert_table(l, rows, t);
    for (int s = 0; s < t->segments; s++) {
        const int *head = t->host + 4 * s, pairs = ptr[head[2] + 1] - ptr[head[2]];
        const int cuts = (pairs + longest - 1) / longest;
        segments[head[2]]++;
        if (pairs == 0) continue;
        const int most = (pairs + cuts - 1) / cuts;
        assert_true(head[1] == most || head[1] == pairs / cuts);
        assert_true(most <= before);
        before = most;
    }
    for (int o = 0; o < outs; o++) {
        const int pairs = ptr[o + 1] - ptr[o];
        assert_int_equal(segments[o], pairs ? (pairs + longest - 1) / longest : 1);
    }
    block_lut_free(t);
    free(segments);
}

/* In pieces: no more than wanted, all segments in order, like cost, and no cut beside an output's first or last pair. */
static void assert_pieces(const block_layout *l, bool rows, int wanted)
{
    const int outs = rows ? l->rows : l->cols, *ptr = rows ? l->row_ptr : l->col_ptr;
    block_lut *t;
    assert_int_equal(block_lut_build(l, rows, BLOCK_LUT_PIECES, wanted, &t), cudaSuccess);
    assert_table(l, rows, t);
    assert_true(t->pieces <= wanted);
    assert_int_equal(t->first_of_piece[t->pieces], t->segments);
    for (int p = 0, s = 0; p < t->pieces; p++) {
        int pairs = 0;
        assert_int_equal(t->first_of_piece[p], s);
        assert_true(s < t->first_of_piece[p + 1]);
        for (; s < t->first_of_piece[p + 1]; s++) {
            const int *head = t->host + 4 * s;
            pairs += head[1];
            assert_true(head[1] > 1 || ptr[head[2] + 1] - ptr[head[2]] <= 1);
        }
        assert_true(pairs <= (l->blocks + outs) / wanted + 1 + 2);
    }
    block_lut_free(t);
}

static void assert_all_invariants(const block_layout *l)
{
    for (int rows = 0; rows < 2; rows++) {
        for (int rule = BLOCK_LUT_OWN; rule <= BLOCK_LUT_COLUMNS; rule++)
            assert_invariants(l, rows, (enum block_lut_rule)rule);
        assert_invariants(l, rows, BLOCK_LUT_UNCUT);
        for (int wanted = 1; wanted <= 600; wanted = 3 * wanted + 1)
            assert_pieces(l, rows, wanted);
    }
    for (int longest = 1; longest <= 64; longest = 2 * longest + 1) {
        assert_even(l, false, longest);
        assert_even(l, true, longest);
    }
    assert_even(l, false, 1 << 30);
}

/* The example of the handout: a column of four blocks, one of none, one of two. */
static void the_example(void **state)
{
    (void)state;
    static const int expected[] = {6, 4, 0, 0, 10, 2, 2, 0, 12, 0, 1, 0,
                                   0, 0, 1, 1, 2,  3, 3, 4, 0,  2, 3, 5};
    block_layout l = layout_drawn("101 100 100 101");
    block_lut *t = table_of(&l, false, BLOCK_LUT_OWN);
    assert_int_equal(t->ints, 24);
    assert_memory_equal(t->host, expected, sizeof expected);
    assert_int_equal(block_lut_bytes(t), 4 * (24 + 2));
    block_lut_free(t);
    assert_all_invariants(&l);
    block_layout_free(&l);
}

static void invariants_hold_on_random_layouts(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "blocks:in=%d,out=%d,block=8,density=0.%d,seed=%d",
                 8 * (1 + i % 17), 8 * (1 + i % 23), i % 10, i);
        csr_matrix A = made(spec);
        block_layout l = layout_of(&A);
        assert_all_invariants(&l);
        block_layout_free(&l);
        csr_free(&A);
    }
}

/* Cutting makes the longest list of the benchmark's layouts two to three times as short, for few more segments. */
static void long_lists_are_cut(void **state)
{
    (void)state;
    static const int hiddens[] = {5120, 7680, 10240, 12800, 15360, 17920, 20480};
    static const char *const densities[] = {"0.2562", "0.1125", "0.0656", "0.0425",
                                            "0.0271", "0.0196", "0.0141"};
    for (int i = 0; i < 7; i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "blocks:in=%d,density=%s,kind=attach", hiddens[i],
                 densities[i]);
        csr_matrix A = made(spec);
        block_layout l = layout_of(&A);
        block_lut *whole = table_of(&l, false, BLOCK_LUT_UNCUT);
        block_lut *cut = table_of(&l, false, BLOCK_LUT_OWN);
        block_lut *rows = table_of(&l, true, BLOCK_LUT_OWN);
        assert_true(cut->longest < 0.7 * whole->longest);
        assert_true(cut->segments < 1.5 * whole->segments);
        assert_int_equal(rows->segments, cut->segments); /* symmetric */
        assert_all_invariants(&l);
        block_lut_free(whole);
        block_lut_free(cut);
        block_lut_free(rows);
        block_layout_free(&l);
        csr_free(&A);
    }
}

/* An unsymmetric layout whose rows are even and whose columns are not: the published rule cuts its rows' lists. */
static void whose_lengths_decide(void **state)
{
    (void)state;
    block_layout l = layout_drawn("11111111110 11111111110 11111111101 11111111101 11111111101 "
                                  "11111111101 11111111101 11111111101 11111111101 11111111101");
    block_lut *own = table_of(&l, true, BLOCK_LUT_OWN);
    block_lut *columns = table_of(&l, true, BLOCK_LUT_COLUMNS);
    assert_int_equal(own->shares, 0);
    assert_int_equal(columns->shares, 10); /* 10 and 2 blocks a column: whole is 4, least is 4 */
    block_lut_free(own);
    block_lut_free(columns);
    block_layout_free(&l);
}

/* ---- lists of groups ---------------------------------------------------------------------------- */

/* Every block is in one entry, at its output and with its input; inputs of a group ascend; an entry has a block. */
static void assert_walk(const block_layout *l, bool rows, int group, int pieces)
{
    block_walk *w;
    assert_int_equal(block_walk_build(l, rows, group, pieces, &w), cudaSuccess);
    int *seen = calloc((size_t)l->blocks + 1, sizeof *seen), shortest = 1 << 30, longest = 0;
    assert_int_equal(w->stride % 4, 0);
    assert_true(w->stride > group);
    for (int g = 0; g < w->groups; g++)
        for (int p = 0; p < pieces; p++) {
            const int first = w->host_start[g * pieces + p],
                      end = w->host_start[g * pieces + p + 1];
            assert_true(first <= end);
            for (int s = first; s < end; s++) {
                const int *e = w->host_entry + s * w->stride;
                bool any = false;
                if (s > w->host_start[g * pieces]) assert_true(e[0] > e[-w->stride]);
                for (int j = 1; j < w->stride; j++) {
                    const int b = e[j];
                    if (b < 0) continue;
                    any = true;
                    seen[b]++;
                    assert_int_equal(rows ? l->col[b] : l->row[b], e[0]);
                    assert_int_equal(rows ? l->row[b] : l->col[b], g * group + j - 1);
                }
                assert_true(any);
            }
            if (g == 0 && end - first < shortest) shortest = end - first;
            if (g == 0 && end - first > longest) longest = end - first;
        }
    assert_true(w->groups == 0 || longest - shortest <= 1);
    for (int b = 0; b < l->blocks; b++)
        assert_int_equal(seen[b], 1);
    block_walk_free(w);
    free(seen);
}

static void walks_have_every_block(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "blocks:in=%d,out=%d,block=8,density=0.%d,seed=%d",
                 8 * (i % 17), 8 * (1 + i % 23), i % 10, i);
        csr_matrix A = made(spec);
        block_layout l = layout_of(&A);
        for (int rows = 0; rows < 2; rows++)
            assert_walk(&l, rows, (const int[]){1, 2, 4, 8}[i % 4], 1 + i % 5);
        block_layout_free(&l);
        csr_free(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_alternate),
        cmocka_unit_test(layouts_are_the_patterns),
        cmocka_unit_test(weights_become_dense_and_come_back),
        cmocka_unit_test(attachment_has_the_counted_blocks),
        cmocka_unit_test(other_kinds),
        cmocka_unit_test(recipes_that_there_are_not),
        cmocka_unit_test(the_example),
        cmocka_unit_test(invariants_hold_on_random_layouts),
        cmocka_unit_test(long_lists_are_cut),
        cmocka_unit_test(whose_lengths_decide),
        cmocka_unit_test(walks_have_every_block),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
