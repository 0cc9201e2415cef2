/*
 * bsmm_update.c - gradients of block-sparse weights: dense times dense, at the blocks.
 */
#include "ops/bsmm_update.h"

#include "device/facts.h"
#include "matrix/memory.h"
#include "matrix/random.h"
#include "ops/bsmm_problem.h"
#include "ops/rounding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inputs come in this order; without U the gates move up. */
enum { X_DENSE, DY_DENSE, NUM_DENSE };

typedef struct update_problem {
    block_layout layout;
    int block, pairs;
    double alpha, beta;
    enum bsmm_update_gates gates;
    numbers X, dY;
    numbers U, gate; /* no floats: there is none */
} update_problem;

static void destroy(problem *p)
{
    update_problem *own = p->own;
    if (!own) return;
    block_layout_free(&own->layout);
    numbers_free(&own->X);
    numbers_free(&own->dY);
    numbers_free(&own->U);
    numbers_free(&own->gate);
    free(own);
    p->own = NULL;
}

/* Knobs hold hundredths, of which 0 must be the initial one. */
static float alpha_of(const problem *p)
{
    return (float)problem_knob(p, UPDATE_KNOB_ALPHA) / 100;
}
static float beta_of(const problem *p)
{
    return (float)problem_knob(p, UPDATE_KNOB_BETA) / 100;
}

/* ---- making ---------------------------------------------------------------------------------- */

static enum status allocate(problem *p, error_text *error)
{
    update_problem *own = p->own;
    const size_t B = own->block, tokens = (size_t)own->pairs * p->width;
    const size_t weights = (size_t)own->layout.blocks * B * B;
    const size_t x = own->layout.rows * B * tokens, y = own->layout.cols * B * tokens;
    error_text reason;
    const enum status status =
        memory_check(numbers_bytes(p->precision, x + y + weights), "the problem", &reason);
    if (status != STATUS_OK)
        return fail(error, status, "%s; try a smaller N or fewer PAIRS", reason.text);
    const bool made = numbers_alloc(&own->X, p->precision, x) &&
                      numbers_alloc(&own->dY, p->precision, y) &&
                      (own->beta == 0 || numbers_alloc(&own->U, p->precision, weights)) &&
                      (own->gates == BSMM_UPDATE_UNGATED ||
                       numbers_alloc(&own->gate, PRECISION_FP32, own->layout.blocks));
    return made ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for features and weights");
}

/* Fills one side's features. Those of lines without an open block hold NaN. */
static bool fill_side(const problem *p, numbers *n, bool columns, int most, int stream)
{
    const update_problem *own = p->own;
    const block_layout *l = &own->layout;
    uint8_t *used = bsmm_mark_lines(l, columns, own->gate.floats);
    if (used)
        bsmm_features_fill(n, own->pairs, columns ? l->cols : l->rows, own->block, p->width, used,
                           most, random_substream(p->seed, stream));
    free(used);
    return used != NULL;
}

/* Sums of whole numbers have one more term where U is added, and halves where alpha or beta is -0.5: those are exact, too,
 * as long as twice the sum is. */
static enum status fill(problem *p, error_text *error)
{
    update_problem *own = p->own;
    const double terms = 4 * ((double)own->pairs * p->width + 1);
    const int most = p->whole ? rounding_whole_limit(p->precision, terms, 2) : 0;
    if (p->whole && !most)
        return fail(error, STATUS_SKIPPED, "sums of %.0f products have no exact result", terms);
    if (own->gate.floats) bsmm_gates_fill(&own->gate, p, &own->layout);
    bool made = fill_side(p, &own->X, false, most, X_DENSE);
    made = made && fill_side(p, &own->dY, true, most, DY_DENSE);
    if (made && own->U.floats)
        made = bsmm_weights_fill(&own->U, &own->layout, own->block, NULL, most,
                                 random_substream(p->seed, NUM_DENSE));
    if (!made) return fail(error, STATUS_MEMORY, "no memory to mark features");
    numbers_round(&own->X);
    numbers_round(&own->dY);
    if (own->U.floats) numbers_round(&own->U);
    return STATUS_OK;
}

/* A row of the output is a block. */
static void describe(problem *p)
{
    const update_problem *own = p->own;
    int n = 0;
    p->inputs[n++] = numbers_operand(&own->X, "X");
    p->inputs[n++] = numbers_operand(&own->dY, "dY");
    if (own->U.floats) p->inputs[n++] = numbers_operand(&own->U, "U");
    if (own->gate.floats) p->inputs[n++] = numbers_operand(&own->gate, "gate");
    p->num_inputs = n;
    p->outputs[0] = (output){.name = "dW",
                             .precision = p->precision,
                             .rows = own->layout.blocks,
                             .cols = (int64_t)own->block * own->block};
    p->num_outputs = 1;
}

static enum status create(problem *p, error_text *error)
{
    update_problem *own = p->own = calloc(1, sizeof *own);
    if (!own) return fail(error, STATUS_MEMORY, "no memory");
    enum status status = bsmm_layout_create(p, UPDATE_KNOB_BLOCK, &own->layout, &own->block, error);
    own->pairs = problem_knob(p, UPDATE_KNOB_PAIRS);
    own->alpha = alpha_of(p);
    own->beta = beta_of(p);
    own->gates = (enum bsmm_update_gates)problem_knob(p, UPDATE_KNOB_GATES);
    if (status == STATUS_OK) status = allocate(p, error);
    if (status == STATUS_OK) status = fill(p, error);
    if (status == STATUS_OK)
        describe(p);
    else
        destroy(p);
    return status;
}

/* ---- the gradient and its bound -------------------------------------------------------------- */

/* Mistakes that a wrong element is looked at for. */
enum mistake {
    NONE,
    TRANSPOSED_BLOCK,
    FIRST_PAIR_ALONE,
    BETA_PER_PAIR,
    SQUARED_GATE,
    NUM_MISTAKES
};

/* Adds the products of all pairs and tokens of element (i, j) of block b to sums' element `at`. */
WIDE_INLINE void add_element(const problem *p, int b, int i, int j, enum mistake mistake,
                             bsmm_sums *s, int64_t at)
{
    const update_problem *own = p->own;
    const block_layout *l = &own->layout;
    const int64_t C = (int64_t)l->rows * own->block, K = (int64_t)l->cols * own->block;
    const int64_t N = p->width, pairs = mistake == FIRST_PAIR_ALONE ? 1 : own->pairs;
    const int64_t c = (int64_t)l->row[b] * own->block + (mistake == TRANSPOSED_BLOCK ? j : i);
    const int64_t k = (int64_t)l->col[b] * own->block + (mistake == TRANSPOSED_BLOCK ? i : j);
    const bool token_major = bsmm_token_major(p->precision);
    for (int64_t pair = 0; pair < pairs; pair++) {
        const float *X = own->X.floats + pair * C * N + (token_major ? c : c * N);
        const float *dY = own->dY.floats + pair * K * N + (token_major ? k : k * N);
        const product_sum one = token_major ? product_sum_dot(X, C, dY, K, N)
                                            : product_sum_dot(X, 1, dY, 1, N); /* known steps */
        bsmm_sums_add(s, at, &one);
    }
}

enum { ROWS = 8 }; /* of a block of 64: their sums, 16 KB, stay in the fastest memory */

/* Adds the products of all elements of block b, where features are token-major, in the order of memory. */
WIDE_INLINE void add_block(const problem *p, int b, bsmm_sums *s)
{
    const update_problem *own = p->own;
    const block_layout *l = &own->layout;
    const int B = own->block;
    const int64_t C = (int64_t)l->rows * B, K = (int64_t)l->cols * B,
                  N = (int64_t)p->width * own->pairs;
    for (int first = 0; first < B; first += ROWS)
        for (int64_t t = 0; t < N; t += BSMM_LINES) {
            const int tokens = N - t < BSMM_LINES ? (int)(N - t) : BSMM_LINES;
            const float *X = own->X.floats + t * C + (int64_t)l->row[b] * B;
            const float *dY = own->dY.floats + t * K + (int64_t)l->col[b] * B;
            for (int i = first; i < first + ROWS; i++) {
                double x[BSMM_LINES];
                for (int u = 0; u < tokens; u++)
                    x[u] = X[u * C + i];
                if (tokens == BSMM_LINES) /* the compiler sees how many */
                    bsmm_sums_add_lines(s, (int64_t)i * B, x, BSMM_LINES, dY, K, 1, B);
                else
                    bsmm_sums_add_lines(s, (int64_t)i * B, x, tokens, dY, K, 1, B);
            }
        }
}

/* The number that the sum of block b is multiplied by: 0 where the gate stops it. */
static double factor_of(const update_problem *own, int b, enum mistake mistake)
{
    const double gate = own->gate.floats ? own->gate.floats[b] : 1;
    if (gate == 0 || own->gates == BSMM_UPDATE_STOP) return gate == 0 ? 0 : own->alpha;
    return own->alpha * gate * (mistake == SQUARED_GATE ? gate : 1);
}

/* Returns what a kernel with that mistake stores of the sum `at`; without one, `off` is what a right one may be off before
 * that. */
static double element(const problem *p, int b, int i, int j, enum mistake mistake,
                      const bsmm_sums *s, int64_t at, double *off)
{
    const update_problem *own = p->own;
    const double n = (double)own->pairs * p->width, factor = factor_of(own, b, mistake);
    const size_t place = ((size_t)b * own->block + i) * own->block + j;
    const double old = own->U.floats ? own->beta * own->U.floats[place] : 0;
    *off = 0;
    if (factor == 0) return old;
    const product_sum sum = bsmm_sums_at(s, at, n);
    const double scaled = factor * s->result[at];
    /* The factor is alpha times a gate, rounded; the product with it is rounded, and so is the last sum. beta * U is a
     * product that is rounded, too. Where parts of the sum are added to it in turn, it is rounded with each but the last. */
    const double parts = fmin(fmax(n, 1), BSMM_UPDATE_MOST_PARTS);
    *off = fabs(factor) * rounding_bound(&sum) +
           ROUNDOFF * (2 * fabs(scaled) + parts * fabs(old) + fabs(scaled + old));
    return scaled + (mistake == BETA_PER_PAIR ? own->pairs : 1) * old;
}

WIDE_VECTORS
static void oracle(const problem *p, int output, int64_t row, double *reference, double *bound)
{
    (void)output; /* there is one */
    const update_problem *own = p->own;
    const int B = own->block;
    const bool stopped = factor_of(own, (int)row, NONE) == 0;
    bsmm_sums s;
    const bool made = bsmm_sums_alloc(&s, (int64_t)B * B);
    if (made && !stopped && bsmm_token_major(p->precision))
        add_block(p, (int)row, &s);
    else if (made && !stopped)
        for (int i = 0; i < B * B; i++)
            add_element(p, (int)row, i / B, i % B, NONE, &s, i);
    for (int i = 0; i < B * B; i++) {
        double off = 0;
        const double exact = made ? element(p, (int)row, i / B, i % B, NONE, &s, i, &off) : NAN;
        /* beta * U is a product that is rounded to fp32 before it is stored. */
        if (stopped) off = ROUNDOFF * fabs(exact);
        reference[i] = p->whole ? precision_round(p->precision, (float)exact) : exact;
        bound[i] =
            p->whole || (stopped && !own->U.floats) ? 0 : rounding_stored(p->precision, exact, off);
    }
    if (made) bsmm_sums_free(&s);
}

/* Products behind an element of a block. */
static int64_t row_length(const problem *p, int64_t row)
{
    const update_problem *own = p->own;
    return factor_of(own, (int)row, NONE) == 0 ? 0 : (int64_t)own->pairs * p->width;
}

static void explain(const problem *p, int output, int64_t row, int64_t place, double got,
                    char *text, size_t bytes)
{
    static const char *const SAYS[NUM_MISTAKES] = {
        NULL, "the block was taken transposed", "only the first pair was summed",
        "beta was applied for each pair", "the gate was multiplied in twice"};
    (void)output;
    const update_problem *own = p->own;
    const double near = 2 * precision_format(p->precision)->unit_roundoff + 0x1p-14;
    text[0] = 0;
    double would[NUM_MISTAKES], off;
    bsmm_sums s;
    if (!bsmm_sums_alloc(&s, NUM_MISTAKES)) return;
    for (int m = NONE; m < NUM_MISTAKES; m++) {
        const int i = (int)(place / own->block), j = (int)(place % own->block);
        if (factor_of(own, (int)row, (enum mistake)m) != 0)
            add_element(p, (int)row, i, j, (enum mistake)m, &s, m);
        would[m] = element(p, (int)row, i, j, (enum mistake)m, &s, m, &off);
    }
    /* A mistake that changes nothing here explains nothing. */
    for (int m = NONE + 1; m < NUM_MISTAKES && !text[0]; m++) {
        const double size = s.size[m] + fabs(would[m]);
        if (fabs(got - would[m]) <= near * size && fabs(would[NONE] - would[m]) > 1e-9 * size)
            snprintf(text, bytes, "%s", SAYS[m]);
    }
    bsmm_sums_free(&s);
}

/* ---- costs ----------------------------------------------------------------------------------- */

static double element_bytes(const problem *p)
{
    return (double)precision_format(p->precision)->bytes;
}

/* Bytes of `lines` blocks of features of all pairs. */
static double features_bytes(const problem *p, double lines)
{
    return lines * problem_knob(p, UPDATE_KNOB_BLOCK) * p->width *
           problem_knob(p, UPDATE_KNOB_PAIRS) * element_bytes(p);
}

static double weights_bytes(const problem *p, double blocks)
{
    const double B = problem_knob(p, UPDATE_KNOB_BLOCK);
    return blocks * B * B * element_bytes(p);
}

static double flops_of(const problem *p, double blocks)
{
    const double B = problem_knob(p, UPDATE_KNOB_BLOCK);
    return 2 * blocks * B * B * p->width * problem_knob(p, UPDATE_KNOB_PAIRS);
}

/* Compulsory: features that some block reads, the layout, the gradient, and U if it is added. Gather: each block fetches
 * both of its blocks of features for itself. */
static void cost(const problem *p, cost_model *model)
{
    const double blocks = (double)p->A->nnz, rows = (double)(p->A->rows - p->stats.empty_rows);
    const double cols = (double)p->used_columns, B = problem_knob(p, UPDATE_KNOB_BLOCK);
    const double weights = 8 * blocks + (beta_of(p) == 0 ? 1 : 2) * weights_bytes(p, blocks);
    const double piece = (bsmm_token_major(p->precision) ? B : p->width) * element_bytes(p);
    *model = (cost_model){
        .flops = flops_of(p, blocks),
        .compulsory_bytes = weights + features_bytes(p, rows + cols),
        .gathers = {{weights + features_bytes(p, 2 * blocks), piece,
                     features_bytes(p, rows + cols)}},
        .num_gathers = 1,
    };
}

/* Blocks that no gate stops, and the lines of features that they read. */
typedef struct open_counts {
    double blocks, rows, cols;
} open_counts;

static open_counts count_open(const update_problem *own)
{
    const block_layout *l = &own->layout;
    open_counts n = {0};
    uint8_t *rows = bsmm_mark_lines(l, false, own->gate.floats);
    uint8_t *cols = bsmm_mark_lines(l, true, own->gate.floats);
    for (int b = 0; b < l->blocks; b++)
        n.blocks += factor_of(own, b, NONE) != 0;
    for (int i = 0; rows && i < l->rows; i++)
        n.rows += rows[i];
    for (int i = 0; cols && i < l->cols; i++)
        n.cols += cols[i];
    free(rows);
    free(cols);
    return n;
}

/* ---- instances ------------------------------------------------------------------------------- */

/* A plan, the layout that it borrows, and the inputs. */
typedef struct update_instance {
    block_layout layout;
    bsmm_update_inputs in;
    bsmm_update_plan plan;
} update_instance;

static const bsmm_update_contender *of(const contender *c)
{
    return (const bsmm_update_contender *)c;
}

static void choose(const contender *c, const problem *p, int *tuning)
{
    contender_initial_tuning(c, tuning);
    if (of(c)->choose)
        of(c)->choose(&p->stats, problem_knob(p, UPDATE_KNOB_BLOCK),
                      (int64_t)p->width * problem_knob(p, UPDATE_KNOB_PAIRS), tuning);
}

/* A dense contender forms all of the gradient, from all features. */
static void least(const problem *p, const void *instance, least_work *l)
{
    const bsmm_update_contender *c = ((const update_instance *)instance)->plan.contender;
    const double all = (double)p->A->rows * (double)p->A->cols;
    open_counts n = count_open(p->own);
    if (c->base.dense) n = (open_counts){all, (double)p->A->rows, (double)p->A->cols};
    const double stored = c->base.dense ? all : ((const update_problem *)p->own)->layout.blocks;
    *l = (least_work){
        .read_bytes = (c->base.dense ? 0 : 8 * n.blocks) + features_bytes(p, n.rows + n.cols) +
                      (beta_of(p) == 0 ? 0 : weights_bytes(p, stored)),
        .write_bytes = weights_bytes(p, stored),
        .flops = flops_of(p, n.blocks),
        .unit = c->base.unit,
    };
}

/* Features that an open block reads; all gates; U. */
static int64_t needs(const problem *p, int input, bool handed)
{
    const open_counts n = count_open(p->own);
    (void)handed;
    if (input == X_DENSE) return (int64_t)features_bytes(p, n.rows);
    if (input == DY_DENSE) return (int64_t)features_bytes(p, n.cols);
    return (int64_t)p->inputs[input].bytes;
}

static void rebind(void *instance, void *const *d_inputs)
{
    update_instance *self = instance;
    const bool added = self->plan.beta != 0;
    self->in = (bsmm_update_inputs){
        .X = d_inputs[X_DENSE],
        .dY = d_inputs[DY_DENSE],
        .U = added ? d_inputs[NUM_DENSE] : NULL,
        .gate = self->plan.gates == BSMM_UPDATE_UNGATED ? NULL : d_inputs[NUM_DENSE + added]};
}

static cudaError_t prepare_plan(const contender *c, update_instance *self)
{
    if (c->min_compute_capability > device_facts_get()->compute_capability)
        return cudaErrorNotSupported;
    return of(c)->prepare ? of(c)->prepare(&self->plan) : cudaSuccess;
}

static cudaError_t prepare(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance)
{
    update_instance *self = calloc(1, sizeof *self);
    if (!self) return cudaErrorMemoryAllocation;
    if (block_layout_make(p->A, &self->layout, NULL) != STATUS_OK) {
        free(self);
        return cudaErrorMemoryAllocation;
    }
    self->plan = (bsmm_update_plan){
        .layout = &self->layout,
        .block = problem_knob(p, UPDATE_KNOB_BLOCK),
        .N = p->width,
        .pairs = problem_knob(p, UPDATE_KNOB_PAIRS),
        .alpha = alpha_of(p),
        .beta = beta_of(p),
        .gates = (enum bsmm_update_gates)problem_knob(p, UPDATE_KNOB_GATES),
        .contender = of(c),
    };
    rebind(self, d_inputs);
    const size_t tuning_bytes = contender_num_tunables(c) * sizeof *tuning;
    memcpy(self->plan.tuning, tuning, tuning_bytes);
    const cudaError_t error = prepare_plan(c, self);
    if (error != cudaSuccess) {
        block_layout_free(&self->layout);
        free(self);
        return error;
    }
    memcpy(tuning, self->plan.tuning, tuning_bytes);
    *instance = self;
    return cudaSuccess;
}

static cudaError_t run(void *instance, void *const *d_outputs, cudaStream_t stream)
{
    const update_instance *self = instance;
    return self->plan.contender->run(&self->plan, &self->in, d_outputs[0], stream);
}

static void release(void *instance)
{
    update_instance *self = instance;
    if (self->plan.contender->release) self->plan.contender->release(&self->plan);
    block_layout_free(&self->layout);
    free(self);
}

static size_t workspace_bytes(const void *instance)
{
    const bsmm_update_plan *plan = &((const update_instance *)instance)->plan;
    return plan->contender->workspace_bytes ? plan->contender->workspace_bytes(plan) : 0;
}

const operation bsmm_update_operation = {
    .name = "bsmm_update",
    .width = "N",
    .width_meaning = "columns of the minibatch: tokens",
    .usual_width = 64,
    .knobs = {[UPDATE_KNOB_BLOCK] = BSMM_BLOCK_KNOB,
              [UPDATE_KNOB_PAIRS] = {.name = "PAIRS",
                                     .meaning = "minibatches that the gradient sums over",
                                     .values = {1, 2, 3, 4, 5, 6, 7, 8},
                                     .num_values = 8,
                                     .initial = 1},
              [UPDATE_KNOB_GATES] = {.name = "GATES",
                                     .meaning = "a number for each block: none, multiplied in, or "
                                                "only 0 counts",
                                     .values = {BSMM_UPDATE_UNGATED, BSMM_UPDATE_APPLY,
                                                BSMM_UPDATE_STOP},
                                     .num_values = 3,
                                     .names = (const char *const[]){"none", "apply", "stop"}},
              [UPDATE_KNOB_ALPHA] = {.name = "ALPHA",
                                     .meaning = "what multiplies the sum",
                                     .values = {100, -50},
                                     .num_values = 2,
                                     .initial = 100,
                                     .names = (const char *const[]){"1", "-0.5"}},
              [UPDATE_KNOB_BETA] = {.name = "BETA",
                                    .meaning = "what multiplies the gradient that was there",
                                    .values = {0, 100, -50},
                                    .num_values = 3,
                                    .names = (const char *const[]){"0", "1", "-0.5"}}},
    .exact_in_whole_numbers = true,
    .create = create,
    .destroy = destroy,
    .oracle = oracle,
    .row_length = row_length,
    .explain = explain,
    .cost = cost,
    .least = least,
    .needs = needs,
    .choose = choose,
    .prepare = prepare,
    .rebind = rebind,
    .run = run,
    .release = release,
    .workspace_bytes = workspace_bytes,
};
OPERATION_REGISTER(bsmm_update_operation)
