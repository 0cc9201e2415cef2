#include "check.h"

#include "matrix/memory.h"
#include "matrix/random.h"
#include "ops/attention_problem.h"
#include "ops/rounding.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[NUM_CHECKED] = {"oracle", "ones", "whole", "causal", "absent"};

const char *checked_name(enum checked what)
{
    return NAMES[what];
}

double verdict_worst(const verdict *v)
{
    double worst = 0;
    for (int i = 0; i < NUM_CHECKED; i++)
        worst = v->worst[i] > worst ? v->worst[i] : worst;
    return worst;
}

/* Arrays on the host, [heads][length][d]. */
typedef struct bench {
    const attend *a;
    uint64_t seed;
    float *Q, *K, *V, *O, *first; /* first: O of the run that the oracle judged */
    verdict *v;
} bench;

/* Divides an error by its bound. Whatever is not within its bound makes more than 1, NaN too. */
static double share_of(double error, double bound)
{
    if (error <= bound) return bound > 0 ? error / bound : 0;
    return isfinite(error) && bound > 0 ? error / bound : INFINITY;
}

static void note(bench *b, enum checked what, double worst, int64_t row)
{
    if (worst <= b->v->worst[what]) return;
    b->v->worst[what] = worst;
    b->v->row[what] = row;
}

static int64_t all_rows(const bench *b)
{
    return (int64_t)b->a->is.heads * b->a->pattern.length;
}

/* ---- inputs ------------------------------------------------------------------------------------ */

enum { OF_Q = 1, OF_K, OF_V, OF_FACTOR, OF_WHOLE, OF_OTHER };

/* Uniform numbers with a variance of 1, as those of a model have. */
static void fill(const bench *b, int stream, float *x)
{
    const uint64_t seed = random_substream(b->seed, (uint64_t)stream);
    const int64_t count = (int64_t)attend_count(b->a);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++)
        x[i] =
            precision_round(b->a->is.precision, 1.7320508f * random_symmetric(seed, (uint64_t)i));
}

/* Rows with large factors have nearly all of their weight on a few keys. */
static void fill_queries(const bench *b)
{
    static const float FACTORS[] = {1, 1, 4, 16};
    const uint64_t seed = random_substream(b->seed, OF_FACTOR);
    const int64_t rows = all_rows(b);
    fill(b, OF_Q, b->Q);
    for (int64_t r = 0; r < rows; r++)
        for (int c = 0; c < b->a->is.d; c++)
            b->Q[r * b->a->is.d + c] *= FACTORS[random_below(seed, (uint64_t)r, 4)];
}

static void fill_values(const bench *b)
{
    const int64_t rows = all_rows(b);
    fill(b, OF_V, b->V);
    for (int64_t r = 0; r < rows; r++)
        b->V[r * b->a->is.d] = 1;
}

static enum status run(const bench *b, const float *Q, const float *K, const float *V, float *O,
                       error_text *error)
{
    TRY(attend_upload(b->a, Q, K, V, error));
    TRY(attend_run(b->a, error));
    return attend_fetch(b->a, O, error);
}

/* ---- against fp64 ------------------------------------------------------------------------------ */

enum { MOST_SAMPLES = 256 };

/* One row as a problem of the operation attention, whose matrix has this row alone. `room`: 2 d numbers. False: no memory. */
static bool judge_row(const bench *b, int64_t row, int32_t *keys, double *room, double *worst)
{
    const attend *a = b->a;
    const int L = a->pattern.length, d = a->is.d, query = (int)(row % L);
    const size_t head = (size_t)(row / L) * L * d;
    const enum precision precision = a->is.precision;
    int64_t row_ptr[2] = {0, 0};
    double lse, lse_bound;
    for (int key = 0; key <= query; key++)
        if (pattern_attends(&a->pattern, query, key)) keys[row_ptr[1]++] = key;
    const csr_matrix A = {
        .rows = 1, .cols = L, .nnz = row_ptr[1], .row_ptr = row_ptr, .col_idx = keys};
    const problem p = {
        .operation = &attention_operation, .A = &A, .width = d, .precision = precision};
    const attention_problem own = {
        .mode = ATTENTION_DOT,
        .heads = 1,
        .d = d,
        .scale = 1 / sqrt((double)d),
        .Q = {.precision = precision, .count = d, .floats = b->Q + row * d},
        .K = {.precision = precision, .count = (size_t)L * d, .floats = b->K + head},
        .V = {.precision = precision, .count = (size_t)L * d, .floats = b->V + head}};
    if (!attention_row(&p, &own, 0, 0, room, room + d, &lse, &lse_bound)) return false;
    *worst = 0;
    for (int c = 0; c < d; c++)
        *worst = fmax(*worst, share_of(fabs(b->first[row * d + c] - room[c]), room[d + c]));
    return true;
}

/* The first rows and the last ones of heads are among the sampled. */
static enum status check_oracle(bench *b, error_text *error)
{
    const int64_t rows = all_rows(b), samples = rows < MOST_SAMPLES ? rows : MOST_SAMPLES;
    double worst[MOST_SAMPLES];
    bool made = true;
#pragma omp parallel for schedule(dynamic) reduction(&& : made)
    for (int64_t i = 0; i < samples; i++) {
        const int64_t row = samples == 1 ? 0 : i * (rows - 1) / (samples - 1);
        int32_t *keys = malloc((size_t)b->a->pattern.length * sizeof *keys);
        double *room = malloc(2 * (size_t)b->a->is.d * sizeof *room);
        worst[i] = 0;
        made = made && keys && room && judge_row(b, row, keys, room, &worst[i]);
        free(keys);
        free(room);
    }
    if (!made) return fail(error, STATUS_MEMORY, "no memory for rows of scores");
    for (int64_t i = 0; i < samples; i++)
        note(b, CHECKED_ORACLE, worst[i], samples == 1 ? 0 : i * (rows - 1) / (samples - 1));
    return STATUS_OK;
}

/* ---- for all rows ------------------------------------------------------------------------------ */

/* Keys that each query of a head attends to. */
static int keys_of(const bench *b, int query)
{
    const block_pattern *p = &b->a->pattern;
    int keys = query % p->block + 1;
    for (int col = 0; col < query / p->block; col++)
        keys += pattern_has(p, query / p->block, col) ? p->block : 0;
    return keys;
}

/* How far n shares are off a sum of 1, each times a number up to 1. A share may have been rounded once to 16 bits. Sums of n terms
 * stand above and below the line, in whatever order: n u each; the quotient, the product and the cuts of tensor cores, which may
 * take another u a term, the rest. */
static double off_of_shares(enum precision precision, int n)
{
    const number_format *format = precision_format(precision);
    const double narrow =
        precision == PRECISION_FP32 ? 0 : format->unit_roundoff + n * format->least / 2;
    return narrow + ROUNDOFF * (4. * n + 20);
}

static void check_ones(bench *b)
{
    const int d = b->a->is.d, L = b->a->pattern.length;
    const enum precision precision = b->a->is.precision;
    for (int query = 0; query < L; query++) {
        const double bound =
            rounding_stored(precision, 1, off_of_shares(precision, keys_of(b, query)));
        for (int64_t row = query; row < all_rows(b); row += L)
            note(b, CHECKED_ONES, share_of(fabs(b->first[row * d] - 1.), bound), row);
    }
}

enum { MOST_WHOLE = 4 };

/* All n shares are the same number, so rounding it takes the same from each. In 16 bits it has few bits: times whole numbers every
 * partial sum is exact while n * MOST_WHOLE * 2^bits is at most 2^24. Else sums round as elsewhere. */
static double whole_bound(enum precision precision, int n, double mean, double size)
{
    const number_format *format = precision_format(precision);
    if (precision == PRECISION_FP32) return ROUNDOFF * (4. * n + 20) * size;
    const double share = fabs(mean) * format->unit_roundoff + n * format->least / 2 * fabs(mean);
    const bool is_exact = n * MOST_WHOLE / format->unit_roundoff <= 0x1p24;
    return share + ROUNDOFF * ((is_exact ? 0 : 4. * n) + 20) * size;
}

/* Sums of V and of |V| over keys, a number for each feature. */
typedef struct key_sums {
    double sum[128], size[128];
} key_sums;

static void add_key(key_sums *to, const float *V, int d)
{
    for (int c = 0; c < d; c++) {
        to->sum[c] += V[c];
        to->size[c] += fabs((double)V[c]);
    }
}

static void add_sums(key_sums *to, const key_sums *x, int d)
{
    for (int c = 0; c < d; c++) {
        to->sum[c] += x->sum[c];
        to->size[c] += x->size[c];
    }
}

/* Judges row `row` of O, whose query attends to n keys with these sums. */
static void judge_mean(bench *b, int64_t row, int n, const key_sums *keys)
{
    const int d = b->a->is.d;
    const enum precision precision = b->a->is.precision;
    for (int c = 0; c < d; c++) {
        const double mean = keys->sum[c] / n;
        const double off = whole_bound(precision, n, mean, keys->size[c] / n);
        note(b, CHECKED_WHOLE,
             share_of(fabs(b->O[row * d + c] - mean), rounding_stored(precision, mean, off)), row);
    }
}

/* All rows of a head. `of_block` gets the sums of each block of keys; on the diagonal keys are added query by query. */
static void judge_whole(bench *b, int64_t head, key_sums *of_block)
{
    const block_pattern *p = &b->a->pattern;
    const int d = b->a->is.d, B = p->block, side = pattern_side(p);
    const int64_t first = head * p->length;
    memset(of_block, 0, (size_t)side * sizeof *of_block);
    for (int64_t key = 0; key < p->length; key++)
        add_key(&of_block[key / B], b->V + (first + key) * d, d);
    for (int block_row = 0; block_row < side; block_row++) {
        key_sums keys = {{0}, {0}};
        int n = 0;
        for (int col = 0; col < block_row; col++) {
            if (!pattern_has(p, block_row, col)) continue;
            add_sums(&keys, &of_block[col], d);
            n += B;
        }
        for (int64_t row = first + block_row * B; row < first + (block_row + 1) * B; row++) {
            add_key(&keys, b->V + row * d, d);
            judge_mean(b, row, ++n, &keys);
        }
    }
}

static enum status check_whole(bench *b, error_text *error)
{
    const int64_t count = (int64_t)attend_count(b->a);
    const uint64_t seed = random_substream(b->seed, OF_WHOLE);
    key_sums *of_block = malloc((size_t)pattern_side(&b->a->pattern) * sizeof *of_block);
    if (!of_block) return fail(error, STATUS_MEMORY, "no memory for sums");
    memset(b->Q, 0, count * sizeof *b->Q);
    for (int64_t i = 0; i < count; i++)
        b->V[i] = input_number(MOST_WHOLE, seed, (uint64_t)i);
    const enum status status = run(b, b->Q, b->K, b->V, b->O, error);
    for (int64_t head = 0; head < b->a->is.heads && status == STATUS_OK; head++)
        judge_whole(b, head, of_block);
    free(of_block);
    return status;
}

/* ---- what must not be read ---------------------------------------------------------------------- */

/* Compares rows of O with those of the first run, to the bit. */
static void compare(bench *b, enum checked what, bool (*is_same)(const bench *b, int query))
{
    const int d = b->a->is.d, L = b->a->pattern.length;
    note(b, what, 0, 0);
    for (int query = 0; query < L; query++)
        for (int64_t row = query; is_same(b, query) && row < all_rows(b); row += L)
            if (memcmp(b->O + row * d, b->first + row * d, d * sizeof *b->O) != 0)
                note(b, what, INFINITY, row);
}

/* Replaces K and V of tokens `from` to `to` of all heads. */
static void replace(const bench *b, int from, int to, float (*number)(const bench *b, size_t at))
{
    const int d = b->a->is.d, L = b->a->pattern.length;
    for (int64_t head = 0; head < b->a->is.heads; head++)
        for (size_t at = (size_t)(head * L + from) * d; at < (size_t)(head * L + to) * d; at++)
            b->K[at] = b->V[at] = number(b, at);
}

static float other_number(const bench *b, size_t at)
{
    const uint64_t seed = random_substream(b->seed, OF_OTHER);
    return precision_round(b->a->is.precision, 3 * random_symmetric(seed, at));
}

static float no_number(const bench *b, size_t at)
{
    (void)b, (void)at;
    return NAN;
}

/* A token inside a block. */
static int token_to_change(const bench *b)
{
    const block_pattern *p = &b->a->pattern;
    return pattern_side(p) / 2 * p->block + p->block / 2 - 1;
}

static bool is_before(const bench *b, int query)
{
    return query < token_to_change(b);
}

/* A block column that some later block row lacks; -1: all have all. */
static int column_to_spoil(const bench *b)
{
    const int side = pattern_side(&b->a->pattern);
    for (int col = side / 2; col >= 0; col--)
        if (!pattern_has(&b->a->pattern, side - 1, col)) return col;
    return -1;
}

static bool lacks_column(const bench *b, int query)
{
    return !pattern_has(&b->a->pattern, query / b->a->pattern.block, column_to_spoil(b));
}

static enum status check_causal(bench *b, error_text *error)
{
    replace(b, token_to_change(b), b->a->pattern.length, other_number);
    TRY(run(b, b->Q, b->K, b->V, b->O, error));
    compare(b, CHECKED_CAUSAL, is_before);
    return STATUS_OK;
}

static enum status check_absent(bench *b, error_text *error)
{
    const int col = column_to_spoil(b), B = b->a->pattern.block;
    if (col < 0 || b->a->is.variant == DENSE) return STATUS_OK;
    replace(b, col * B, (col + 1) * B, no_number);
    TRY(run(b, b->Q, b->K, b->V, b->O, error));
    compare(b, CHECKED_ABSENT, lacks_column);
    return STATUS_OK;
}

/* ---- all ---------------------------------------------------------------------------------------- */

static void fill_all(const bench *b)
{
    fill_queries(b);
    fill(b, OF_K, b->K);
    fill_values(b);
}

static enum status say(const bench *b, error_text *error)
{
    const int L = b->a->pattern.length;
    for (int i = 0; i < NUM_CHECKED; i++)
        if (b->v->worst[i] > 1)
            return fail(error, STATUS_WRONG,
                        "%s: head %lld, query %lld is off by %.3g times its bound (%s)",
                        variant_name(b->a->is.variant), (long long)(b->v->row[i] / L),
                        (long long)(b->v->row[i] % L), b->v->worst[i], NAMES[i]);
    return STATUS_OK;
}

/* Judges a run with the inputs of fill_all. */
static enum status judge_first(bench *b, error_text *error)
{
    TRY(check_oracle(b, error));
    note(b, CHECKED_ONES, 0, 0);
    check_ones(b);
    return STATUS_OK;
}

static enum status check_all(bench *b, error_text *error)
{
    fill_all(b);
    TRY(run(b, b->Q, b->K, b->V, b->first, error));
    TRY(judge_first(b, error));
    TRY(check_causal(b, error));
    fill_all(b);
    TRY(check_absent(b, error));
    fill(b, OF_K, b->K);
    TRY(check_whole(b, error));
    fill_all(b);
    TRY(attend_upload(b->a, b->Q, b->K, b->V, error));
    return say(b, error);
}

static enum status check_last(bench *b, error_text *error)
{
    fill_all(b);
    TRY(attend_fetch(b->a, b->first, error));
    TRY(judge_first(b, error));
    return say(b, error);
}

static enum status with_bench(const attend *a, uint64_t seed, verdict *v,
                              enum status (*check)(bench *b, error_text *error), error_text *error)
{
    const size_t count = attend_count(a);
    TRY(memory_check((int64_t)(5 * count * sizeof(float)), "Q, K, V and O on the host", error));
    float *room = malloc(5 * count * sizeof *room);
    if (!room) return fail(error, STATUS_MEMORY, "no memory for Q, K, V and O");
    bench b = {.a = a,
               .seed = seed,
               .Q = room,
               .K = room + count,
               .V = room + 2 * count,
               .O = room + 3 * count,
               .first = room + 4 * count,
               .v = v};
    const enum status status = check(&b, error);
    free(room);
    return status;
}

enum status check_attention(const attend *a, uint64_t seed, verdict *v, error_text *error)
{
    for (int i = 0; i < NUM_CHECKED; i++)
        v->worst[i] = -1;
    return with_bench(a, seed, v, check_all, error);
}

enum status check_again(const attend *a, uint64_t seed, verdict *v, error_text *error)
{
    return with_bench(a, seed, v, check_last, error);
}
