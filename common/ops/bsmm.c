/*
 * bsmm.c - products with block-sparse weights in both directions.
 */
#include "ops/bsmm.h"

#include "device/facts.h"
#include "matrix/memory.h"
#include "matrix/random.h"
#include "ops/bsmm_problem.h"
#include "ops/rounding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHTS, FEATURES, GATES, NUM_INPUTS };

/* Arrays of a problem. Without gates `gate` has no floats. */
typedef struct bsmm_problem {
    block_layout layout;
    int block;
    bool transposed;
    int ins, outs; /* blocks of features */
    numbers W, in, gate;
} bsmm_problem;

static void destroy(problem *p)
{
    bsmm_problem *own = p->own;
    if (!own) return;
    block_layout_free(&own->layout);
    numbers_free(&own->W);
    numbers_free(&own->in);
    numbers_free(&own->gate);
    free(own);
    p->own = NULL;
}

/* ---- making ---------------------------------------------------------------------------------- */

static size_t weights_of(const bsmm_problem *own)
{
    return (size_t)own->layout.blocks * own->block * own->block;
}

static enum status allocate(problem *p, error_text *error)
{
    bsmm_problem *own = p->own;
    const size_t features = (size_t)own->ins * own->block * p->width;
    const bool gated = problem_knob(p, BSMM_KNOB_GATES);
    error_text reason;
    const enum status status = memory_check(numbers_bytes(p->precision, weights_of(own)) +
                                                numbers_bytes(p->precision, features),
                                            "the problem", &reason);
    if (status != STATUS_OK) return fail(error, status, "%s; try a smaller N", reason.text);
    const bool made = numbers_alloc(&own->W, p->precision, weights_of(own)) &&
                      numbers_alloc(&own->in, p->precision, features) &&
                      (!gated || numbers_alloc(&own->gate, PRECISION_FP32, own->layout.blocks));
    return made ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for weights and features");
}

/* The most blocks that an output feature sums over. */
static int longest_sum(const bsmm_problem *own)
{
    const block_layout *l = &own->layout;
    const int *ptr = own->transposed ? l->row_ptr : l->col_ptr;
    int most = 0;
    for (int o = 0; o < own->outs; o++)
        if (ptr[o + 1] - ptr[o] > most) most = ptr[o + 1] - ptr[o];
    return most;
}

static enum status fill(problem *p, error_text *error)
{
    bsmm_problem *own = p->own;
    const float *gate = own->gate.floats;
    const double terms = (double)longest_sum(own) * own->block * (gate ? 2 : 1);
    const int most = p->whole ? rounding_whole_limit(p->precision, terms, 2) : 0;
    if (p->whole && !most)
        return fail(error, STATUS_SKIPPED, "sums of %.0f products have no exact result", terms);
    if (gate) bsmm_gates_fill(&own->gate, p, &own->layout);
    uint8_t *used = bsmm_mark_lines(&own->layout, own->transposed, gate);
    const bool made = used && bsmm_weights_fill(&own->W, &own->layout, own->block, gate, most,
                                                random_substream(p->seed, WEIGHTS));
    if (made)
        bsmm_features_fill(&own->in, 1, own->ins, own->block, p->width, used, most,
                           random_substream(p->seed, FEATURES));
    free(used);
    if (!made) return fail(error, STATUS_MEMORY, "no memory to mark features");
    numbers_round(&own->W);
    numbers_round(&own->in);
    return STATUS_OK;
}

static void describe(problem *p)
{
    const bsmm_problem *own = p->own;
    const int64_t features = (int64_t)own->outs * own->block;
    const bool token_major = bsmm_token_major(p->precision);
    p->inputs[WEIGHTS] = numbers_operand(&own->W, "W");
    p->inputs[FEATURES] = numbers_operand(&own->in, own->transposed ? "dY" : "X");
    if (own->gate.floats) p->inputs[GATES] = numbers_operand(&own->gate, "gate");
    p->num_inputs = own->gate.floats ? NUM_INPUTS : GATES;
    p->outputs[0] = (output){.name = own->transposed ? "dX" : "Y",
                             .precision = p->precision,
                             .rows = token_major ? p->width : features,
                             .cols = token_major ? features : p->width};
    p->num_outputs = 1;
}

static enum status create(problem *p, error_text *error)
{
    bsmm_problem *own = p->own = calloc(1, sizeof *own);
    if (!own) return fail(error, STATUS_MEMORY, "no memory");
    enum status status = bsmm_layout_create(p, BSMM_KNOB_BLOCK, &own->layout, &own->block, error);
    if (status == STATUS_OK) {
        own->transposed = problem_knob(p, BSMM_KNOB_PASS) == BSMM_BPROP;
        own->ins = own->transposed ? own->layout.cols : own->layout.rows;
        own->outs = own->transposed ? own->layout.rows : own->layout.cols;
        status = allocate(p, error);
    }
    if (status == STATUS_OK) status = fill(p, error);
    if (status == STATUS_OK)
        describe(p);
    else
        destroy(p);
    return status;
}

/* ---- the product and its bound --------------------------------------------------------------- */

/* Mistakes that a wrong element is looked at for. */
enum mistake { NONE, TRANSPOSED_BLOCKS, NO_GATES, SQUARED_GATES, NUM_MISTAKES };

/* The number that block b is multiplied by. */
static double gate_of(const bsmm_problem *own, int b, enum mistake mistake)
{
    const double gate = own->gate.floats ? own->gate.floats[b] : 1;
    return mistake == NO_GATES && gate != 0 ? 1 : mistake == SQUARED_GATES ? gate * gate : gate;
}

/* The weight that joins feature i of the input block with feature o of the output block. */
static double weight(const bsmm_problem *own, int b, int i, int o, enum mistake mistake)
{
    const bool by_rows = own->transposed != (mistake == TRANSPOSED_BLOCKS);
    const float *W = own->W.floats + (size_t)b * own->block * own->block;
    return by_rows ? W[o * own->block + i] : W[i * own->block + o];
}

/* The blocks of an output: their numbers, and how many. */
static const int *blocks_of(const bsmm_problem *own, int out, int *count)
{
    const block_layout *l = &own->layout;
    const int *ptr = own->transposed ? l->row_ptr : l->col_ptr;
    *count = ptr[out + 1] - ptr[out];
    return (own->transposed ? l->of_row : l->of_col) + ptr[out];
}

static int input_of(const bsmm_problem *own, int b)
{
    return own->transposed ? own->layout.col[b] : own->layout.row[b];
}

/* Adds the products behind feature o of output `out`, for tokens first .. end - 1, to sums from `at` on. Returns how many
 * there are of a token. */
WIDE_INLINE double add_feature(const problem *p, int out, int o, int64_t first, int64_t end,
                               bsmm_sums *s, int64_t at, enum mistake mistake)
{
    const bsmm_problem *own = p->own;
    const int B = own->block;
    const bool token_major = bsmm_token_major(p->precision);
    const int64_t step = token_major ? (int64_t)own->ins * B : 1; /* from token to token */
    const int64_t pitch = token_major ? 1 : p->width;             /* from feature to feature */
    int count;
    const int *b = blocks_of(own, out, &count);
    double n = 0;
    for (int j = 0; j < count; j++) {
        const double gate = gate_of(own, b[j], mistake);
        const float *in = own->in.floats + (int64_t)input_of(own, b[j]) * B * pitch;
        if (gate == 0) continue;
        n += B;
        for (int i = 0; i < B; i += BSMM_LINES) {
            double w[BSMM_LINES];
            for (int u = 0; u < BSMM_LINES; u++)
                w[u] = gate * weight(own, b[j], i + u, o, mistake);
            const float *x = in + i * pitch + first * step;
            if (token_major) /* the compiler sees a step of 1 */
                bsmm_sums_add_lines(s, at, w, BSMM_LINES, x, pitch, step, end - first);
            else
                bsmm_sums_add_lines(s, at, w, BSMM_LINES, x, pitch, 1, end - first);
        }
    }
    return n;
}

/* Adds the products of `count` tokens behind all features of output `out` to sums from 0 on: those of the second token
 * behind those of the first. A line of weights is read once for all of them. Returns how many there are of a feature. */
WIDE_INLINE double add_tokens(const problem *p, int out, int64_t token, int count, bsmm_sums *s)
{
    const bsmm_problem *own = p->own;
    const int B = own->block;
    const int64_t length = (int64_t)own->ins * B; /* of a token */
    int blocks;
    const int *b = blocks_of(own, out, &blocks);
    double n = 0;
    for (int j = 0; j < blocks; j++) {
        const double gate = gate_of(own, b[j], NONE);
        const float *W = own->W.floats + (size_t)b[j] * B * B;
        const float *in = own->in.floats + token * length + (int64_t)input_of(own, b[j]) * B;
        if (gate == 0) continue;
        n += B;
        for (int i = 0; i < B; i += BSMM_LINES)
            for (int t = 0; t < count; t++) {
                const int64_t at = (int64_t)t * B;
                double x[BSMM_LINES];
                for (int u = 0; u < BSMM_LINES; u++)
                    x[u] = gate * in[t * length + i + u];
                if (own->transposed)
                    bsmm_sums_add_lines(s, at, x, BSMM_LINES, W + i, 1, B, B);
                else
                    bsmm_sums_add_lines(s, at, x, BSMM_LINES, W + i * B, B, 1, B);
            }
    }
    return n;
}

static void store(const problem *p, const bsmm_sums *s, int64_t at, double n, double *reference,
                  double *bound)
{
    const product_sum sum = bsmm_sums_at(s, at, n);
    *reference = product_sum_value(&sum, p);
    *bound = product_sum_bound(&sum, p);
}

/* Products have two roundings where there are gates, which the bound's 4 covers. The factor that is drawn for each product
 * by itself is that of X. A row is a feature, of all tokens, or a token's features. */
WIDE_VECTORS
static void oracle_rows(const problem *p, int output, int64_t first, int count, double *reference,
                        double *bound)
{
    (void)output; /* there is one */
    const bsmm_problem *own = p->own;
    const int B = own->block;
    const bool token_major = bsmm_token_major(p->precision);
    const int64_t length = output_length(&p->outputs[0], first);
    bsmm_sums s;
    const bool made = bsmm_sums_alloc(&s, token_major ? (int64_t)count * B : length);
    for (int64_t i = 0; !made && i < count * length; i++) {
        reference[i] = NAN; /* nothing unchecked passes */
        bound[i] = 0;
    }
    for (int r = 0; made && !token_major && r < count; r++) {
        bsmm_sums_clear(&s);
        const int64_t row = first + r;
        const double n = add_feature(p, (int)(row / B), (int)(row % B), 0, length, &s, 0, NONE);
        for (int64_t i = 0; i < length; i++)
            store(p, &s, i, n, &reference[r * length + i], &bound[r * length + i]);
    }
    for (int out = 0; made && token_major && out < own->outs; out++) {
        bsmm_sums_clear(&s);
        const double n = add_tokens(p, out, first, count, &s);
        for (int64_t i = 0; i < (int64_t)count * B; i++) {
            const int64_t at = i / B * length + (int64_t)out * B + i % B;
            store(p, &s, i, n, &reference[at], &bound[at]);
        }
    }
    if (made) bsmm_sums_free(&s);
}

static void oracle(const problem *p, int output, int64_t row, double *reference, double *bound)
{
    oracle_rows(p, output, row, 1, reference, bound);
}

/* Products behind an element, closed blocks' too; of a token's row those of all its features. */
static int64_t row_length(const problem *p, int64_t row)
{
    const bsmm_problem *own = p->own;
    int count = own->layout.blocks;
    if (!bsmm_token_major(p->precision)) blocks_of(own, (int)(row / own->block), &count);
    return (int64_t)count * own->block;
}

/* Products behind an element: those of its feature's open blocks. */
static int64_t products(const problem *p, int output, int64_t row, int64_t place)
{
    (void)output;
    const bsmm_problem *own = p->own;
    const int64_t feature = bsmm_token_major(p->precision) ? place : row;
    int count, open = 0;
    const int *b = blocks_of(own, (int)(feature / own->block), &count);
    for (int j = 0; j < count; j++)
        open += gate_of(own, b[j], NONE) != 0;
    return (int64_t)open * own->block;
}

static void explain(const problem *p, int output, int64_t row, int64_t place, double got,
                    char *text, size_t bytes)
{
    static const char *const SAYS[NUM_MISTAKES] = {NULL, "blocks were taken transposed",
                                                   "gates were not multiplied in",
                                                   "gates were multiplied in twice"};
    (void)output;
    const bsmm_problem *own = p->own;
    const bool token_major = bsmm_token_major(p->precision);
    const int64_t feature = token_major ? place : row, token = token_major ? row : place;
    const double near = 2 * precision_format(p->precision)->unit_roundoff + 0x1p-14;
    text[0] = 0;
    bsmm_sums s;
    if (!bsmm_sums_alloc(&s, NUM_MISTAKES)) return;
    for (int m = NONE; m < NUM_MISTAKES; m++)
        add_feature(p, (int)(feature / own->block), (int)(feature % own->block), token, token + 1,
                    &s, m, (enum mistake)m);
    /* A mistake that changes nothing here explains nothing. */
    for (int m = NONE + 1; m < NUM_MISTAKES && !text[0]; m++)
        if (fabs(got - s.result[m]) <= near * s.size[m] &&
            fabs(s.result[NONE] - s.result[m]) > 1e-9 * s.size[m])
            snprintf(text, bytes, "%s", SAYS[m]);
    bsmm_sums_free(&s);
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* Counted from A, since nothing is made of a problem that does not fit. */
typedef struct counts {
    double blocks, used,
        outs;            /* blocks of W, of features that they read, of features that come out */
    double block, bytes; /* side of a block, bytes of a number */
} counts;

static counts counts_of(const problem *p)
{
    const bool transposed = problem_knob(p, BSMM_KNOB_PASS) == BSMM_BPROP;
    const double used_rows = (double)(p->A->rows - p->stats.empty_rows);
    return (counts){.blocks = (double)p->A->nnz,
                    .used = transposed ? (double)p->used_columns : used_rows,
                    .outs = (double)(transposed ? p->A->rows : p->A->cols),
                    .block = problem_knob(p, BSMM_KNOB_BLOCK),
                    .bytes = (double)precision_format(p->precision)->bytes};
}

static double features_bytes(const problem *p, const counts *c, double blocks)
{
    return blocks * c->block * p->width * c->bytes;
}

static double weights_bytes(const counts *c)
{
    return c->blocks * c->block * c->block * c->bytes;
}

/* Compulsory: W and the layout, two ints a block; features that some block reads; the result. Gather: each block fetches
 * its B features of all tokens for itself. */
static void cost(const problem *p, cost_model *model)
{
    const counts c = counts_of(p);
    const double stored = weights_bytes(&c) + 8 * c.blocks, out = features_bytes(p, &c, c.outs);
    const double piece = (bsmm_token_major(p->precision) ? c.block : p->width) * c.bytes;
    *model = (cost_model){
        .flops = 2 * c.blocks * c.block * c.block * p->width,
        .compulsory_bytes = stored + features_bytes(p, &c, c.used) + out,
        .gathers = {{stored + features_bytes(p, &c, c.blocks) + out, piece,
                     features_bytes(p, &c, c.used)}},
        .num_gathers = 1,
    };
}

/* ---- instances ------------------------------------------------------------------------------- */

/* A plan, the layout that it borrows, and the inputs. */
typedef struct bsmm_instance {
    block_layout layout;
    bsmm_inputs in;
    bsmm_plan plan;
    cudaError_t rebound; /* a rebind that failed fails the run */
} bsmm_instance;

static const bsmm_contender *of(const contender *c)
{
    return (const bsmm_contender *)c;
}

static void choose(const contender *c, const problem *p, int *tuning)
{
    contender_initial_tuning(c, tuning);
    if (of(c)->choose) of(c)->choose(&p->stats, problem_knob(p, BSMM_KNOB_BLOCK), p->width, tuning);
}

/* Blocks with a gate other than 0, and blocks of features that they read. False: no memory to count them. */
static bool count_open(const bsmm_problem *own, int64_t *open, int64_t *lines)
{
    const float *gate = own->gate.floats;
    uint8_t *used = bsmm_mark_lines(&own->layout, own->transposed, gate);
    *open = *lines = 0;
    for (int b = 0; b < own->layout.blocks; b++)
        *open += !gate || gate[b] != 0;
    for (int i = 0; used && i < own->ins; i++)
        *lines += used[i];
    free(used);
    return used != NULL;
}

/* A dense contender reads and multiplies zeros as well. */
static void least(const problem *p, const void *instance, least_work *l)
{
    const bsmm_plan *plan = &((const bsmm_instance *)instance)->plan;
    const bsmm_contender *c = plan->contender;
    int64_t open, lines;
    counts n = counts_of(p);
    count_open(p->own, &open, &lines);
    n.blocks = c->base.dense ? (double)p->A->rows * (double)p->A->cols : (double)open;
    n.used = c->base.dense ? bsmm_ins(plan) : (double)lines;
    const double stored = c->format_bytes ? (double)c->format_bytes(plan)
                          : c->base.dense ? 0
                                          : 8 * n.blocks;
    *l = (least_work){
        .read_bytes = stored + weights_bytes(&n) + features_bytes(p, &n, n.used),
        .write_bytes = features_bytes(p, &n, n.outs),
        .flops = 2 * n.blocks * n.block * n.block * p->width,
        .unit = c->base.unit,
    };
}

/* Weights and features behind a gate other than 0. */
static int64_t needs(const problem *p, int input, bool handed)
{
    const bsmm_problem *own = p->own;
    const int64_t element = (int64_t)p->inputs[input].element;
    int64_t open, lines;
    (void)handed;
    if (!count_open(own, &open, &lines)) return 0;
    if (input == GATES) return element * own->layout.blocks;
    return element * own->block * (input == WEIGHTS ? open * own->block : lines * p->width);
}

static void rebind(void *instance, void *const *d_inputs)
{
    bsmm_instance *self = instance;
    const bsmm_contender *c = self->plan.contender;
    self->in = (bsmm_inputs){.W = d_inputs[WEIGHTS],
                             .in = d_inputs[FEATURES],
                             .gate = self->plan.gated ? d_inputs[GATES] : NULL};
    self->rebound = c->rebind ? c->rebind(&self->plan, &self->in) : cudaSuccess;
}

static void release(void *instance)
{
    bsmm_instance *self = instance;
    if (self->plan.contender->release) self->plan.contender->release(&self->plan);
    block_layout_free(&self->layout);
    free(self);
}

static cudaError_t prepare(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance)
{
    bsmm_instance *self = calloc(1, sizeof *self);
    if (!self) return cudaErrorMemoryAllocation;
    if (block_layout_make(p->A, &self->layout, NULL) != STATUS_OK) {
        free(self);
        return cudaErrorMemoryAllocation;
    }
    self->plan = (bsmm_plan){
        .layout = &self->layout,
        .block = problem_knob(p, BSMM_KNOB_BLOCK),
        .N = p->width,
        .transposed = problem_knob(p, BSMM_KNOB_PASS) == BSMM_BPROP,
        .gated = problem_knob(p, BSMM_KNOB_GATES),
        .contender = of(c),
    };
    const size_t tuning_bytes = contender_num_tunables(c) * sizeof *tuning;
    memcpy(self->plan.tuning, tuning, tuning_bytes);
    cudaError_t error = c->min_compute_capability > device_facts_get()->compute_capability
                            ? cudaErrorNotSupported
                            : cudaSuccess;
    if (error == cudaSuccess && of(c)->prepare) error = of(c)->prepare(&self->plan);
    if (error != cudaSuccess) {
        block_layout_free(&self->layout);
        free(self);
        return error;
    }
    memcpy(tuning, self->plan.tuning, tuning_bytes);
    rebind(self, d_inputs);
    if (self->rebound != cudaSuccess) {
        error = self->rebound;
        release(self);
        return error;
    }
    *instance = self;
    return cudaSuccess;
}

/* The weights have changed at the same address. */
static cudaError_t update_values(void *instance)
{
    bsmm_instance *self = instance;
    const bsmm_contender *c = self->plan.contender;
    return c->rebind ? c->rebind(&self->plan, &self->in) : cudaSuccess;
}

static cudaError_t run(void *instance, void *const *d_outputs, cudaStream_t stream)
{
    const bsmm_instance *self = instance;
    if (self->rebound != cudaSuccess) return self->rebound;
    return self->plan.contender->run(&self->plan, &self->in, d_outputs[0], stream);
}

static size_t workspace_bytes(const void *instance)
{
    const bsmm_plan *plan = &((const bsmm_instance *)instance)->plan;
    return plan->contender->workspace_bytes ? plan->contender->workspace_bytes(plan) : 0;
}

const operation bsmm_operation = {
    .name = "bsmm",
    .width = "N",
    .width_meaning = "columns of the minibatch: tokens",
    .usual_width = 64,
    .knobs = {[BSMM_KNOB_BLOCK] = BSMM_BLOCK_KNOB,
              [BSMM_KNOB_PASS] = {.name = "PASS",
                                  .meaning = "forward, or the gradient by what went in",
                                  .values = {BSMM_FPROP, BSMM_BPROP},
                                  .num_values = 2,
                                  .names = (const char *const[]){"fprop", "bprop"}},
              [BSMM_KNOB_GATES] = {.name = "GATES",
                                   .meaning = "multiply each block by a number of its own",
                                   .values = {0, 1},
                                   .num_values = 2}},
    .exact_in_whole_numbers = true,
    .create = create,
    .destroy = destroy,
    .oracle = oracle,
    .oracle_rows = oracle_rows,
    .row_length = row_length,
    .products = products,
    .explain = explain,
    .cost = cost,
    .least = least,
    .needs = needs,
    .choose = choose,
    .prepare = prepare,
    .rebind = rebind,
    .update_values = update_values,
    .run = run,
    .release = release,
    .workspace_bytes = workspace_bytes,
};
OPERATION_REGISTER(bsmm_operation)
