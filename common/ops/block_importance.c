/*
 * block_importance.c - the norms of blocks that exist, and the importance of all, from features reduced by blocks.
 */
#include "ops/block_importance.h"

#include "device/facts.h"
#include "matrix/memory.h"
#include "matrix/random.h"
#include "ops/bsmm_problem.h"
#include "ops/rounding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X_DENSE, DY_DENSE, W_DENSE, OLD_IMPORTANCE };
enum { IMPORTANCE_OUTPUT, NORM_OUTPUT, NUM_OUTPUTS };

/* The scales, by the knob's value, of which none may be 0. */
static const float SCALES[] = {0, 1, 0.5f, 0};

/* Every eighth line of X and of dY, and every eighth block of W, has a number that is not finite. */
enum { POISON_PERIOD = 8 };
static const int POISONED[] = {[X_DENSE] = 5, [DY_DENSE] = 2, [W_DENSE] = 3};

/* Features of one side, and R of them: [tokens of all pairs][lines], NaN where it is not finite. */
typedef struct feature_side {
    numbers x;
    int lines;
    double *reduced;
} feature_side;

typedef struct importance_problem {
    block_layout layout;
    int block;
    int64_t tokens; /* of all pairs */
    enum importance_norm norm;
    double scale;
    feature_side side[2]; /* X, dY */
    numbers W, old;       /* no floats in old: there is none */
} importance_problem;

static void destroy(problem *p)
{
    importance_problem *own = p->own;
    if (!own) return;
    block_layout_free(&own->layout);
    for (int i = X_DENSE; i <= DY_DENSE; i++) {
        numbers_free(&own->side[i].x);
        free(own->side[i].reduced);
    }
    numbers_free(&own->W);
    numbers_free(&own->old);
    free(own);
    p->own = NULL;
}

static float scale_of(const problem *p)
{
    return SCALES[problem_knob(p, IMPORTANCE_KNOB_SCALE)];
}

static bool adds_old(const problem *p)
{
    return problem_knob(p, IMPORTANCE_KNOB_BETA) != 0;
}

/* ---- groups: the numbers that one R is of --------------------------------------------------------- */

/* `count` numbers, a power of two from 8 on, `stride` apart. */
typedef struct group {
    float *x;
    int64_t stride;
    int count;
} group;

/* The features of a line at a token of all pairs. */
static group features_of(const problem *p, const feature_side *s, int64_t token, int line)
{
    const importance_problem *own = p->own;
    const int64_t B = own->block, N = p->width;
    if (bsmm_token_major(p->precision))
        return (group){s->x.own + (token * s->lines + line) * B, 1, (int)B};
    return (group){s->x.own + (token / N * s->lines + line) * B * N + token % N, N, (int)B};
}

static group block_of(const importance_problem *own, int64_t b)
{
    const int count = own->block * own->block;
    return (group){own->W.own + b * count, 1, count};
}

/* Numbers of one size, which differs from group to group, lest all R be alike. */
static void fill_group(group g, uint64_t stream, uint64_t number)
{
    const float size =
        ldexpf(1, -(int)random_below(random_substream(stream, 1), number, POISON_PERIOD));
    for (int i = 0; i < g.count; i++)
        g.x[i * g.stride] = size * random_symmetric(stream, number * g.count + i);
}

/* A few whole numbers of `most` at most, whose squares add up to a square: both norms are whole. */
static void fill_whole_group(group g, int most, uint64_t stream, uint64_t number)
{
    static const int8_t PATTERNS[][4] = {{0},          {1}, {1, 1, 1, 1}, {2, 2, 1},
                                         {4, 2, 2, 1}, {3}, {4, 3},       {6, 3, 2}};
    static const int LARGEST[] = {0, 1, 2, 3, 5, 3, 5, 7}; /* norms, which are no less than R */
    const uint64_t bits = random_bits(stream, number);
    int pattern = (int)(bits % 8);
    while (LARGEST[pattern] > most)
        pattern--;
    for (int i = 0; i < g.count; i++)
        g.x[i * g.stride] = 0;
    /* An odd step visits all places before one twice. */
    const int first = bits >> 8 & 0xffff, step = (bits >> 24 & 0xffff) | 1;
    for (int i = 0; i < 4; i++)
        g.x[(first + i * step) % g.count * g.stride] =
            (float)(bits >> (40 + i) & 1 ? -PATTERNS[pattern][i] : PATTERNS[pattern][i]);
}

/* One of the numbers becomes NaN or an infinity. */
static void poison_group(group g, uint64_t stream, uint64_t number)
{
    const uint64_t bits = random_bits(random_substream(stream, 2), number);
    g.x[(int)(bits % g.count) * g.stride] = bits >> 32 & 1   ? NAN
                                            : bits >> 33 & 1 ? INFINITY
                                                             : -INFINITY;
}

static bool is_poisoned(int input, int64_t line)
{
    return line % POISON_PERIOD == POISONED[input];
}

/* Mistakes that a wrong element is looked at for. */
enum mistake {
    NONE,
    OTHER_NORM,
    SIGNS_KEPT,
    FIRST_PAIR_ALONE,
    NOT_SCALED,
    OLD_LEFT_OUT,
    NUM_MISTAKES
};

/* R of the group; NaN: it is not finite. */
static double reduce(group g, enum importance_norm norm, enum mistake mistake)
{
    const bool is_max = (norm == IMPORTANCE_MAX) != (mistake == OTHER_NORM);
    double largest = 0, squares = 0;
    for (int i = 0; i < g.count; i++) {
        const double x = g.x[i * g.stride];
        if (!isfinite(x)) return NAN;
        largest = fmax(largest, mistake == SIGNS_KEPT ? x : fabs(x));
        squares += x * x;
    }
    return is_max ? largest : sqrt(squares);
}

/* How far R, in fp32, may be off before it is stored. The largest number is exact. The sum of squares is off by
 * (count + 4) u of itself, its root by half of that share, and by its own rounding; squares may underflow. */
static double reduce_off(double r, int count, enum importance_norm norm)
{
    if (norm == IMPORTANCE_MAX) return 0;
    return ROUNDOFF * ((count + 4) / 2. + 2) * r + sqrt(count * 0x1p-149);
}

/* The same of R as it is stored with the features' precision. */
static double stored_off(const problem *p, double r)
{
    const importance_problem *own = p->own;
    if (own->norm == IMPORTANCE_MAX) return 0;
    return rounding_stored(p->precision, r, reduce_off(r, own->block, own->norm));
}

/* ---- making ---------------------------------------------------------------------------------- */

static enum status allocate(problem *p, error_text *error)
{
    importance_problem *own = p->own;
    const size_t B = own->block, blocks = own->layout.blocks, tokens = (size_t)own->tokens;
    const size_t lines = (size_t)own->layout.rows + own->layout.cols;
    const size_t all = (size_t)own->layout.rows * own->layout.cols;
    error_text reason;
    const enum status status =
        memory_check(numbers_bytes(p->precision, lines * B * tokens + blocks * B * B) +
                         lines * tokens * sizeof(double) + numbers_bytes(PRECISION_FP32, 2 * all),
                     "the problem", &reason);
    if (status != STATUS_OK)
        return fail(error, status, "%s; try a smaller N or fewer PAIRS", reason.text);
    bool made = numbers_alloc(&own->W, p->precision, blocks * B * B);
    if (adds_old(p)) made = made && numbers_alloc(&own->old, PRECISION_FP32, all);
    for (int i = X_DENSE; made && i <= DY_DENSE; i++) {
        feature_side *s = &own->side[i];
        s->lines = i == X_DENSE ? own->layout.rows : own->layout.cols;
        s->reduced = malloc((s->lines * tokens + 1) * sizeof *s->reduced);
        made = s->reduced && numbers_alloc(&s->x, p->precision, s->lines * B * tokens);
    }
    return made ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for features and weights");
}

static void fill_side(const problem *p, int input, int most)
{
    importance_problem *own = p->own;
    feature_side *s = &own->side[input];
    const uint64_t stream = random_substream(p->seed, input);
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < own->tokens; t++)
        for (int line = 0; line < s->lines; line++) {
            const group g = features_of(p, s, t, line);
            const uint64_t number = (uint64_t)t * s->lines + line;
            if (p->whole)
                fill_whole_group(g, most, stream, number);
            else
                fill_group(g, stream, number);
        }
    for (int line = 0; own->tokens > 0 && line < s->lines; line++)
        if (is_poisoned(input, line))
            poison_group(features_of(p, s, (int64_t)random_below(stream, line, own->tokens), line),
                         stream, line);
    numbers_round(&s->x);
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < own->tokens; t++)
        for (int line = 0; line < s->lines; line++)
            s->reduced[t * s->lines + line] = reduce(features_of(p, s, t, line), own->norm, NONE);
}

static void fill_weights(const problem *p, int most)
{
    importance_problem *own = p->own;
    const uint64_t stream = random_substream(p->seed, W_DENSE);
#pragma omp parallel for schedule(static)
    for (int b = 0; b < own->layout.blocks; b++) {
        if (p->whole)
            fill_whole_group(block_of(own, b), most, stream, b);
        else
            fill_group(block_of(own, b), stream, b);
        if (is_poisoned(W_DENSE, b)) poison_group(block_of(own, b), stream, b);
    }
    numbers_round(&own->W);
}

/* Sums of whole numbers are halved where the scale is 0.5: those are exact, too, as long as twice the sum is. */
static enum status fill(problem *p, error_text *error)
{
    importance_problem *own = p->own;
    const double terms = 2 * ((double)own->tokens + 1);
    const int most = p->whole ? rounding_whole_limit(PRECISION_FP32, terms, 2) : 0;
    if (p->whole && !most)
        return fail(error, STATUS_SKIPPED, "sums of %.0f products have no exact result", terms);
    fill_side(p, X_DENSE, most);
    fill_side(p, DY_DENSE, most);
    fill_weights(p, most);
    for (size_t i = 0; i < own->old.count; i++)
        own->old.own[i] = input_number(most, random_substream(p->seed, OLD_IMPORTANCE), i);
    return STATUS_OK;
}

/* A row of the importance is a block row, a row of the norms a block. */
static void describe(problem *p)
{
    const importance_problem *own = p->own;
    const block_layout *l = &own->layout;
    p->inputs[X_DENSE] = numbers_operand(&own->side[X_DENSE].x, "X");
    p->inputs[DY_DENSE] = numbers_operand(&own->side[DY_DENSE].x, "dY");
    p->inputs[W_DENSE] = numbers_operand(&own->W, "W");
    p->num_inputs = OLD_IMPORTANCE;
    if (own->old.floats) p->inputs[p->num_inputs++] = numbers_operand(&own->old, "old");
    p->outputs[IMPORTANCE_OUTPUT] =
        (output){.name = "importance", .rows = l->rows, .cols = l->cols};
    p->outputs[NORM_OUTPUT] = (output){.name = "norm", .rows = l->blocks, .cols = 1};
    p->num_outputs = NUM_OUTPUTS;
}

static enum status create(problem *p, error_text *error)
{
    importance_problem *own = p->own = calloc(1, sizeof *own);
    if (!own) return fail(error, STATUS_MEMORY, "no memory");
    enum status status =
        bsmm_layout_create(p, IMPORTANCE_KNOB_BLOCK, &own->layout, &own->block, error);
    own->tokens = (int64_t)p->width * problem_knob(p, IMPORTANCE_KNOB_PAIRS);
    own->norm = (enum importance_norm)problem_knob(p, IMPORTANCE_KNOB_NORM);
    own->scale = scale_of(p);
    if (status == STATUS_OK) status = allocate(p, error);
    if (status == STATUS_OK) status = fill(p, error);
    if (status == STATUS_OK)
        describe(p);
    else
        destroy(p);
    return status;
}

/* ---- results and their bounds ------------------------------------------------------------------ */

static double norm_of(const importance_problem *own, int64_t b, enum mistake mistake, double *off)
{
    const double r = reduce(block_of(own, b), own->norm, mistake);
    *off = isfinite(r) ? reduce_off(r, own->block * own->block, own->norm) : 0;
    return isfinite(r) ? r : 0;
}

static double reduced_at(const problem *p, int input, int64_t token, int line, enum mistake mistake)
{
    const feature_side *s = &((const importance_problem *)p->own)->side[input];
    return mistake == OTHER_NORM || mistake == SIGNS_KEPT
               ? reduce(features_of(p, s, token, line), ((const importance_problem *)p->own)->norm,
                        mistake)
               : s->reduced[token * s->lines + line];
}

/* Returns what a kernel with that mistake stores for block (c, k). All terms are positive, so a sum of n in fp32 is off by
 * (n + 4) u of itself (ops/rounding.c). Each R is off by what stored_off says. */
static double importance_of(const problem *p, int64_t c, int64_t k, enum mistake mistake,
                            double *off)
{
    const importance_problem *own = p->own;
    const int64_t tokens = mistake == FIRST_PAIR_ALONE ? p->width : own->tokens;
    const double old =
        own->old.floats && mistake != OLD_LEFT_OUT ? own->old.floats[c * own->layout.cols + k] : 0;
    const double scale = mistake == NOT_SCALED ? 1 : own->scale;
    double sum = 0, moved = 0;
    *off = 0;
    for (int64_t t = 0; scale != 0 && t < tokens; t++) {
        const double x = reduced_at(p, X_DENSE, t, (int)c, mistake);
        const double y = reduced_at(p, DY_DENSE, t, (int)k, mistake);
        const double x_off = stored_off(p, x), y_off = stored_off(p, y);
        sum += x * y;
        moved += x * y_off + x_off * y + x_off * y_off;
    }
    if (scale == 0 || !isfinite(sum)) return old;
    const double result = scale * sum + old;
    const double before =
        scale * (moved + ROUNDOFF * ((double)tokens + 4) * (sum + moved) + 0x1p-149 * tokens);
    *off = before + ROUNDOFF * (scale * sum + fabs(result) + 2 * before);
    return result;
}

static void oracle(const problem *p, int output, int64_t row, double *reference, double *bound)
{
    const importance_problem *own = p->own;
    const int64_t cols = output == NORM_OUTPUT ? 1 : own->layout.cols;
    for (int64_t i = 0; i < cols; i++) {
        reference[i] = output == NORM_OUTPUT ? norm_of(own, row, NONE, &bound[i])
                                             : importance_of(p, row, i, NONE, &bound[i]);
        if (p->whole) bound[i] = 0;
    }
}

/* Products behind an importance. With a scale of 0 there are none: a fill may make it. */
static int64_t row_length(const problem *p, int64_t row)
{
    const importance_problem *own = p->own;
    (void)row;
    return own->scale == 0 ? 0 : own->tokens;
}

static void explain(const problem *p, int output, int64_t row, int64_t place, double got,
                    char *text, size_t bytes)
{
    static const char *const SAYS[NUM_MISTAKES] = {NULL,
                                                   "the other norm was taken",
                                                   "the largest number was taken with its sign",
                                                   "only the first pair was summed",
                                                   "the sum was not scaled",
                                                   "the old importance was not added"};
    double would[NUM_MISTAKES], off;
    text[0] = 0;
    for (int m = NONE; m < NUM_MISTAKES; m++)
        would[m] = output == NORM_OUTPUT ? norm_of(p->own, row, (enum mistake)m, &off)
                                         : importance_of(p, row, place, (enum mistake)m, &off);
    /* A mistake that changes nothing here explains nothing. */
    for (int m = NONE + 1; m < NUM_MISTAKES && !text[0]; m++) {
        const double near = 2 * precision_format(p->precision)->unit_roundoff + 0x1p-14;
        const double size = fabs(would[m]) + fabs(would[NONE]);
        if (fabs(got - would[m]) <= near * size && fabs(would[NONE] - would[m]) > 2 * near * size)
            snprintf(text, bytes, "%s", SAYS[m]);
    }
}

/* ---- costs ----------------------------------------------------------------------------------- */

static double features_bytes(const problem *p, double lines)
{
    return lines * problem_knob(p, IMPORTANCE_KNOB_BLOCK) * p->width *
           problem_knob(p, IMPORTANCE_KNOB_PAIRS) * precision_format(p->precision)->bytes;
}

static double all_blocks(const problem *p)
{
    return (double)p->A->rows * (double)p->A->cols;
}

/* Lines of an input that decide a result: those without a number that is not finite. */
static int64_t decisive(int input, int64_t lines)
{
    int64_t n = 0;
    for (int64_t i = 0; i < lines; i++)
        n += !is_poisoned(input, i);
    return n;
}

static double product_flops(const problem *p)
{
    const bool multiplies = scale_of(p) != 0;
    return multiplies * 2 * all_blocks(p) * p->width * problem_knob(p, IMPORTANCE_KNOB_PAIRS);
}

/* Features and weights are read once, in order: there is no gather. */
static double read_bytes(const problem *p, double blocks)
{
    const double B = problem_knob(p, IMPORTANCE_KNOB_BLOCK);
    const double lines = scale_of(p) == 0 ? 0 : (double)(p->A->rows + p->A->cols);
    return features_bytes(p, lines) + blocks * B * B * precision_format(p->precision)->bytes +
           (adds_old(p) ? 4 * all_blocks(p) : 0);
}

static void cost(const problem *p, cost_model *model)
{
    const double blocks = (double)p->A->nnz;
    *model = (cost_model){
        .flops = product_flops(p),
        .compulsory_bytes = read_bytes(p, blocks) + 4 * (blocks + all_blocks(p)),
    };
}

/* ---- instances ------------------------------------------------------------------------------- */

/* A plan, the layout that it borrows, and the inputs. */
typedef struct importance_instance {
    block_layout layout;
    importance_inputs in;
    block_importance_plan plan;
} importance_instance;

static const block_importance_contender *of(const contender *c)
{
    return (const block_importance_contender *)c;
}

static void choose(const contender *c, const problem *p, int *tuning)
{
    contender_initial_tuning(c, tuning);
    if (of(c)->choose)
        of(c)->choose(p->A->rows, p->A->cols,
                      (int64_t)p->width * problem_knob(p, IMPORTANCE_KNOB_PAIRS), tuning);
}

static void least(const problem *p, const void *instance, least_work *l)
{
    const importance_instance *self = instance;
    const double blocks = ((const importance_problem *)p->own)->layout.blocks;
    *l = (least_work){
        .read_bytes = read_bytes(p, blocks),
        .write_bytes = 4 * (blocks + all_blocks(p)),
        .flops = product_flops(p),
        .unit = self->plan.contender->base.unit,
    };
}

static int64_t needs(const problem *p, int input, bool handed)
{
    const importance_problem *own = p->own;
    const int64_t block = (int64_t)own->block * own->block * (int64_t)p->inputs[W_DENSE].element;
    (void)handed;
    if (input == OLD_IMPORTANCE) return (int64_t)p->inputs[input].bytes;
    if (input == W_DENSE) return decisive(input, own->layout.blocks) * block;
    if (own->scale == 0) return 0;
    return (int64_t)features_bytes(p, (double)decisive(input, own->side[input].lines));
}

static void rebind(void *instance, void *const *d_inputs)
{
    importance_instance *self = instance;
    self->in = (importance_inputs){
        .X = d_inputs[X_DENSE],
        .dY = d_inputs[DY_DENSE],
        .W = d_inputs[W_DENSE],
        .old = self->plan.adds_old ? d_inputs[OLD_IMPORTANCE] : NULL,
    };
}

static cudaError_t prepare_plan(const contender *c, importance_instance *self)
{
    if (c->min_compute_capability > device_facts_get()->compute_capability)
        return cudaErrorNotSupported;
    return of(c)->prepare ? of(c)->prepare(&self->plan) : cudaSuccess;
}

static cudaError_t prepare(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance)
{
    importance_instance *self = calloc(1, sizeof *self);
    if (!self) return cudaErrorMemoryAllocation;
    if (block_layout_make(p->A, &self->layout, NULL) != STATUS_OK) {
        free(self);
        return cudaErrorMemoryAllocation;
    }
    self->plan = (block_importance_plan){
        .layout = &self->layout,
        .block = problem_knob(p, IMPORTANCE_KNOB_BLOCK),
        .N = p->width,
        .pairs = problem_knob(p, IMPORTANCE_KNOB_PAIRS),
        .norm = (enum importance_norm)problem_knob(p, IMPORTANCE_KNOB_NORM),
        .scale = scale_of(p),
        .adds_old = adds_old(p),
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
    const importance_instance *self = instance;
    return self->plan.contender->run(&self->plan, &self->in, d_outputs[IMPORTANCE_OUTPUT],
                                     d_outputs[NORM_OUTPUT], stream);
}

static void release(void *instance)
{
    importance_instance *self = instance;
    if (self->plan.contender->release) self->plan.contender->release(&self->plan);
    block_layout_free(&self->layout);
    free(self);
}

static size_t workspace_bytes(const void *instance)
{
    const block_importance_plan *plan = &((const importance_instance *)instance)->plan;
    return plan->contender->workspace_bytes ? plan->contender->workspace_bytes(plan) : 0;
}

const operation block_importance_operation = {
    .name = "block_importance",
    .width = "N",
    .width_meaning = "columns of the minibatch: tokens",
    .usual_width = 64,
    .knobs = {[IMPORTANCE_KNOB_BLOCK] = BSMM_BLOCK_KNOB,
              [IMPORTANCE_KNOB_PAIRS] = {.name = "PAIRS",
                                         .meaning = "minibatches that the importance sums over",
                                         .values = {1, 2, 3, 4, 5, 6, 7, 8},
                                         .num_values = 8,
                                         .initial = 1},
              [IMPORTANCE_KNOB_NORM] = {.name = "NORM",
                                        .meaning =
                                            "what a block is reduced to: its largest number, "
                                            "or the root of its squares",
                                        .values = {IMPORTANCE_MAX, IMPORTANCE_L2},
                                        .num_values = 2,
                                        .names = (const char *const[]){"max", "l2"}},
              [IMPORTANCE_KNOB_SCALE] = {.name = "SCALE",
                                         .meaning = "what multiplies the sum",
                                         .values = {1, 2, 3},
                                         .num_values = 3,
                                         .initial = 1,
                                         .names = (const char *const[]){"1", "0.5", "0"}},
              [IMPORTANCE_KNOB_BETA] = {.name = "BETA",
                                        .meaning = "whether the importance that was there is added",
                                        .values = {0, 1},
                                        .num_values = 2}},
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
OPERATION_REGISTER(block_importance_operation)
