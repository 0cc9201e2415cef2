/*
 * test_lane_major.c - the lane-major format, made on the device and read again here as its definition
 * says. Each element is in its place with its bits, and nothing else is there but zeros that make a number
 * even. The tests also look at what the notes say of banks, where steps begin, and bytes as counted.
 */
#include "formats/lane_major.h"
#include "matrix/random.h"
#include "models/lane_major.h"
#include "on_device.h"
#include "ops/storage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

/* ---- a matrix -------------------------------------------------------------------------------------- */

/* Dense: value + 1, so that 0 is "not stored" and a stored zero is 1. Values have any 16 bits. */
typedef struct sample {
    int rows, cols;
    uint32_t *element;
} sample;

static sample make(int rows, int cols, double sparsity, uint64_t seed)
{
    sample s = {rows, cols, calloc((size_t)rows * cols + 1, sizeof(uint32_t))};
    assert_non_null(s.element);
    for (size_t i = 0; i < (size_t)rows * cols; i++)
        if (random_unit(seed, 2 * i) >= sparsity)
            s.element[i] = (uint32_t)(random_bits(seed, 2 * i + 1) & 0xffff) + 1;
    return s;
}

/* In the other format, on the device. */
static tca_bme encode(const sample *s)
{
    const size_t all = (size_t)s->rows * s->cols;
    int *row_ptr = calloc((size_t)s->rows + 1, sizeof *row_ptr);
    int *col_idx = malloc(all * sizeof *col_idx + 1), nnz = 0;
    uint16_t *values = malloc(all * sizeof *values + 1);
    tca_bme m;
    assert_true(row_ptr && col_idx && values);
    for (int i = 0; i < s->rows; i++) {
        for (int k = 0; k < s->cols; k++) {
            const uint32_t element = s->element[(size_t)i * s->cols + k];
            if (!element) continue;
            col_idx[nnz] = k;
            values[nnz++] = (uint16_t)(element - 1);
        }
        row_ptr[i + 1] = nnz;
    }
    int *d_row_ptr = to_device(row_ptr, ((size_t)s->rows + 1) * sizeof *row_ptr);
    int *d_col_idx = to_device(col_idx, (size_t)nnz * sizeof *col_idx);
    uint16_t *d_values = to_device(values, (size_t)nnz * sizeof *values);
    const spmm_matrix A = {.rows = s->rows,
                           .cols = s->cols,
                           .nnz = nnz,
                           .d_row_ptr = d_row_ptr,
                           .d_col_idx = d_col_idx,
                           .d_values16 = d_values};
    assert_int_equal(tca_bme_create(&A, &m), cudaSuccess);
    cudaFree(d_row_ptr);
    cudaFree(d_col_idx);
    cudaFree(d_values);
    free(row_ptr);
    free(col_idx);
    free(values);
    return m;
}

/* ---- the format, read ------------------------------------------------------------------------------ */

typedef struct reading {
    const lane_major *m;
    const sample *s;
    uint32_t *begin, *data, *found; /* found: as in the sample */
} reading;

/* A lane's elements of one quad: word[32 k] is row k of its bank, of which the first `at` halves are
 * somebody else's; returns how many there are. */
static uint32_t read_quad(const reading *r, const uint32_t *word, uint32_t mask, int quad,
                          int strip, int lane, uint32_t at)
{
    const uint32_t first = at;
    for (int n = 0; n < 32; n++) {
        const int fragment = n / 8, i = n % 8;
        if (!(mask >> n & 1)) continue;
        const int row = strip * 16 + lane / 4 + i / 2 % 2 * 8;
        const int column =
            quad * 64 + fragment / 2 * 32 + lane % 4 * 8 + fragment % 2 * 4 + i / 4 * 2 + i % 2;
        const uint16_t value = (uint16_t)(word[at / 2 * LANES] >> 16 * (at % 2));
        const bool inside = row < r->s->rows && column < r->s->cols;
        const size_t place = inside ? (size_t)row * r->s->cols + column : 0;
        at++;
        if (inside && r->s->element[place]) {
            assert_int_equal(r->found[place], 0);
            r->found[place] = (uint32_t)value + 1;
        } else { /* it makes a number even */
            assert_true(r->m->shape.even);
            assert_int_equal(value, 0);
        }
    }
    if (r->m->shape.even)
        for (int f = 0; f < 4; f++)
            assert_int_equal(__builtin_popcount(mask >> 8 * f & 0xff) % 2, 0);
    return at - first;
}

/* A step of `count` quads from number `quad` on; returns its rows of values. */
static uint32_t read_step(const reading *r, const uint32_t *step, int quad, int count)
{
    const uint16_t *notes = (const uint16_t *)step;
    const uint32_t *values = step + (8 + 16 * count) * LANES;
    const int ways = r->m->shape.ways, strips = 16 / ways; /* of a group */
    uint32_t filled[LANES] = {0}, most = 0, least = UINT32_MAX, longest = 0;
    for (int slot = 0; slot < 16; slot++) {
        uint32_t next[LANES], used = 0;
        for (int lane = 0; lane < LANES; lane++) {
            const int note = notes[slot * LANES + lane], bank = note % 32;
            uint32_t at = filled[bank];
            assert_int_equal(note / 32, at);
            used |= UINT32_C(1) << bank;
            for (int q = quad; q < quad + count; q++)
                at += read_quad(r, values + bank, step[(8 + 16 * (q - quad) + slot) * LANES + lane],
                                q % r->m->quads * ways + slot / strips,
                                q / r->m->quads * strips + slot % strips, lane, at);
            next[bank] = at;
            longest = at - filled[bank] > longest ? at - filled[bank] : longest;
        }
        assert_int_equal(used, ~UINT32_C(0)); /* each bank has one lane */
        memcpy(filled, next, sizeof filled);
    }
    for (int bank = 0; bank < LANES; bank++) {
        most = filled[bank] > most ? filled[bank] : most;
        least = filled[bank] < least ? filled[bank] : least;
    }
    assert_true(most - least <= longest); /* no bank runs ahead by more than one lane's values */
    return (most + 1) / 2;
}

/* Steps of a block, from number `number` on, of the quads from `first` to the one before `end`; each as long as it says.
 * Returns the number of the next. */
static int read_steps(const reading *r, int block, int number, int first, int end)
{
    const lane_major *m = r->m;
    for (int quad = first; quad < end; number++) {
        const uint32_t *at = &r->begin[block * m->steps + number];
        const uint32_t *step = r->data + (size_t)at[0] * LANES;
        int count = m->shape.step;
        assert_true(number < m->steps);
        if (number < EARLY_STEPS) assert_int_equal(m->start[block].rows[number], at[1] - at[0]);
        assert_true(at[1] - at[0] <= (uint32_t)m->most_rows);
        if (count > end - quad) count = end - quad;
        if (count > m->quads - quad % m->quads) count = m->quads - quad % m->quads;
        assert_int_equal(at[1] - at[0], 8 + 16 * count + read_step(r, step, quad, count));
        quad += count;
    }
    return number;
}

static int64_t first_of(const lane_major *m, int block)
{
    return (int64_t)m->groups * m->quads * block / m->shape.blocks;
}

/* Reads a block. Words of a group that began in another block come last; the block knows where, if the group ends here. */
static void read_block(const reading *r, int block)
{
    const lane_major *m = r->m;
    const int first = (int)first_of(m, block), end = (int)first_of(m, block + 1);
    const int group = first / m->quads * m->quads; /* its first quad */
    const int next = group < first && group + m->quads < end ? group + m->quads : first;
    int begun_in = block;
    assert_int_equal(m->start[block].row, r->begin[block * m->steps]);
    const int number = read_steps(r, block, 0, next, end);
    read_steps(r, block, number, first, next);
    while (group + m->quads <= end && first_of(m, begun_in) > group)
        begun_in--;
    assert_int_equal(m->start[block].begun_in, begun_in);
}

static void check_shape(const sample *s, const tca_bme *from, lane_major_shape shape)
{
    lane_major m;
    assert_int_equal(lane_major_create(from, &shape, &m), cudaSuccess);
    const size_t steps = (size_t)m.shape.blocks * m.steps;
    const size_t words = ((size_t)m.all_rows + LOOK_AHEAD) * LANES;
    assert_true(m.shape.blocks <= shape.blocks);
    assert_int_equal(lane_major_bytes(&m),
                     4 * words + 4 * (steps + 1) + 16 * (size_t)m.shape.blocks);
    const reading r = {.m = &m,
                       .s = s,
                       .begin = to_host(m.begin, 4 * (steps + 1)),
                       .data = to_host(m.data, 4 * words),
                       .found = calloc((size_t)s->rows * s->cols + 1, sizeof(uint32_t))};
    assert_non_null(r.found);
    assert_int_equal(r.begin[steps], m.all_rows);
    for (int block = 0; block < m.shape.blocks; block++)
        read_block(&r, block);
    assert_memory_equal(r.found, s->element, (size_t)s->rows * s->cols * sizeof *r.found);
    free(r.begin);
    free(r.data);
    free(r.found);
    lane_major_destroy(&m);
}

static void check(sample s)
{
    static const int BLOCKS[] = {1, 7, 132}, STEPS[] = {1, 2, 4}, WAYS[] = {1, 2, 4, 4, 1, 2};
    tca_bme from = encode(&s);
    for (int n = 0; n < 6; n++)
        check_shape(&s, &from,
                    (lane_major_shape){.step = STEPS[n % 3],
                                       .blocks = BLOCKS[(n + n / 3) % 3],
                                       .ways = WAYS[n],
                                       .even = n % 2});
    tca_bme_destroy(&from);
    free(s.element);
}

/* ---- tests ----------------------------------------------------------------------------------------- */

static void any_shape_at_any_sparsity(void **state)
{
    (void)state;
    static const double SPARSITIES[] = {0, .06, .47, .5, .7, .99, 1};
    static const int SIDES[][2] = {{1, 1},    {16, 64},   {17, 65},   {128, 64},
                                   {257, 63}, {300, 500}, {40, 1000}, {500, 130}};
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 7; k++)
            if ((i + k) % 2 == 0)
                check(make(SIDES[i][0], SIDES[i][1], SPARSITIES[k], (uint64_t)(10 * i + k)));
}

static void nothing_in_nothing(void **state)
{
    (void)state;
    check(make(0, 70, .5, 1));
    check(make(70, 0, .5, 1));
    check(make(0, 0, .5, 1));
}

/* The loss is the difference between the banks of a step: as much as the formula says, and no more. */
static void bytes_are_as_the_formula_expects(void **state)
{
    (void)state;
    static const double SPARSITIES[] = {0, .5, .7, .99};
    for (int i = 0; i < 4; i++) {
        const sample s = make(512, 1024, SPARSITIES[i], 3);
        const double expected = storage_bytes(STORAGE_LANE_MAJOR, s.rows, s.cols, SPARSITIES[i]);
        const lane_major_shape shape = {.step = 2, .blocks = 1, .ways = 1};
        tca_bme from = encode(&s);
        lane_major m;
        assert_int_equal(lane_major_create(&from, &shape, &m), cudaSuccess);
        assert_true(fabs((double)lane_major_bytes(&m) / expected - 1) < .03);
        lane_major_destroy(&m);
        tca_bme_destroy(&from);
        free(s.element);
    }
}

/* A row's products are cut into chains that a tensor core may add up: by ways, if there are more groups than blocks. */
static void long_chains_are_cut(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, cols, longest;
        int ways;
    } CASES[] = {
        {36864, 9216, 3686, 1},
        {49152, 12288, 4915, 2},
        {1 << 20, 40000, 30000, 4},
        {12288, 49152, 19661, 1}, /* fewer groups than blocks, which cut them */
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        row_stats stats = {.rows = CASES[i].rows, .cols = CASES[i].cols, .max = CASES[i].longest};
        stats.nnz = stats.rows * stats.max;
        stats.density = (double)stats.max / (double)stats.cols;
        assert_int_equal(lane_major_choose(&stats, 16).ways, CASES[i].ways);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape_at_any_sparsity),
        cmocka_unit_test(nothing_in_nothing),
        cmocka_unit_test(bytes_are_as_the_formula_expects),
        cmocka_unit_test(long_chains_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
