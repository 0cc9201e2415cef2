/*
 * run.c - the checker is checked: every mutant must fail with the diagnosis that fits its bug, and
 * the healthy twins must pass.
 */
#include "harness/workbench.h"
#include "mutant.h"
#include "tests/kernels/shapes.h"
#include "tests/tap.h"

#include <stdio.h>
#include <string.h>

static void judge(const contender *c, const outcome *out)
{
    const char *expected = c->summary;
    const bool wrong = out->status == STATUS_WRONG;
    if (!expected)
        tap_ok(out->status == STATUS_OK, "%s passes%s%s", c->name, *out->message ? ": " : "",
               out->message);
    else if (!wrong && c->lab == SHOWS_ON_SIMT && device_keeps_time())
        tap_skip("a race that this GPU happened to win", "%s", c->name);
    else if (c->lab == SHOWS_ON_SIMT && device_keeps_time())
        tap_ok(wrong, "%s fails: %s", c->name, out->message); /* where it shows varies on a GPU */
    else
        tap_ok(wrong && strstr(out->message, expected), "%s fails with '%s', said: %s", c->name,
               expected, wrong ? out->message : "PASS");
}

int main(void)
{
    const options check_only = {.check = true, .bench = false, .seed = 1};
    const int no_tuning[MAX_TUNABLES] = {0};
    device_info device;
    error_text error;
    csr_matrix A = {0};
    workbench w;
    problem p = {.A = &A, .N = 100, .seed = 1, .operation = contenders()->operation};
    enum status status = device_open(0, &device, &error);
    if (status == STATUS_OK) status = make_everything(&A, &error);
    if (status == STATUS_OK) status = row_stats_compute(&A, &p.stats, &error);
    if (status == STATUS_OK) status = p.operation->create(&p, &error);
    for (const contender *c = contenders(); c && status == STATUS_OK; c = c->next) {
        outcome out;
        if (!c->lab) continue; /* a vendor's library */
        /* A fresh workbench each, since some mutants spoil their inputs. */
        status = workbench_create(&w, &check_only, &device, &p, &error);
        if (status != STATUS_OK) break;
        workbench_evaluate(&w, c, no_tuning, &out);
        judge(c, &out);
        workbench_destroy(&w);
    }
    if (p.own) p.operation->destroy(&p);
    csr_free(&A);
    if (status != STATUS_OK) {
        fprintf(stderr, "mutants: %s\n", error.text);
        return status;
    }
    return tap_done();
}
