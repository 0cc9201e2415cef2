#include "harness/verify.h"

#include "matrix/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows an OpenMP thread takes at a time: hub rows make them unequal, so few. */
enum { ROWS_AT_A_TIME = 64 };

/* The double `x` as a float that is not smaller, but finite: an infinite bound would let an infinite
 * result pass. */
static float round_up(double x)
{
    float f = (float)x;
    if (f < x) f = nextafterf(f, INFINITY);
    return fminf(f, FLT_MAX);
}

/* Fills both arrays; false if there is no room for scratch. */
static bool compute(const problem *p, double *value, float *bound)
{
    int failed = 0;
#pragma omp parallel
    {
        double *row_bound = malloc((p->out_cols + 1) * sizeof *row_bound);
        if (!row_bound) {
#pragma omp atomic write
            failed = 1;
        }
#pragma omp for schedule(dynamic, ROWS_AT_A_TIME)
        for (int64_t row = 0; row < p->out_rows; row++) {
            if (!row_bound) continue;
            const size_t at = (size_t)row * p->out_cols;
            p->operation->oracle(p, row, value + at, row_bound);
            for (int64_t j = 0; j < p->out_cols; j++)
                bound[at + j] = round_up(row_bound[j]);
        }
        free(row_bound);
    }
    return !failed;
}

void reference_create(const problem *p, reference *ref)
{
    *ref = (reference){.problem = p};
    const size_t elements = (size_t)p->out_rows * p->out_cols;
    if (elements * (sizeof(double) + sizeof(float)) > (size_t)memory_available() / 2) return;
    double *value = malloc((elements + 1) * sizeof *value);
    float *bound = malloc((elements + 1) * sizeof *bound);
    if (value && bound && compute(p, value, bound)) {
        ref->value = value;
        ref->bound = bound;
    } else {
        free(value);
        free(bound);
    }
}

void reference_destroy(reference *ref)
{
    free(ref->value);
    free(ref->bound);
    *ref = (reference){0};
}

bool is_unwritten(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == UINT32_MAX;
}

static void comparison_init(comparison *c)
{
    *c = (comparison){.first_row = INT64_MAX,
                      .last_row = -1,
                      .shortest_bad = INT64_MAX,
                      .shortest_good = INT64_MAX,
                      .longest_bad = -1,
                      .longest_good = -1};
}

/* Compares one row and adds it to the counts of the calling thread; sets bad_col[j] where column j
 * is wrong. */
static void compare_row(const reference *ref, int64_t row, const float *got, const double *want,
                        const float *bound, comparison *c, uint8_t *bad_col)
{
    const problem *p = ref->problem;
    const double factor = ref->bound_factor > 0 ? ref->bound_factor : 1;
    const int64_t length = p->operation->row_length(p, row);
    int64_t bad_before = c->bad;
    for (int64_t j = 0; j < p->out_cols; j++) {
        const double limit = factor * bound[j];
        const double error = fabs((double)got[j] - want[j]);
        if (error <= limit) {
            if (error > c->worst * limit) c->worst = error / limit;
            continue;
        }
        c->worst = limit > 0 && isfinite(error) ? fmax(c->worst, error / limit) : INFINITY;
        if (c->bad < SHOWN_ERRORS)
            c->shown[c->bad] = (wrong_element){row, j, length, want[j], limit, got[j]};
        c->bad++;
        bad_col[j] = 1;
        c->unwritten += is_unwritten(got[j]);
        c->not_finite += !isfinite(got[j]) && !is_unwritten(got[j]);
        c->zero += got[j] == 0;
        c->doubled += fabs((double)got[j] - 2 * want[j]) <= 2 * limit;
    }
    c->elements += p->out_cols;
    if (c->bad > bad_before) {
        c->bad_rows++;
        if (row < c->first_row) c->first_row = row;
        if (row > c->last_row) c->last_row = row;
        if (length < c->shortest_bad) c->shortest_bad = length;
        if (length > c->longest_bad) c->longest_bad = length;
    } else {
        if (length > c->longest_good) c->longest_good = length;
        if (length < c->shortest_good) c->shortest_good = length;
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
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return (x->col > y->col) - (x->col < y->col);
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
    all->shortest_bad = smaller(all->shortest_bad, part->shortest_bad);
    all->longest_bad = larger(all->longest_bad, part->longest_bad);
    all->longest_good = larger(all->longest_good, part->longest_good);
    all->shortest_good = smaller(all->shortest_good, part->shortest_good);
}

enum status verify(const reference *ref, const float *got, comparison *result, error_text *error)
{
    const problem *p = ref->problem;
    const int64_t cols = p->out_cols;
    uint8_t *bad_col = calloc(cols + 1, 1);
    bool failed = !bad_col;
    comparison_init(result);
#pragma omp parallel if (!failed)
    {
        comparison part;
        comparison_init(&part);
        double *want = malloc((cols + 1) * sizeof *want),
               *exact = malloc((cols + 1) * sizeof *exact);
        float *bound = malloc((cols + 1) * sizeof *bound);
        uint8_t *part_bad_col = calloc(cols + 1, 1);
        const bool ready = want && exact && bound && part_bad_col && bad_col;
#pragma omp for schedule(dynamic, ROWS_AT_A_TIME)
        for (int64_t row = 0; row < p->out_rows; row++) {
            const size_t at = (size_t)row * cols;
            if (!ready) continue;
            if (ref->value) {
                compare_row(ref, row, got + at, ref->value + at, ref->bound + at, &part,
                            part_bad_col);
            } else {
                p->operation->oracle(p, row, want, exact);
                for (int64_t j = 0; j < cols; j++)
                    bound[j] = round_up(exact[j]);
                compare_row(ref, row, got + at, want, bound, &part, part_bad_col);
            }
        }
#pragma omp critical
        {
            comparison_merge(result, &part);
            failed |= !ready;
            for (int64_t j = 0; ready && j < cols; j++)
                bad_col[j] |= part_bad_col[j];
        }
        free(want);
        free(exact);
        free(bound);
        free(part_bad_col);
    }
    result->first_col = cols;
    result->last_col = -1;
    for (int64_t j = 0; !failed && j < cols; j++)
        if (bad_col[j]) {
            result->bad_cols++;
            result->first_col = smaller(result->first_col, j);
            result->last_col = j;
        }
    free(bad_col);
    return failed ? fail(error, STATUS_MEMORY, "no memory to verify %lld columns", (long long)cols)
                  : STATUS_OK;
}
