/*
 * run.c - the checker is checked: every mutant must fail with the diagnosis that fits its bug, and
 * the healthy twins must pass. Where the device keeps time, this holds when runs are timed too.
 */
#include "harness/workbench.h"
#include "matrix/shapes.h"
#include "mutant.h"
#include "tests/tap.h"

#include <stdio.h>
#include <string.h>

static void judge(const contender *c, const outcome *out, bool timed)
{
    const char *expected = c->summary;
    const char *how = timed ? ", timed" : "";
    const bool wrong = out->status == STATUS_WRONG;
    const bool is_race = c->lab % ON_FEW_BLOCKS == SHOWS_ON_SIMT;
    if (out->status == STATUS_SKIPPED)
        tap_skip(out->message, "%s%s", c->name, how);
    else if (!expected)
        tap_ok(out->status == STATUS_OK, "%s%s passes%s%s", c->name, how, *out->message ? ": " : "",
               out->message);
    else if (!wrong && is_race && device_keeps_time())
        tap_skip("a race that this GPU happened to win", "%s%s", c->name, how);
    else if (is_race && device_keeps_time()) /* where it shows varies on a GPU */
        tap_ok(wrong, "%s%s fails: %s", c->name, how, out->message);
    else
        tap_ok(wrong && strstr(out->message, expected), "%s%s fails with '%s', said: %s", c->name,
               how, expected, wrong ? out->message : "PASS");
}

/* The matrices that mutants are tried on, and who is tried on which by its lab number. */
static const struct {
    enum status (*make)(csr_matrix *A, error_text *error);
    int shows_on; /* 0: those that none of the others is for */
} MATRICES[] = {{make_everything, 0},
                {make_neighbours, SHOWS_ON_NEIGHBOURS},
                {make_long_rows, SHOWS_ON_LONG_ROWS},
                {make_explicit_zeros, SHOWS_ON_VALUES},
                {make_few_blocks, ON_FEW_BLOCKS},
                {make_uneven_blocks, ON_UNEVEN_BLOCKS}};
enum { NUM_MATRICES = sizeof MATRICES / sizeof MATRICES[0] };

static bool is_tried_on(const contender *c, int matrix)
{
    const int place = c->lab < ON_FEW_BLOCKS ? c->lab : c->lab / ON_FEW_BLOCKS * ON_FEW_BLOCKS;
    for (int m = 1; m < NUM_MATRICES; m++)
        if (place == MATRICES[m].shows_on) return m == matrix;
    return matrix == 0;
}

/* The mutants that are tried on this matrix. */
static enum status judge_all(const options *o, const device_info *device, const problem *p,
                             int matrix, int knobs, error_text *error)
{
    const int no_tuning[MAX_TUNABLES] = {0};
    for (const contender *c = contenders(); c; c = c->next) {
        workbench w;
        outcome out;
        if (!c->lab) continue; /* a vendor's library */
        if (c->operation != p->operation || c->precision != p->precision) continue;
        if (c->after != knobs) continue;
        if (!is_tried_on(c, matrix)) continue;
        /* A fresh workbench each, since some mutants spoil their inputs. */
        const enum status status = workbench_create(&w, o, device, p, error);
        if (status != STATUS_OK) return status;
        workbench_evaluate(&w, c, no_tuning, &out);
        judge(c, &out, o->bench);
        workbench_destroy(&w);
    }
    return STATUS_OK;
}

/* Whether an earlier mutant that is tried on this matrix has the operation, precision and knobs of c, too. */
static bool is_repetition(const contender *c, int matrix)
{
    for (const contender *d = contenders(); d != c; d = d->next)
        if (d->lab && is_tried_on(d, matrix) && d->operation == c->operation &&
            d->precision == c->precision && d->after == c->after)
            return true;
    return false;
}

static enum status judge_matrix(int matrix, const device_info *device, error_text *error)
{
    const options passes[] = {{.check = true, .bench = false, .seed = 1},
                              {.check = true, .bench = true, .runs = 3, .seed = 1}};
    const int num_passes = device_keeps_time() ? 2 : 1;
    csr_matrix A = {0};
    row_stats stats = {0};
    enum status status = MATRICES[matrix].make(&A, error);
    if (status == STATUS_OK) status = row_stats_compute(&A, &stats, error);
    for (const contender *c = contenders(); c && status == STATUS_OK; c = c->next) {
        if (!c->lab || !is_tried_on(c, matrix) || is_repetition(c, matrix)) continue;
        problem p = {.A = &A,
                     .stats = stats,
                     .width = 100,
                     .seed = 1,
                     .precision = c->precision,
                     .operation = c->operation};
        if (p.operation->most_width) p.width = p.operation->most_width;
        problem_turn_knobs(&p, (uint64_t)c->after);
        status = p.operation->create(&p, error);
        for (int i = 0; i < num_passes && status == STATUS_OK; i++)
            status = judge_all(&passes[i], device, &p, matrix, c->after, error);
        p.operation->destroy(&p);
    }
    csr_free(&A);
    return status;
}

int main(void)
{
    device_info device;
    error_text error;
    enum status status = device_open(0, &device, &error);
    for (int m = 0; m < NUM_MATRICES && status == STATUS_OK; m++)
        status = judge_matrix(m, &device, &error);
    if (status != STATUS_OK) {
        fprintf(stderr, "mutants: %s\n", error.text);
        return status;
    }
    return tap_done();
}
