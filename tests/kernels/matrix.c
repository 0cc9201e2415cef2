/*
 * matrix.c - the kernel matrix: every lab, with every setting of its tunables, on every awkward
 * shape at every awkward width, judged by the harness's own checks. One TAP test per lab and shape.
 *
 * A setting of the tunables is tried at three widths, the lab's own choice at all of them, on the largest
 * matrix at fewer; in bf16 both at fewer, where fp16 has them. A lab may have many settings. Then those are
 * tried that differ from its choice in one tunable, on each shape at one of the three widths, in turn.
 *
 *     matrix [LAB] [quick|all] [K/N]      that lab alone; fewer widths and settings, or all settings; of the shapes
 *                                         every N-th, from number K on
 */
#include "blocks.h"
#include "epilogue.h"
#include "harness/provenance.h"
#include "harness/tuning.h"
#include "harness/workbench.h"
#include "matrix/generate.h"
#include "matrix/random.h"
#include "matrix/shapes.h"
#include "ops/sddmm.h"
#include "ops/spmm.h"
#include "panels.h"
#include "prescale.h"
#include "ranges.h"
#include "tensor_core.h"
#include "tests/tap.h"
#include "two_plans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Contenders of these tests have numbers from here on, above all labs: a lab's kernel in other circumstances. */
enum {
    FIRST_VARIANT = 100,
    ORDERED_16 = 98 /* one of them that is tried like a lab, row_order_16.c */
};

static const int WIDTHS[] = {1, 2, 3, 7, 8, 31, 32, 33, 64, 100, 128, 130, 256};
/* Vectors of 8 numbers and fewer fit the first, of 1 the second, of 2 and 1 the last; none is a multiple of
 * the tiles. */
static const int SWEPT_WIDTHS[] = {136, 33, 66};
/* Takes some shapes at fewer widths, for they take as long as all others: those of every row length and of rows of thousands
 * have more nonzeros than LARGE; those of several huge rows, and of a huge first or last one, more cells than LARGE_CELLS, all of
 * which kernels on dense tiles multiply. They leave out what others have: a second width of a kind, and settings at other widths
 * than one, a multiple of 8. Those of many cells alone have several tiles of columns at the last width. */
enum { LARGE = 50000, LARGE_CELLS = 70000, SWEPT_OF_LARGE = 40 };
static const int WIDTHS_OF_LARGE[] = {1, 2, 7, 8, 33, 130};
/* Widths of the quick matrix, which tries the choice of each lab alone: one column, a vector and a half, whole vectors. */
static const int QUICK_WIDTHS[] = {1, 33, 64};
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const options CHECK_ONLY = {.check = true, .bench = false, .seed = 1};

/* Contenders that this program has room for: labs in every precision, and those of the tests. */
enum { MOST_TESTED = 256 };

static bool is_quick(int width)
{
    for (int i = 0; i < COUNT(QUICK_WIDTHS); i++)
        if (width == QUICK_WIDTHS[i]) return true;
    return false;
}

/* The first failure of a lab on a shape: where and why. */
typedef struct failure {
    bool any;
    char text[500];
} failure;

/* A right result is not all: a run of a lab's plan only launches, and new values are no reason to prepare it anew. */
static void look_at_the_host(const contender *c, outcome *out)
{
    if (c->lab >= FIRST_VARIANT || c->lab == ORDERED_16) return;
    if (out->host_calls)
        snprintf(out->message, sizeof out->message,
                 "run makes %ld calls of the runtime that are no launch", out->host_calls);
    if (out->prepared_anew)
        snprintf(out->message, sizeof out->message, "new values: the plan is prepared anew");
    if (*out->message) out->status = STATUS_RUNTIME;
}

static void evaluate(workbench *w, const contender *c, const int *tuning, failure *f)
{
    outcome out;
    char setting[128], knobs[96];
    if (f->any) return;
    workbench_evaluate(w, c, tuning, &out);
    if (out.status == STATUS_OK) look_at_the_host(c, &out);
    if (out.status == STATUS_OK) return;
    if (c->unsuited && c->unsuited(w->problem)) return; /* it refuses, and nothing was run */
    f->any = true;
    tuning_text(c, tuning, setting, sizeof setting);
    problem_knobs_text(w->problem, knobs, sizeof knobs);
    snprintf(f->text, sizeof f->text, "%s=%d %s%s%s: %s", w->problem->operation->width,
             w->problem->width, knobs, *knobs ? " " : "", setting, out.message);
}

/* The lab's own choice; at the widths of the quick matrix, with every way its prepare can work. */
static void evaluate_choice(workbench *w, const contender *c, failure *f)
{
    int tuning[MAX_TUNABLES];
    c->operation->choose(c, w->problem, tuning);
    evaluate(w, c, tuning, f);
    for (int i = 0; i < contender_num_tunables(c) && is_quick(w->problem->width); i++) {
        const tunable *t = &c->tunables[i];
        const int chosen = tuning[i];
        for (int k = 0; t->prepare_only && k < t->num_values; k++) {
            tuning[i] = t->values[k];
            if (tuning[i] != chosen) evaluate(w, c, tuning, f);
        }
        tuning[i] = chosen;
    }
}

/* Takes the settings as prepare makes them; an error leaves them alone, and the evaluation will say why. */
static void settle(workbench *w, const contender *c, int *tuning)
{
    void *d_inputs[MAX_OPERANDS], *instance;
    for (int i = 0; i < w->problem->num_inputs; i++)
        d_inputs[i] = w->input[i].data;
    if (c->operation->prepare(c, w->problem, d_inputs, tuning, &instance) == cudaSuccess)
        c->operation->release(instance);
}

/* Whether prepare takes the setting as it is. What it replaces by another of the sweep would only
 * try that one again. */
static bool is_taken(workbench *w, const contender *c, const int *tuning)
{
    int settled[MAX_TUNABLES];
    const size_t bytes = contender_num_tunables(c) * sizeof *settled;
    memcpy(settled, tuning, bytes);
    settle(w, c, settled);
    return !memcmp(settled, tuning, bytes);
}

static bool all_settings, quick;

/* A lab with more settings than these is not swept over all of them, nor at all widths on one shape. */
enum { MANY_SETTINGS = 12 };

static int num_settings(const contender *c)
{
    int product = 1;
    for (int i = 0; i < contender_num_tunables(c); i++)
        product *= c->tunables[i].num_values;
    return product;
}

static void evaluate_if_taken(workbench *w, const contender *c, const int *tuning, failure *f)
{
    if (is_taken(w, c, tuning)) evaluate(w, c, tuning, f);
}

static void evaluate_sweep(workbench *w, const contender *c, failure *f)
{
    int tuning[MAX_TUNABLES];
    if (all_settings || num_settings(c) <= MANY_SETTINGS) {
        tuning_first(c, &CHECK_ONLY, tuning);
        do
            evaluate_if_taken(w, c, tuning, f);
        while (tuning_next(c, &CHECK_ONLY, tuning));
        return;
    }
    c->operation->choose(c, w->problem, tuning);
    settle(w, c, tuning); /* a choice may leave something for prepare to find out */
    evaluate(w, c, tuning, f);
    for (int i = 0; i < contender_num_tunables(c); i++) {
        const tunable *t = &c->tunables[i];
        const int chosen = tuning[i];
        for (int k = 0; k < t->num_values; k++) {
            tuning[i] = t->values[k];
            if (tuning[i] != chosen) evaluate_if_taken(w, c, tuning, f);
        }
        tuning[i] = chosen;
    }
}

static int only_lab; /* 0: all */
static int shard = 1, shards = 1;

/* In a student's tree: the lab, or that whose kernel a variant runs, is not written, and nobody asks for it. */
static bool is_a_stub(const contender *c)
{
    const bool is_variant = c->lab >= FIRST_VARIANT || c->lab == ORDERED_16;
    return c->lab && !only_lab && provenance_unwritten(is_variant ? c->after : c->lab);
}

static bool is_tested(const contender *c)
{
    return c->lab && (!only_lab || c->lab == only_lab) && !is_a_stub(c);
}

/* Whether the lab has the same in fp16: one template, whose loads are as wide. What only bf16 has, its conversions and
 * instructions, shows at any width. */
static bool is_twin(const contender *c)
{
    if (c->precision != PRECISION_BF16) return false;
    for (const contender *d = contenders(); d; d = d->next)
        if (d->lab == c->lab && d->operation == c->operation && d->precision == PRECISION_FP16)
            return true;
    return false;
}

/* Number of the shape under test. */
static int shape_number;

/* Whether the shape's turn is another width. */
static bool is_swept_elsewhere(const contender *c, int N)
{
    if (all_settings || num_settings(c) <= MANY_SETTINGS) return false;
    return N != SWEPT_OF_LARGE && N != SWEPT_WIDTHS[shape_number % COUNT(SWEPT_WIDTHS)];
}

/* One column and the even ones of the swept widths are enough for variants: between them they have all
 * vectors. Twins are tried at the widths of the quick matrix, and swept at those that whole vectors fill. */
static bool is_tried(const contender *c, int N, bool sweep)
{
    const bool is_variant = c->lab >= FIRST_VARIANT;
    if (sweep && is_swept_elsewhere(c, N)) return false;
    if (is_variant) return sweep ? N % 2 == 0 : N == 1;
    return !is_twin(c) || (sweep ? N % 8 == 0 : is_quick(N));
}

/* Problems so far: each gets other knobs, where its operation has any. */
static uint64_t turn;

/* An operation of heads repeats on each problem what it does for one, and one of blocks has side * side numbers for a
 * nonzero: of their problems one in so many is tried, and the largest are left out. */
enum { ONE_IN = 10, MOST_WORK = 300000 };

static bool is_left_out(const problem *p, uint64_t number)
{
    const operation *op = p->operation;
    if (!op->most_width && !op->knobs[0].name) return false;
    const int first = op->knobs[0].name ? problem_knob(p, 0) : 1;
    const bool is_side = op->knobs[0].name && !strcmp(op->knobs[0].name, "BLOCK");
    const int each = is_side ? first * first / 8 : first;
    return number % ONE_IN || p->A->nnz * p->width * each > MOST_WORK;
}

/* All labs of one operation and precision on one matrix at one width; failures[i] is of the i-th lab. An operation with
 * a largest width is swept at smaller ones. */
static void evaluate_precision(const csr_matrix *A, const device_info *device, const operation *op,
                               int width, bool sweep, enum precision precision, failure *failures)
{
    const int most = op->most_width, asked = width;
    if (most && width > most) {
        if (!sweep) return;
        width = (width - 1) % most + 1;
    }
    error_text error;
    workbench w;
    problem p = {.operation = op, .A = A, .width = width, .seed = 1, .precision = precision};
    const uint64_t number = random_bits(1, turn++);
    problem_turn_knobs(&p, number / ONE_IN);
    if (is_left_out(&p, number)) return;
    row_stats_compute(A, &p.stats, &error);
    enum status status = p.operation->create(&p, &error);
    if (status == STATUS_OK) status = workbench_create(&w, &CHECK_ONLY, device, &p, &error);
    int i = 0;
    for (const contender *c = contenders(); c; c = c->next) {
        if (!is_tested(c)) continue;
        failure *f = &failures[i++];
        if (c->operation != op || c->precision != precision || !is_tried(c, asked, sweep)) continue;
        if (status != STATUS_OK) {
            f->any = true;
            snprintf(f->text, sizeof f->text, "%s=%d: %.400s", op->width, width, error.text);
        } else if (sweep) {
            evaluate_sweep(&w, c, f);
        } else {
            evaluate_choice(&w, c, f);
        }
    }
    if (status == STATUS_OK) workbench_destroy(&w);
    p.operation->destroy(&p);
}

/* Whether an earlier contender that is tested has the operation and precision of c, too. */
static bool is_repetition(const contender *c)
{
    for (const contender *d = contenders(); d != c; d = d->next)
        if (is_tested(d) && d->operation == c->operation && d->precision == c->precision)
            return true;
    return false;
}

static void evaluate_labs(const csr_matrix *A, const device_info *device, int width, bool sweep,
                          failure *failures)
{
    for (const contender *c = contenders(); c; c = c->next)
        if (is_tested(c) && !is_repetition(c))
            evaluate_precision(A, device, c->operation, width, sweep, c->precision, failures);
}

static void test_shape(const shape *s, const device_info *device)
{
    static failure failures[MOST_TESTED];
    csr_matrix A = {0};
    error_text error;
    if (s->make(&A, &error) != STATUS_OK) {
        tap_ok(false, "%s: %s", s->name, error.text);
        return;
    }
    memset(failures, 0, sizeof failures);
    const bool is_large = A.nnz > LARGE || (int64_t)A.rows * A.cols > LARGE_CELLS;
    if (A.nnz > LARGE && quick) {
        tap_skip("too large for the quick matrix", "%s", s->name);
        csr_free(&A);
        return;
    }
    const int *widths = quick ? QUICK_WIDTHS : is_large ? WIDTHS_OF_LARGE : WIDTHS;
    const int num_widths = quick      ? COUNT(QUICK_WIDTHS)
                           : is_large ? COUNT(WIDTHS_OF_LARGE) - (A.nnz > LARGE)
                                      : COUNT(WIDTHS);
    for (int i = 0; i < num_widths; i++)
        evaluate_labs(&A, device, widths[i], false, failures);
    if (is_large) evaluate_labs(&A, device, SWEPT_OF_LARGE, true, failures);
    for (int i = 0; i < COUNT(SWEPT_WIDTHS) && !is_large && !quick; i++)
        evaluate_labs(&A, device, SWEPT_WIDTHS[i], true, failures);
    csr_free(&A);
    int i = 0;
    for (const contender *c = contenders(); c; c = c->next) {
        if (is_a_stub(c)) tap_skip("not written yet", "lab%d %s: %s", c->lab, c->name, s->name);
        if (!is_tested(c)) continue;
        const failure *f = &failures[i++];
        tap_ok(!f->any, "lab%d %s: %s%s%s", c->lab, c->name, s->name, f->any ? ": " : "", f->text);
    }
}

/* Whether it makes dense fragments of A, for tensor cores: products of SpMM that are tried on more. */
static bool multiplies_zeros(const contender *c)
{
    static const char *const NAMES[] = {"bitmap", "lane_major", "tiled_csl", "two_four"};
    bool does = false;
    for (int i = 0; i < COUNT(NAMES); i++)
        does |= contender_find(c->operation, NAMES[i], c->precision) == c;
    return does;
}

static void test_tensor_core(const contender *c, const device_info *device)
{
    const char *wrong = weights_failure(c, device);
    tap_ok(!wrong, "lab%d %s: weights of any sparsity%s%s", c->lab, c->name, wrong ? ": " : "",
           wrong ? wrong : "");
    wrong = extremes_failure(c, device);
    tap_ok(!wrong, "lab%d %s: NaN, infinities and overflow stay in their columns%s%s", c->lab,
           c->name, wrong ? ": " : "", wrong ? wrong : "");
}

static void test_ranges(const contender *c, const device_info *device)
{
    const char *wrong = ranges_failure(c, device);
    tap_ok(!wrong, "lab%d %s: ranges of rows, one after the other%s%s", c->lab, c->name,
           wrong ? ": " : "", wrong ? wrong : "");
}

static void test_two_plans(const contender *c, const device_info *device)
{
    const char *wrong = two_plans_failure(c, device);
    tap_ok(!wrong, "lab%d %s: a plan runs when one for a smaller matrix has been prepared%s%s",
           c->lab, c->name, wrong ? ": " : "", wrong ? wrong : "");
}

/* A tensor core cuts its sums, so that errors of long ones add up: over the width in SDDMM, over the nonzeros of a row
 * in the others. */
static void test_long_sums(const contender *c, const device_info *device)
{
    const bool is_over_width = c->operation == &sddmm_operation;
    char spec[64], spelled[400];
    csr_matrix A = {0};
    error_text error;
    workbench w;
    problem p = {.operation = c->operation,
                 .A = &A,
                 .width = is_over_width ? 2048 : 32,
                 .seed = 1,
                 .precision = c->precision};
    snprintf(spec, sizeof spec, "weights:rows=40,cols=%d,sparsity=0.5", is_over_width ? 128 : 4096);
    failure f = {.any = true};
    snprintf(f.text, sizeof f.text, "%s cannot be made", spec);
    if (generate(spec, &A, spelled, sizeof spelled, &error) == STATUS_OK &&
        row_stats_compute(&A, &p.stats, &error) == STATUS_OK &&
        p.operation->create(&p, &error) == STATUS_OK) {
        if (workbench_create(&w, &CHECK_ONLY, device, &p, &error) == STATUS_OK) {
            f = (failure){0};
            evaluate_sweep(&w, c, &f);
            workbench_destroy(&w);
        }
        p.operation->destroy(&p);
    }
    csr_free(&A);
    tap_ok(!f.any, "lab%d %s: long sums, not cut too often%s%s", c->lab, c->name, f.any ? ": " : "",
           f.text);
}

static void test_blocks(const contender *c, const device_info *device)
{
    const char *wrong = blocks_failure(c, device, !is_twin(c));
    tap_ok(!wrong, "lab%d %s: layouts of blocks%s%s", c->lab, c->name, wrong ? ": " : "",
           wrong ? wrong : "");
}

static void test_epilogue(const contender *c, const device_info *device)
{
    const char *wrong = epilogue_failure(c, device);
    tap_ok(!wrong, "lab%d %s: a bias and a ReLU behind the product%s%s", c->lab, c->name,
           wrong ? ": " : "", wrong ? wrong : "");
}

/* The check of that is checked. */
static void test_epilogue_mutants(const device_info *device)
{
    for (int i = 0; i < EPILOGUE_MUTANTS.count; i++) {
        const contender *c = &EPILOGUE_MUTANTS.first[i].base;
        const char *wrong = epilogue_failure(c, device);
        tap_ok(i ? wrong != NULL : !wrong, "epilogue %s %s: %s", c->name, i ? "fails" : "passes",
               wrong ? wrong : "PASS");
    }
}

static void test_panels(const contender *c, const device_info *device)
{
    const char *wrong = panels_failure(c, device);
    tap_ok(!wrong, "lab%d %s: panels of rows%s%s", c->lab, c->name, wrong ? ": " : "",
           wrong ? wrong : "");
    wrong = panels_rule_failure(c, device);
    tap_ok(!wrong, "lab%d %s: panels where rows share columns%s%s", c->lab, c->name,
           wrong ? ": " : "", wrong ? wrong : "");
}

static void test_prescale(const contender *c)
{
    const int G = 1 << 30; /* so many floats are 4 GiB */
    tap_ok(prescale_stays_on(c, 1, 1) && prescale_stays_on(c, G / 32, 32) &&
               prescale_stays_on(c, 1 << 15, 1 << 15),
           "lab%d %s: offsets into a B of up to 4 GiB are scaled", c->lab, c->name);
    tap_ok(!prescale_stays_on(c, G / 32 + 1, 32) && !prescale_stays_on(c, 1 << 15, (1 << 15) + 1) &&
               !prescale_stays_on(c, INT32_MAX, INT32_MAX),
           "lab%d %s: and not into a larger one", c->lab, c->name);
}

/* ---- the ladder ------------------------------------------------------------------------------ */

/* The first lab of an operation has no parent; each other one grows out of an earlier lab of the same
 * operation, in all of its precisions. */
static void test_parent(const contender *c)
{
    bool is_first = true, is_there = false;
    for (const contender *d = contenders(); d; d = d->next) {
        if (!d->lab || d->operation != c->operation) continue;
        is_first &= d->lab >= c->lab;
        is_there |= d->lab == c->after && d->lab < c->lab;
    }
    const bool agree = c->after == lab_parent(c->operation->name, c->lab);
    tap_ok(agree && (is_first ? !c->after : is_there),
           "lab%d %s: grows out of an earlier lab of its operation, or is the first: %d", c->lab,
           c->name, c->after);
}

/* ---- the same bits every time ---------------------------------------------------------------- */

/* Contenders that add up in one order, whichever block comes last: by name, in every precision. */
static const struct {
    const char *name;
    int setting[MAX_TUNABLES];
    const char *shape;
} REPEATED[] = {
    {"bitmap", {0}, "one huge row"}, /* a row of three splits */
    {"bitmap", {3}, "one huge row"},
    {"tiled_csl", {0}, "one huge row"},
    {"tiled_csl", {3}, "one huge row"},
    {"two_four", {0}, "one huge row"},
    {"two_four", {3}, "one huge row"},
    {"length_bins", {32, 64, 16, 0, 1, 0}, "one huge row"},
    {"b_tiles", {32, 512, 4, 0}, "huge first row"}, /* two tiles */
    {"b_tiles", {8, 384, 2, 0}, "huge first row"},  /* three */
    {"column_blocks",
     {64, 64, 0, 0, 0, 4, 1, 0},
     "huge first row"}, /* long segments in every block */
    {"overlapped_blocks", {64, 64, 0, 0, 0, 4, 1, 0}, "huge first row"},
    {"lane_major", {2, 0, 2}, "one huge row"},
    {"lane_major", {3, 0, 4}, "one huge row"},
    {"lane_major", {4, 1, 1}, "one huge row"},
    {"row_fragments", {32, 32, 1}, "one huge row"},
    {"row_fragments", {32, 16, 4}, "huge first row"}, /* a panel of twelve chunks, or six */
    {"sddmm_balanced", {1, 32, 1}, "one huge row"},
    {"sddmm_balanced", {2, 8, 6}, "huge first row"}, /* its columns ascend: six blocks */
    {"sddmm_tiles", {768}, "huge first row"},
    {"sddmm_tensor_core", {64, 0}, "one huge row"}, /* elements named again */
    {"sddmm_tensor_core", {128, 1}, "one huge row"},
    {"fused_attention", {8, 1, 8, 64, 256, 0, 1}, "one huge row"}, /* segments; */
    {"fused_attention", {8, 1, 8, 64, 256, 1, 4}, "one huge row"}, /* a panel */
    {"fused_attention_backward", {1, 8, 64, 256, 0}, "one huge row"},
    {"sparse_softmax", {2, 32}, "one huge row"}, /* a block merges its warps */
    {"attention", {0, 1}, "one huge row"},       /* a row of all groups of a block */
    {"transposed_spmm", {0, 1}, "one column"},   /* of a column; */
    {"transposed_spmm", {0, 4}, "one column"},   /* lab 7 reads values where they are; */
    {"transposed_spmm", {0, 6}, "one column"},   /* it goes to a format */
    {"block_lut", {0, 0}, "everything at once"}, /* outputs of several segments */
    {"block_lut", {0, 1}, "everything at once"},
    {"block_lut", {0, 3}, "everything at once"}, /* pieces */
    {"block_tensor_core", {64, 4}, "everything at once"},
    {"gradients_tensor_core", {4, 0}, "everything at once"}, /* four pieces of each square */
    {"gradients_tensor_core", {4, 1}, "everything at once"}, /* by warpgroups */
    {"block_gradients", {4, 0}, "empty rows"},               /* four parts of each block */
    {"block_importance", {4}, "everything at once"},         /* four pieces of each tile */
};

/* Three runs of one plan, and one of a second plan, must agree to the bit. */
static void repeat(workbench *w, const contender *c, const int *asked, failure *f)
{
    const size_t bytes = w->output[0].bytes; /* of the first output */
    unsigned char *first = malloc(bytes + 1), *again = malloc(bytes + 1);
    void *d_inputs[MAX_OPERANDS], *d_outputs[MAX_OUTPUTS], *instance;
    for (int i = 0; i < w->problem->num_inputs; i++)
        d_inputs[i] = w->input[i].data;
    workbench_outputs(w, d_outputs);
    f->any = !first || !again;
    for (int plan = 0; plan < 2 && !f->any; plan++) {
        int tuning[MAX_TUNABLES];
        memcpy(tuning, asked, sizeof tuning);
        if (c->operation->prepare(c, w->problem, d_inputs, tuning, &instance) != cudaSuccess) {
            f->any = true;
            break;
        }
        for (int run = 0; run < (plan ? 1 : 3) && !f->any; run++) {
            unsigned char *to = plan || run ? again : first;
            workbench_poison(w);
            f->any =
                c->operation->run(instance, d_outputs, 0) != cudaSuccess ||
                cudaMemcpy(to, w->output[0].data, bytes, cudaMemcpyDeviceToHost) != cudaSuccess ||
                (to == again && memcmp(first, again, bytes));
            if (f->any) snprintf(f->text, sizeof f->text, "plan %d, run %d", plan, run);
        }
        c->operation->release(instance);
    }
    free(first);
    free(again);
}

static void test_repeated(const contender *c, const device_info *device, const csr_matrix *A,
                          const int *setting)
{
    char text[128];
    error_text error;
    workbench w;
    const int most = c->operation->most_width;
    problem p = {.operation = c->operation,
                 .A = A,
                 .width = most ? most : 64,
                 .seed = 1,
                 .precision = c->precision};
    failure f = {.any = true};
    if (row_stats_compute(A, &p.stats, &error) == STATUS_OK &&
        p.operation->create(&p, &error) == STATUS_OK) {
        if (c->unsuited && c->unsuited(&p)) { /* it refuses: nothing to repeat */
            p.operation->destroy(&p);
            return;
        }
        if (workbench_create(&w, &CHECK_ONLY, device, &p, &error) == STATUS_OK) {
            repeat(&w, c, setting, &f);
            workbench_destroy(&w);
        }
        p.operation->destroy(&p);
    }
    tuning_text(c, setting, text, sizeof text);
    tap_ok(!f.any, "lab%d %s: the same bits in every run, %s%s%s", c->lab, c->name, text,
           f.any ? ": " : "", f.text);
}

static void test_repeats(const device_info *device)
{
    for (int i = 0; i < COUNT(REPEATED); i++) {
        const shape *s = SHAPES;
        error_text error;
        csr_matrix A = {0};
        while (strcmp(s->name, REPEATED[i].shape))
            s++;
        const bool made = s->make(&A, &error) == STATUS_OK;
        if (!made) tap_ok(false, "%s: %s", s->name, error.text);
        bool tried = false;
        for (const contender *c = contenders(); made && c; c = c->next)
            if (contender_find(c->operation, REPEATED[i].name, c->precision) == c) {
                tried = true;
                if (!is_tested(c)) continue;
                test_repeated(c, device, &A, REPEATED[i].setting);
            }
        if (made && !tried) tap_ok(false, "%s: no such contender", REPEATED[i].name);
        csr_free(&A);
    }
}

/* "2/3" */
static bool take_shard(const char *text)
{
    int k, n;
    if (sscanf(text, "%d/%d", &k, &n) != 2 || k < 1 || k > n) return false;
    shard = k;
    shards = n;
    return true;
}

/* Tests all that no shape of the list does. */
static void test_the_rest(const device_info *device)
{
    for (const contender *c = contenders(); c; c = c->next)
        if (is_tested(c) && prescale_tunable(c) >= 0) test_prescale(c);
    for (const contender *c = contenders(); c; c = c->next)
        if (is_tested(c) && has_panels(c)) test_panels(c, device);
    for (const contender *c = contenders(); c; c = c->next)
        if (is_tested(c) && multiplies_zeros(c)) test_tensor_core(c, device);
    for (const contender *c = contenders(); c; c = c->next)
        if (is_tested(c) && c->operation == &spmm_operation && c->lab < FIRST_VARIANT)
            test_ranges(c, device);
    for (const contender *c = contenders(); c; c = c->next)
        if (is_tested(c) && c->unit == UNIT_TENSOR_CORES && !multiplies_blocks(c))
            test_long_sums(c, device);
    for (const contender *c = contenders(); c; c = c->next)
        if (is_tested(c) && multiplies_blocks(c)) test_blocks(c, device);
    for (const contender *c = contenders(); c; c = c->next)
        if (is_tested(c) && c->lab < FIRST_VARIANT) test_parent(c);
    for (const contender *c = contenders(); c; c = c->next)
        if (is_tested(c) && c->operation->takes_epilogue && c->lab < FIRST_VARIANT)
            test_epilogue(c, device);
    if (!only_lab) test_epilogue_mutants(device);
    for (const contender *c = contenders(); c; c = c->next)
        if (is_tested(c) && !multiplies_blocks(c) && c->lab < FIRST_VARIANT)
            test_two_plans(c, device);
    test_repeats(device);
}

int main(int argc, char **argv)
{
    device_info device;
    error_text error;
    for (int i = 1; i < argc; i++) {
        const bool all = strcmp(argv[i], "all") == 0;
        if (take_shard(argv[i])) continue;
        if (strcmp(argv[i], "quick") == 0) {
            quick = true;
            continue;
        }
        if (!all && (only_lab || strchr(argv[i], '/') || atoi(argv[i]) <= 0)) {
            /* not the last of several labs alone */
            fprintf(stderr, "usage: matrix [LAB] [quick|all] [K/N]\n");
            return STATUS_USAGE;
        }
        if (all)
            all_settings = true;
        else
            only_lab = atoi(argv[i]);
    }
    if (device_open(0, &device, &error) != STATUS_OK) {
        fprintf(stderr, "matrix: %s\n", error.text);
        return STATUS_SKIPPED;
    }
    for (shape_number = shard - 1; shape_number < NUM_SHAPES; shape_number += shards)
        test_shape(&SHAPES[shape_number], &device);
    if (shard == shards && !quick)
        test_the_rest(&device);
    else if (shard > NUM_SHAPES)
        tap_skip("there are more shares than shapes", "share %d of %d", shard, shards);
    return tap_done();
}
