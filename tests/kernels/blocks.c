#include "blocks.h"

#include "harness/tuning.h"
#include "matrix/generate.h"
#include "matrix/random.h"
#include "matrix/shapes.h"
#include "ops/bsmm.h"

#include <stdio.h>
#include <string.h>

static const options CHECK_ONLY = {.check = true, .bench = false, .seed = 1};

/* Layouts of the benchmark, small: with cut lists, unsymmetric, with empty rows and columns, with lists of two hundred, of
 * one block and of none; and one of no spec, whose lists have four blocks a step or one: lab 53's pages come round twice.
 * That one is for products, whose lists are walked; sums of blocks see their tokens alone. */
static const char UNEVEN[] = "uneven blocks";
static const struct {
    const char *spec;
    int N;
} PROBLEMS[] = {
    {"blocks:in=1280,block=8,kind=attach,edges=5", 64},
    {"blocks:in=1280,block=8,kind=attach,edges=5", 33},
    {"blocks:in=640,block=16,kind=attach,edges=4", 63},
    {"blocks:in=640,block=16,kind=attach,edges=4", 128},
    {"blocks:in=1280,block=32,kind=attach,edges=5", 8},
    {"blocks:in=1280,block=32,kind=attach,edges=5", 1},
    {"blocks:in=768,block=64,kind=attach,edges=2", 64},
    {"blocks:in=96,out=320,block=8,density=0.3", 256},
    {"blocks:in=320,out=640,block=32,density=0.05", 72},
    {"blocks:in=160,out=320,block=32,density=0.3", 130},
    {"blocks:in=640,out=96,block=16,density=0.07,seed=2", 65},
    {"blocks:in=1600,out=16,block=8,density=1", 40},
    {"blocks:in=32,out=6400,block=32,density=1", 16},
    {"blocks:in=64,out=256,block=64,density=1", 130},
    {"blocks:in=32,block=32,density=1", 64},
    {"blocks:in=160,out=96,block=16,density=0", 64},
    {UNEVEN, 64},
};
enum { NUM_PROBLEMS = sizeof PROBLEMS / sizeof PROBLEMS[0], TURNS = 4 };

static enum status make_layout(const char *spec, csr_matrix *A, error_text *error)
{
    char source[256];
    if (spec == UNEVEN) return make_uneven_blocks(A, error);
    return generate(spec, A, source, sizeof source, error);
}

bool multiplies_blocks(const contender *c)
{
    const char *first = c->operation->knobs[0].name;
    return first && !strcmp(first, "BLOCK");
}

static bool evaluate(workbench *w, const contender *c, const int *tuning, char *text, size_t bytes)
{
    outcome out;
    char setting[128], knobs[96];
    workbench_evaluate(w, c, tuning, &out);
    if (out.status == STATUS_OK || (c->unsuited && c->unsuited(w->problem))) return true;
    tuning_text(c, tuning, setting, sizeof setting);
    problem_knobs_text(w->problem, knobs, sizeof knobs);
    snprintf(text, bytes, "N=%d %s %s: %s", w->problem->width, knobs, setting, out.message);
    return false;
}

/* The contender's choice, and on `all` each of its settings. */
static bool try_settings(workbench *w, const contender *c, bool all, char *text, size_t bytes)
{
    int tuning[MAX_TUNABLES];
    if (!all) {
        c->operation->choose(c, w->problem, tuning);
        return evaluate(w, c, tuning, text, bytes);
    }
    bool good = true;
    tuning_first(c, &CHECK_ONLY, tuning);
    do
        good = evaluate(w, c, tuning, text, bytes);
    while (good && tuning_next(c, &CHECK_ONLY, tuning));
    return good;
}

/* One problem with the choices of that number, but for BLOCK, which is the layout's. */
static bool try_problem(const contender *c, const device_info *device, const csr_matrix *A, int N,
                        uint64_t number, bool all, char *text, size_t bytes)
{
    error_text error;
    workbench w;
    problem p = {
        .operation = c->operation, .A = A, .width = N, .seed = 1, .precision = c->precision};
    problem_turn_knobs(&p, number);
    enum status status = row_stats_compute(A, &p.stats, &error);
    if (status == STATUS_OK) status = p.operation->create(&p, &error);
    if (status == STATUS_OK) status = workbench_create(&w, &CHECK_ONLY, device, &p, &error);
    bool good = status == STATUS_OK;
    if (good) {
        good = try_settings(&w, c, all, text, bytes);
        workbench_destroy(&w);
    } else {
        snprintf(text, bytes, "%.400s", error.text);
    }
    p.operation->destroy(&p);
    return good;
}

const char *blocks_failure(const contender *c, const device_info *device, bool sweep)
{
    static char text[700];
    char why[500] = "";
    for (int i = 0; i < NUM_PROBLEMS && !*why; i++) {
        csr_matrix A = {0};
        error_text error;
        if (PROBLEMS[i].spec == UNEVEN && c->operation != &bsmm_operation) continue;
        if (make_layout(PROBLEMS[i].spec, &A, &error) != STATUS_OK)
            snprintf(why, sizeof why, "%.400s", error.text);
        /* Four choices follow each other where there are no more; of more, four that others have not. */
        const uint64_t sides = (uint64_t)c->operation->knobs[0].num_values;
        for (uint64_t t = 0; t < TURNS && !*why; t++)
            try_problem(c, device, &A, PROBLEMS[i].N, sides * (t + TURNS * 5 * (uint64_t)i),
                        sweep && t == (uint64_t)i % TURNS, why, sizeof why);
        csr_free(&A);
        if (*why) snprintf(text, sizeof text, "%s %s", PROBLEMS[i].spec, why);
    }
    return *why ? text : NULL;
}
