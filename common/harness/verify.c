#include "harness/verify.h"

#include "matrix/memory.h"
#include "matrix/random.h"
#include "matrix/test_limit.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_A_TIME = 64, TURNS = 8, ORACLE_ROWS = 8 };

/* Rows that an OpenMP thread takes at a time: few, since hub rows make them unequal, and each thread several times. */
static int rows_at_a_time(int64_t rows)
{
    const int64_t share = rows / (TURNS * omp_get_max_threads());
    return share < 1 ? 1 : share < ROWS_AT_A_TIME ? (int)share : ROWS_AT_A_TIME;
}

/* The double `x` as a float that is not smaller, but finite: an infinite bound would let an infinite
 * result pass. */
static float round_up(double x)
{
    float f = (float)x;
    if (f < x) f = nextafterf(f, INFINITY);
    return fminf(f, FLT_MAX);
}

/* Fills both arrays for one output; false if there is no room for scratch. */
static bool compute(const problem *p, int which, double *value, float *bound)
{
    const output *o = &p->outputs[which];
    const bool together = p->operation->oracle_rows != NULL;
    const int most = together ? ORACLE_ROWS : 1;
    const int64_t longest = output_longest(o) * most, batches = (o->rows + most - 1) / most;
    int failed = 0;
#pragma omp parallel
    {
        double *row_bound = malloc((longest + 1) * sizeof *row_bound);
        if (!row_bound) {
#pragma omp atomic write
            failed = 1;
        }
#pragma omp for schedule(dynamic, rows_at_a_time(batches))
        for (int64_t batch = 0; batch < batches; batch++) {
            if (!row_bound) continue;
            const int64_t row = batch * most, left = o->rows - row;
            const int count = left < most ? (int)left : most;
            const int64_t at = output_first(o, row), length = output_length(o, row) * count;
            if (together)
                p->operation->oracle_rows(p, which, row, count, value + at, row_bound);
            else
                p->operation->oracle(p, which, row, value + at, row_bound);
            for (int64_t j = 0; j < length; j++)
                bound[at + j] = round_up(row_bound[j]);
        }
        free(row_bound);
    }
    return !failed;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The share of an output's rows that are compared. */
static double share_compared(const problem *p, int which)
{
    const int64_t huge = test_limit("SPMM_TEST_CHECKED_ELEMENTS", INT64_C(1) << 31);
    const int64_t usual = INT64_C(1) << 27;
    const double sample = (double)(huge < usual ? huge : usual);
    const double elements = (double)output_elements(&p->outputs[which]);
    const double products = p->A ? (double)p->A->nnz * p->width : 0;
    if (elements <= (double)huge && products <= 0x1p37) return 1;
    return fmin(sample / elements, products > 0 ? 0x1p31 / products : 1);
}

/* Marks the longest row, and the first and the last empty one. */
static void mark_extremes(const problem *p, int64_t rows, uint8_t *in_sample)
{
    int64_t longest = 0, most = -1, first_empty = -1, last_empty = -1;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t length = p->operation->row_length(p, row);
        if (length > most) {
            most = length;
            longest = row;
        }
        if (length > 0) continue;
        last_empty = row;
        if (first_empty < 0) first_empty = row;
    }
    in_sample[longest] = 1;
    if (first_empty >= 0) in_sample[first_empty] = in_sample[last_empty] = 1;
}

/* Draws the sample of an output; NULL: all rows are compared, or there is no memory for less. */
static uint8_t *draw_sample(const problem *p, int which)
{
    enum { SEED = 28 };
    const double share = share_compared(p, which);
    const int64_t rows = p->outputs[which].rows;
    uint8_t *in_sample = share < 1 && rows > 0 ? malloc(rows) : NULL;
    if (!in_sample) return NULL;
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; row++)
        in_sample[row] =
            random_unit(random_substream(SEED, (uint64_t)which), (uint64_t)row) < share;
    mark_extremes(p, rows, in_sample);
    in_sample[0] = in_sample[rows - 1] = 1;
    for (int r = 1; r < p->num_ranges; r++)
        in_sample[p->range_first[r] - 1] = in_sample[p->range_first[r]] = 1;
    return in_sample;
}

/* Whether a row is compared. */
static bool is_compared(const uint8_t *in_sample, int64_t row, const float *got, int64_t length)
{
    bool finite = true;
    if (!in_sample || in_sample[row]) return true;
    for (int64_t j = 0; j < length; j++)
        finite = finite && isfinite(got[j]);
    return !finite;
}

/* ---- the reference --------------------------------------------------------------------------- */

/* Leaves an output without the arrays where they would take more than half of the memory available, and where a sample
 * is compared: its oracle is soon computed again. */
static void create_output(const problem *p, int which, reference *ref)
{
    ref->outputs[which].in_sample = draw_sample(p, which);
    if (ref->outputs[which].in_sample) return;
    const size_t elements = (size_t)output_elements(&p->outputs[which]);
    if (elements * (sizeof(double) + sizeof(float)) > (size_t)memory_available() / 2) return;
    double *value = malloc((elements + 1) * sizeof *value);
    float *bound = malloc((elements + 1) * sizeof *bound);
    if (value && bound && compute(p, which, value, bound)) {
        ref->outputs[which].value = value;
        ref->outputs[which].bound = bound;
    } else {
        free(value);
        free(bound);
    }
}

void reference_create(const problem *p, reference *ref)
{
    *ref = (reference){.problem = p};
    for (int i = 0; i < p->num_outputs; i++)
        create_output(p, i, ref);
}

void reference_destroy(reference *ref)
{
    for (int i = 0; i < MAX_OUTPUTS; i++) {
        free(ref->outputs[i].value);
        free(ref->outputs[i].bound);
        free(ref->outputs[i].in_sample);
    }
    *ref = (reference){0};
}

bool is_unwritten(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == UINT32_MAX;
}

static void comparison_init(comparison *c, int which)
{
    *c = (comparison){.which = which,
                      .first_row = INT64_MAX,
                      .last_row = -1,
                      .first_at = INT64_MAX,
                      .last_at = -1,
                      .shortest_bad = INT64_MAX,
                      .shortest_good = INT64_MAX,
                      .longest_bad = -1,
                      .longest_good = -1};
}

/* How many products make the element at `place` of a row. */
static int64_t products_of(const problem *p, int which, int64_t row, int64_t place)
{
    const operation *op = p->operation;
    return op->products ? op->products(p, which, row, place) : op->row_length(p, row);
}

/* The largest error that passes, where a sum of n products in fp32 may be off by `bound`. Each product may be off by R u |ab|
 * more.
 *
 * Always. The sum is off by R u sum |ab|. The bound (ops/rounding.c) is u (n + 4) sum |ab|, or no less than
 * 6 u sqrt(n sum (ab)^2). The second is at least 6 u sum |ab| (Cauchy, Schwarz). So R / min(n + 4, 6) of it is enough.
 *
 * With random signs. Half of R is the rounding of each factor. Then errors have the random signs of B, and their sum has
 * a standard deviation of 0.6 R u sqrt(sum (ab)^2) at most. Ten of them are R / sqrt(n) of either bound, or less. */
static double tolerated(const reference *ref, double n, double bound)
{
    const double factor = ref->bound_factor > 0 ? ref->bound_factor : 1;
    const double rounded = n > 0 ? ref->product_rounding / fmax(sqrt(n), fmin(n + 4, 6)) : 0;
    /* A sum of n products takes n additions at most, each with two numbers that may be flushed. */
    const double flushed = ref->flushes_subnormals ? 2 * 0x1p-126 * n : 0;
    return (factor + rounded) * bound + flushed;
}

/* Compares one row of an output and adds it to the counts of the calling thread; sets bad_place[j] where
 * the element at place j is wrong. */
static void compare_row(const reference *ref, int64_t row, const float *got, const double *want,
                        const float *bound, comparison *c, uint8_t *bad_place)
{
    const problem *p = ref->problem;
    const output *o = &p->outputs[c->which];
    const int64_t nonzeros = p->operation->row_length(p, row);
    const bool counted = ref->product_rounding > 0 || ref->flushes_subnormals;
    const int64_t first = output_first(o, row), length = output_length(o, row);
    int64_t bad_before = c->bad;
    for (int64_t j = 0; j < length; j++) {
        const double n = counted ? (double)products_of(p, c->which, row, j) : 0;
        const double limit = tolerated(ref, n, bound[j]);
        const double error = got[j] == want[j] ? 0 : fabs((double)got[j] - want[j]); /* inf - inf */
        if (error <= limit) {
            if (error > c->worst * limit) c->worst = error / limit;
            continue;
        }
        c->worst = limit > 0 && isfinite(error) ? fmax(c->worst, error / limit) : INFINITY;
        if (c->bad < SHOWN_ERRORS)
            c->shown[c->bad] = (wrong_element){
                row, j, output_column(o, row, j), first + j, nonzeros, want[j], limit, got[j]};
        c->bad++;
        bad_place[j] = 1;
        if (first + j < c->first_at) c->first_at = first + j;
        if (first + j > c->last_at) c->last_at = first + j;
        c->unwritten += is_unwritten(got[j]);
        c->not_finite += !isfinite(got[j]) && !is_unwritten(got[j]);
        c->zero += got[j] == 0;
        c->doubled += fabs((double)got[j] - 2 * want[j]) <= 2 * limit;
    }
    c->elements += length;
    if (c->bad > bad_before) {
        c->bad_rows++;
        if (row < c->first_row) c->first_row = row;
        if (row > c->last_row) c->last_row = row;
        if (nonzeros < c->shortest_bad) c->shortest_bad = nonzeros;
        if (nonzeros > c->longest_bad) c->longest_bad = nonzeros;
    } else {
        if (nonzeros > c->longest_good) c->longest_good = nonzeros;
        if (nonzeros < c->shortest_good) c->shortest_good = nonzeros;
    }
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int by_position(const void *a, const void *b)
{
    const wrong_element *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Adds one thread's counts to the whole; of the shown elements the first ones in order stay. */
static void comparison_merge(comparison *all, const comparison *part)
{
    wrong_element both[2 * SHOWN_ERRORS];
    const size_t na = smaller(all->bad, SHOWN_ERRORS), nb = smaller(part->bad, SHOWN_ERRORS);
    memcpy(both, all->shown, na * sizeof *both);
    memcpy(both + na, part->shown, nb * sizeof *both);
    qsort(both, na + nb, sizeof *both, by_position);
    memcpy(all->shown, both, smaller(na + nb, SHOWN_ERRORS) * sizeof *both);

    all->elements += part->elements;
    all->bad += part->bad;
    all->worst = fmax(all->worst, part->worst);
    all->unwritten += part->unwritten;
    all->not_finite += part->not_finite;
    all->zero += part->zero;
    all->doubled += part->doubled;
    all->bad_rows += part->bad_rows;
    all->first_row = smaller(all->first_row, part->first_row);
    all->last_row = larger(all->last_row, part->last_row);
    all->first_at = smaller(all->first_at, part->first_at);
    all->last_at = larger(all->last_at, part->last_at);
    all->shortest_bad = smaller(all->shortest_bad, part->shortest_bad);
    all->longest_bad = larger(all->longest_bad, part->longest_bad);
    all->longest_good = larger(all->longest_good, part->longest_good);
    all->shortest_good = smaller(all->shortest_good, part->shortest_good);
}

/* Compares one output; false if there is no room for scratch. */
static bool verify_output(const reference *ref, int which, const float *got, comparison *result)
{
    const problem *p = ref->problem;
    const output *o = &p->outputs[which];
    const double *const value = ref->outputs[which].value;
    const uint8_t *const in_sample = ref->outputs[which].in_sample;
    const int64_t longest = output_longest(o);
    uint8_t *bad_place = calloc(longest + 1, 1);
    bool failed = !bad_place;
    comparison_init(result, which);
#pragma omp parallel if (!failed)
    {
        comparison part;
        comparison_init(&part, which);
        double *want = malloc((longest + 1) * sizeof *want),
               *exact = malloc((longest + 1) * sizeof *exact);
        float *bound = malloc((longest + 1) * sizeof *bound);
        uint8_t *part_bad_place = calloc(longest + 1, 1);
        const bool ready = want && exact && bound && part_bad_place && bad_place;
#pragma omp for schedule(dynamic, rows_at_a_time(o->rows))
        for (int64_t row = 0; row < o->rows; row++) {
            const int64_t at = output_first(o, row), length = output_length(o, row);
            if (!ready || !is_compared(in_sample, row, got + at, length)) continue;
            if (value) {
                compare_row(ref, row, got + at, value + at, ref->outputs[which].bound + at, &part,
                            part_bad_place);
            } else {
                p->operation->oracle(p, which, row, want, exact);
                for (int64_t j = 0; j < length; j++)
                    bound[j] = round_up(exact[j]);
                compare_row(ref, row, got + at, want, bound, &part, part_bad_place);
            }
        }
#pragma omp critical
        {
            comparison_merge(result, &part);
            failed |= !ready;
            for (int64_t j = 0; ready && j < longest; j++)
                bad_place[j] |= part_bad_place[j];
        }
        free(want);
        free(exact);
        free(bound);
        free(part_bad_place);
    }
    result->which_elements = result->elements;
    result->which_bad = result->bad;
    result->first_place = longest;
    result->last_place = -1;
    for (int64_t j = 0; !failed && j < longest; j++)
        if (bad_place[j]) {
            result->bad_places++;
            result->first_place = smaller(result->first_place, j);
            result->last_place = j;
        }
    free(bad_place);
    return !failed;
}

enum status verify(const reference *ref, const float *const *got, comparison *result,
                   error_text *error)
{
    const problem *p = ref->problem;
    int64_t elements = 0, bad = 0;
    double worst = 0;
    comparison_init(result, 0);
    for (int i = 0; i < p->num_outputs; i++) {
        comparison one;
        if (!verify_output(ref, i, got[i], &one))
            return fail(error, STATUS_MEMORY, "no memory to verify rows of %lld elements",
                        (long long)output_longest(&p->outputs[i]));
        elements += one.elements;
        worst = fmax(worst, one.worst);
        if (i == 0 || (bad == 0 && one.bad > 0))
            *result = one; /* the first one with errors stays */
        bad += one.bad;
    }
    result->elements = elements;
    result->bad = bad;
    result->worst = worst;
    return STATUS_OK;
}
