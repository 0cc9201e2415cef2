#include "panels.h"

#include "harness/tuning.h"
#include "matrix/generate.h"
#include "matrix/shapes.h"
#include "ops/attention.h"

#include <string.h>

static const options CHECK_ONLY = {.check = true, .bench = false, .seed = 1};

/* Place of a tunable, or -1. */
static int tunable_of(const contender *c, const char *name)
{
    for (int i = 0; i < contender_num_tunables(c); i++)
        if (strcmp(c->tunables[i].name, name) == 0) return i;
    return -1;
}

bool has_panels(const contender *c)
{
    return c->operation == &attention_operation && tunable_of(c, "ROWS") >= 0;
}

static void set(const contender *c, const char *name, int value, int *tuning)
{
    const int at = tunable_of(c, name);
    if (at >= 0) tuning[at] = value;
}

/* Makes a problem of mode DOT without a bias on A. */
static enum status make_problem(const contender *c, const csr_matrix *A, int heads, int d,
                                problem *p, error_text *error)
{
    *p = (problem){
        .operation = c->operation, .A = A, .width = d, .seed = 1, .precision = c->precision};
    p->knobs[KNOB_HEADS] = heads;
    const enum status status = row_stats_compute(A, &p->stats, error);
    return status == STATUS_OK ? p->operation->create(p, error) : status;
}

/* Returns the ROWS that prepare makes of those in `tuning`, or -1. */
static int rows_taken(workbench *w, const contender *c, int *tuning)
{
    void *d_inputs[MAX_OPERANDS], *instance;
    for (int i = 0; i < w->problem->num_inputs; i++)
        d_inputs[i] = w->input[i].data;
    if (c->operation->prepare(c, w->problem, d_inputs, tuning, &instance) != cudaSuccess) return -1;
    c->operation->release(instance);
    return tuning[tunable_of(c, "ROWS")];
}

/* Panels of `rows` rows on A are right, and are taken. */
static void evaluate(const contender *c, const device_info *device, const csr_matrix *A,
                     const char *name, int heads, int d, int rows, char *text, size_t bytes)
{
    problem p;
    workbench w;
    error_text error;
    enum status status = make_problem(c, A, heads, d, &p, &error);
    if (status == STATUS_OK) status = workbench_create(&w, &CHECK_ONLY, device, &p, &error);
    if (status == STATUS_OK) {
        int tuning[MAX_TUNABLES], settled[MAX_TUNABLES];
        outcome out;
        c->operation->choose(c, &p, tuning);
        set(c, "ROWS", rows, tuning);
        memcpy(settled, tuning, sizeof settled);
        workbench_evaluate(&w, c, tuning, &out);
        if (out.status != STATUS_OK)
            snprintf(text, bytes, "%s, H=%d d=%d ROWS=%d: %s", name, heads, d, rows, out.message);
        else if (A->rows > 0 && rows_taken(&w, c, settled) != rows)
            snprintf(text, bytes, "%s, H=%d d=%d: ROWS=%d is not taken", name, heads, d, rows);
        workbench_destroy(&w);
    } else {
        snprintf(text, bytes, "%s, H=%d d=%d: %.300s", name, heads, d, error.text);
    }
    p.operation->destroy(&p);
}

/* Shapes of so many nonzeros are left out: what they have in rows, smaller ones have, too. */
enum { LARGE = 10000 };

const char *panels_failure(const contender *c, const device_info *device)
{
    /* Whole vectors in all precisions. A group has 4, 8, 16 and 32 lanes; of the last vectors some are missing. */
    static const int WIDTHS[] = {8, 40, 64, 136, 256}, HEADS[] = {1, 3, 4};
    static const char *const SPECS[] = {"mask:rows=61,band=9,share=0.2",
                                        "mask:rows=50,band=50", /* a triangle: all is shared */
                                        "rand:rows=43,cols=30,deg=12,skew=1"};
    static char text[500];
    int turn = 0;
    *text = 0;
    for (size_t i = 0; i < sizeof SPECS / sizeof SPECS[0] && !*text; i++) {
        csr_matrix A = {0};
        error_text error;
        char spelled[400];
        if (generate(SPECS[i], &A, spelled, sizeof spelled, &error) != STATUS_OK) return SPECS[i];
        for (int k = 0; k < 5 && !*text; k++, turn++)
            evaluate(c, device, &A, SPECS[i], HEADS[turn % 3], WIDTHS[k], turn % 2 ? 2 : 4, text,
                     sizeof text);
        csr_free(&A);
    }
    for (int i = 0; i < NUM_SHAPES && !*text; i++, turn++) {
        csr_matrix A = {0};
        error_text error;
        if (SHAPES[i].make(&A, &error) != STATUS_OK) return SHAPES[i].name;
        if (A.nnz < LARGE)
            evaluate(c, device, &A, SHAPES[i].name, HEADS[turn % 3], WIDTHS[turn % 5],
                     turn % 2 ? 2 : 4, text, sizeof text);
        csr_free(&A);
    }
    return *text ? text : NULL;
}

/* ROWS that the contender finds for 24 nonzeros a row and 8 heads of 8, or -1; a warp takes any such row. */
static int rows_found(const contender *c, const device_info *device, const char *spec)
{
    csr_matrix A = {0};
    problem p;
    workbench w;
    error_text error;
    char spelled[400];
    int found = -1;
    enum status status = generate(spec, &A, spelled, sizeof spelled, &error);
    if (status != STATUS_OK) return found;
    status = make_problem(c, &A, 8, 8, &p, &error);
    if (status == STATUS_OK) status = workbench_create(&w, &CHECK_ONLY, device, &p, &error);
    if (status == STATUS_OK) {
        int tuning[MAX_TUNABLES];
        c->operation->choose(c, &p, tuning);
        set(c, "SHORT", 16, tuning);
        set(c, "SIDE", 1, tuning);
        set(c, "ROWS", 0, tuning);
        found = rows_taken(&w, c, tuning);
        workbench_destroy(&w);
    }
    p.operation->destroy(&p);
    csr_free(&A);
    return found;
}

const char *panels_rule_failure(const contender *c, const device_info *device)
{
    static char text[160];
    const int of_band = rows_found(c, device, "mask:rows=2304,band=24,share=0");
    const int of_random = rows_found(c, device, "rand:rows=2304,deg=24");
    snprintf(text, sizeof text, "ROWS=%d for a band, %d for random columns", of_band, of_random);
    const int wanted = c->precision == PRECISION_FP32 ? 2 : 1;
    return of_band == wanted && of_random == 1 ? NULL : text;
}
