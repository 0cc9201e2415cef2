/*
 * attention.c - O = softmax of scores on the pattern of A, times V; for several heads.
 */
#include "ops/attention.h"

#include "ops/attention_problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first inputs; those that the mode names follow, in the order of `dense_inputs`. */
enum { ROW_PTR, COL_IDX, VALUES };

/* Addresses of what a mode names among the members of attention_inputs, in the order of the problem's inputs. */
static int dense_inputs(enum attention_mode mode, attention_inputs *in, const void **members[3])
{
    switch (mode) {
    case ATTENTION_DOT:
        members[0] = &in->Q;
        members[1] = &in->K;
        members[2] = &in->V;
        return 3;
    case ATTENTION_GAT:
        members[0] = (const void **)&in->el;
        members[1] = (const void **)&in->er;
        members[2] = &in->V;
        return 3;
    case ATTENTION_GATV2:
        members[0] = &in->Q;
        members[1] = (const void **)&in->a;
        members[2] = &in->V;
        return 3;
    default:
        members[0] = &in->V;
        return 1;
    }
}

static enum attention_mode mode_of(const problem *p)
{
    return (enum attention_mode)problem_knob(p, KNOB_MODE);
}

static bool has_values(const problem *p)
{
    return problem_knob(p, KNOB_BIAS) || mode_of(p) == ATTENTION_WEIGHTED;
}

static void destroy(problem *p)
{
    if (p->own) attention_problem_free(p->own);
    free(p->own);
    p->own = NULL;
}

static void describe(problem *p)
{
    const csr_matrix *A = p->A;
    const attention_problem *own = p->own;
    const int wide = own->heads * own->d;
    const struct {
        const numbers *array;
        const char *name;
    } all[] = {{&own->values, "A.values"}, {&own->Q, "Q"}, {&own->el, "el"}, {&own->K, "K"},
               {&own->er, "er"},           {&own->a, "a"}, {&own->V, "V"}};
    int n = 0;
    p->inputs[n++] = dataset_offsets_operand(A, own->row_ptr, "A.row_ptr");
    p->inputs[n++] = dataset_columns_operand(A, "A.col_idx");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].array->floats) p->inputs[n++] = numbers_operand(all[i].array, all[i].name);
    p->num_inputs = n;
    p->outputs[0] = (output){.name = "O", .precision = p->precision, .rows = A->rows, .cols = wide};
    p->outputs[1] = (output){.name = "lse", .rows = A->rows, .cols = own->heads};
    p->num_outputs = own->mode == ATTENTION_WEIGHTED ? 1 : 2;
}

static enum status create(problem *p, error_text *error)
{
    enum status status = dataset_check(p, "attention", error);
    if (status != STATUS_OK) return status;
    attention_problem *own = p->own = calloc(1, sizeof *own);
    uint8_t *used = dataset_mark_columns(p);
    free(used);
    if (!own || !used) {
        destroy(p);
        return fail(error, STATUS_MEMORY, "no memory for the problem");
    }
    status = attention_problem_create(p, mode_of(p), problem_knob(p, KNOB_HEADS), has_values(p),
                                      own, error);
    if (status == STATUS_OK)
        describe(p);
    else
        destroy(p);
    return status;
}

static void oracle(const problem *p, int output, int64_t row, double *reference, double *bound)
{
    const attention_problem *own = p->own;
    for (int h = 0; h < own->heads; h++) {
        double *O = output ? NULL : reference + h * own->d;
        double *O_bound = output ? NULL : bound + h * own->d;
        double lse, lse_bound = 0;
        const bool made = attention_row(p, own, row, h, O, O_bound, &lse, &lse_bound);
        if (output) {
            reference[h] = made ? lse : NAN; /* nothing passes that could not be checked */
            bound[h] = lse_bound;
        }
        for (int c = 0; !made && !output && c < own->d; c++)
            O[c] = NAN;
    }
}

/* ---- explanations ---------------------------------------------------------------------------- */

/* Which mistake a wrong element of O is looked at for. */
enum mistake { NO_SCALE, TWICE_SCALED, POWERS_OF_TWO, NO_BIAS, NOT_DIVIDED, NEXT_HEAD };

/* The element that a kernel with that mistake computes; NAN where there is no such mistake to make. */
static double mistaken(const problem *p, enum mistake mistake, int64_t row, int head, int feature)
{
    const attention_problem *own = p->own;
    const int64_t first = p->A->row_ptr[row], n = p->A->row_ptr[row + 1] - first;
    const bool is_dot = own->mode == ATTENTION_DOT, scales = mistake <= TWICE_SCALED;
    const float *bias = own->mode == ATTENTION_WEIGHTED ? NULL : own->values.floats;
    attention_problem other = *own;
    if (own->mode == ATTENTION_WEIGHTED || (scales && (!is_dot || own->d == 1)) ||
        (mistake == NO_BIAS && !bias) || (mistake == NEXT_HEAD && own->heads == 1))
        return NAN;
    if (mistake == NO_BIAS) other.values.floats = NULL;
    if (mistake == NO_SCALE) other.scale = 1;
    if (mistake == TWICE_SCALED) other.scale = own->scale * own->scale;
    double *x = malloc(2 * (n + 1) * sizeof *x), max = -INFINITY, sum = 0, result = 0;
    if (!x) return NAN;
    attention_scores(p, &other, row, mistake == NEXT_HEAD ? (head + 1) % own->heads : head, x,
                     x + n + 1);
    for (int64_t j = 0; j < n; j++) {
        if (mistake == POWERS_OF_TWO) x[j] *= log(2);
        max = x[j] > max ? x[j] : max;
    }
    for (int64_t j = 0; j < n; j++) {
        const size_t at = (size_t)p->A->col_idx[first + j] * own->heads + head;
        const double w = exp(x[j] - max);
        sum += w;
        result += w * own->V.floats[at * own->d + feature];
    }
    free(x);
    return mistake == NOT_DIVIDED ? result : result / sum;
}

/* A number that is near what several mistakes make says nothing of them; the first that fits is named. */
static void explain(const problem *p, int output, int64_t row, int64_t place, double got,
                    char *text, size_t bytes)
{
    static const struct {
        enum mistake mistake;
        const char *says;
    } ALL[] = {{NO_SCALE, "scores were not divided by the root of d"},
               {TWICE_SCALED, "scores were divided by the root of d twice"},
               {POWERS_OF_TWO, "its exponentials are powers of 2 in place of e"},
               {NO_BIAS, "the bias was not added"},
               {NOT_DIVIDED, "it was not divided by the sum of the row's exponentials"},
               {NEXT_HEAD, "its scores are those of the next head"}};
    const attention_problem *own = p->own;
    const double near = 4 * precision_format(p->precision)->unit_roundoff + 0x1p-12;
    text[0] = 0;
    for (size_t i = 0; !output && i < sizeof ALL / sizeof *ALL && !text[0]; i++) {
        const double would =
            mistaken(p, ALL[i].mistake, row, (int)(place / own->d), (int)(place % own->d));
        if (fabs(got - would) <= near * fabs(would)) snprintf(text, bytes, "%s", ALL[i].says);
    }
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* Parts of the mode's numbers of bytes; asked of problems that did not fit, too. */
typedef struct sizes {
    double element, nnz, rows, used_rows, used_columns, heads, row_bytes; /* of a node, all heads */
    double el_bytes, er_bytes, a_bytes; /* of the fp32 inputs that the mode names, else 0 */
    bool has_Q, has_K, is_gat, is_weighted;
} sizes;

static sizes sizes_of(const problem *p)
{
    const enum attention_mode mode = mode_of(p);
    const double element = precision_format(p->precision)->bytes;
    const double heads = problem_knob(p, KNOB_HEADS);
    const double used_rows = p->A->rows - p->stats.empty_rows;
    const double number =
        mode == ATTENTION_GAT ? sizeof(float) * heads : 0; /* of a node, el or er */
    return (sizes){.element = element,
                   .nnz = p->A->nnz,
                   .rows = p->A->rows,
                   .used_rows = used_rows,
                   .used_columns = p->used_columns,
                   .heads = heads,
                   .row_bytes = element * heads * p->width,
                   .el_bytes = number * used_rows,
                   .er_bytes = number * p->used_columns,
                   .a_bytes =
                       mode == ATTENTION_GATV2 && p->A->nnz ? sizeof(float) * heads * p->width : 0,
                   .has_Q = mode == ATTENTION_DOT || mode == ATTENTION_GATV2,
                   .has_K = mode == ATTENTION_DOT,
                   .is_gat = mode == ATTENTION_GAT,
                   .is_weighted = mode == ATTENTION_WEIGHTED};
}

static double csr_bytes(const problem *p)
{
    const sizes s = sizes_of(p);
    return 4 * (s.rows + 1) + (4 + (has_values(p) ? s.element : 0)) * s.nnz;
}

/* Dense inputs that any kernel reads, each once, and what it writes. */
static double dense_bytes(const sizes *s)
{
    return s->row_bytes * ((s->has_Q ? s->used_rows : 0) + (s->has_K ? 2 : 1) * s->used_columns) +
           s->el_bytes + s->er_bytes + s->a_bytes;
}

static double written_bytes(const sizes *s)
{
    return s->rows * (s->row_bytes + (s->is_weighted ? 0 : 4 * s->heads));
}

/* Multiplications and additions: 2 d for p V; of a score 2 d in mode DOT, 4 d in GATV2 (its leaky among them). */
static double flops_of(const problem *p)
{
    const sizes s = sizes_of(p);
    const double terms = mode_of(p) == ATTENTION_DOT ? 4 : mode_of(p) == ATTENTION_GATV2 ? 6 : 2;
    return terms * p->width * s.heads * s.nnz;
}

/* Every nonzero fetches its own rows of V, and of K in mode DOT; in mode GAT a number a head beside V. */
static void cost(const problem *p, cost_model *model)
{
    const sizes s = sizes_of(p);
    const double beside = csr_bytes(p) + written_bytes(&s) +
                          (s.has_Q ? s.row_bytes * s.used_rows : 0) + s.el_bytes + s.a_bytes;
    const double cols = p->A->cols;
    *model = (cost_model){
        .flops = flops_of(p),
        .compulsory_bytes = csr_bytes(p) + dense_bytes(&s) + written_bytes(&s),
        .gathers = {{.bytes = beside + s.row_bytes * s.nnz,
                     .row = s.row_bytes,
                     .span = s.row_bytes * cols}},
        .num_gathers = 1,
    };
    if (s.has_K)
        model->gathers[model->num_gathers++] = (gather_cost){
            .bytes = s.row_bytes * s.nnz, .row = s.row_bytes, .span = s.row_bytes * cols};
    if (s.is_gat)
        model->gathers[model->num_gathers++] = (gather_cost){
            .bytes = 4 * s.heads * s.nnz, .row = 4 * s.heads, .span = 4 * s.heads * cols};
}

/* ---- instances ------------------------------------------------------------------------------- */

/* A plan, and the arrays it reads. */
typedef struct attention_instance {
    int dense; /* which input is the first dense one */
    attention_inputs in;
    attention_plan plan;
} attention_instance;

static const attention_contender *of(const contender *c)
{
    return (const attention_contender *)c;
}

size_t attention_csr_bytes(const attention_plan *plan)
{
    const device_csr *A = &plan->A;
    const size_t element = precision_format(plan->contender->base.precision)->bytes;
    const size_t value = A->d_values || A->d_values16 ? element : 0;
    return ((size_t)A->rows + 1) * sizeof(int) + A->nnz * (sizeof(int) + value);
}

static void choose(const contender *c, const problem *p, int *tuning)
{
    contender_initial_tuning(c, tuning);
    if (of(c)->choose) of(c)->choose(&p->stats, p->width, tuning);
}

static void least(const problem *p, const void *instance, least_work *l)
{
    const attention_plan *plan = &((const attention_instance *)instance)->plan;
    const attention_contender *c = plan->contender;
    const sizes s = sizes_of(p);
    *l = (least_work){
        .read_bytes = dense_bytes(&s) + (c->format_bytes ? (double)c->format_bytes(plan)
                                                         : (double)attention_csr_bytes(plan)),
        .write_bytes = written_bytes(&s),
        .flops = flops_of(p),
        .unit = c->base.unit,
    };
}

/* Columns and values of all nonzeros, and the rows that some nonzero names. Of the offsets nothing is certain. */
static int64_t needs(const problem *p, int input, bool handed)
{
    const operand *in = &p->inputs[input];
    const int64_t heads = problem_knob(p, KNOB_HEADS);
    if (input == ROW_PTR) return 0;
    if (input == COL_IDX) return handed ? 0 : (int64_t)in->bytes;
    if (input == VALUES && has_values(p)) return (int64_t)in->bytes;
    if (!strcmp(in->name, "a")) return p->A->nnz ? (int64_t)in->bytes : 0;
    const bool is_left = !strcmp(in->name, "Q") || !strcmp(in->name, "el");
    const bool is_narrow = in->name[0] == 'e'; /* el, er: a number a head */
    const int64_t named = is_left ? p->A->rows - p->stats.empty_rows : p->used_columns;
    return (int64_t)in->element * named * heads * (is_narrow ? 1 : p->width);
}

static void rebind(void *instance, void *const *d_inputs)
{
    attention_instance *self = instance;
    const void **members[3];
    const int count = dense_inputs(self->plan.mode, &self->in, members);
    for (int i = 0; i < count; i++)
        *members[i] = d_inputs[self->dense + i];
}

static cudaError_t prepare(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance)
{
    attention_instance *self = calloc(1, sizeof *self);
    if (!self) return cudaErrorMemoryAllocation;
    self->dense = has_values(p) ? VALUES + 1 : VALUES;
    self->plan = (attention_plan){
        .A = dataset_on_device(p, d_inputs[ROW_PTR], d_inputs[COL_IDX],
                               has_values(p) ? d_inputs[VALUES] : NULL),
        .d = p->width,
        .contender = of(c),
        .heads = problem_knob(p, KNOB_HEADS),
        .mode = mode_of(p),
        .scale = (float)(1 / sqrt((double)p->width)),
    };
    rebind(self, d_inputs);
    const size_t tuning_bytes = contender_num_tunables(c) * sizeof *tuning;
    memcpy(self->plan.tuning, tuning, tuning_bytes);
    const cudaError_t error = of(c)->prepare ? of(c)->prepare(&self->plan) : cudaSuccess;
    if (error != cudaSuccess) {
        free(self);
        return error;
    }
    memcpy(tuning, self->plan.tuning, tuning_bytes);
    *instance = self;
    return cudaSuccess;
}

static cudaError_t run(void *instance, void *const *d_outputs, cudaStream_t stream)
{
    const attention_instance *self = instance;
    const attention_plan *plan = &self->plan;
    float *lse = plan->mode == ATTENTION_WEIGHTED ? NULL : (float *)d_outputs[1];
    return plan->contender->run(plan, &self->in, d_outputs[0], lse, stream);
}

static void release(void *instance)
{
    attention_instance *self = instance;
    if (self->plan.contender->release) self->plan.contender->release(&self->plan);
    free(self);
}

/* A contender that prepares, and cannot update values, may have kept them. */
static cudaError_t update_values(void *instance)
{
    attention_plan *plan = &((attention_instance *)instance)->plan;
    const attention_contender *c = plan->contender;
    const bool has_none = !plan->A.d_values && !plan->A.d_values16;
    if (has_none || !c->prepare) return cudaSuccess;
    return c->update_values ? c->update_values(plan) : cudaErrorNotSupported;
}

static const contender *nested(const void *instance, int depth, const int **tuning)
{
    const attention_plan *plan = &((const attention_instance *)instance)->plan;
    const attention_contender *c = plan->contender;
    return c->nested ? c->nested(plan, depth, tuning) : NULL;
}

static size_t workspace_bytes(const void *instance)
{
    const attention_plan *plan = &((const attention_instance *)instance)->plan;
    const attention_contender *c = plan->contender;
    return c->workspace_bytes ? c->workspace_bytes(plan) : 0;
}

static const char *const MODE_NAMES[] = {"dot", "gat", "gatv2", "weighted"};

const operation attention_operation = {
    .name = "attention",
    .width = "d",
    .width_meaning = "features of a head",
    .knobs = {[KNOB_HEADS] =
                  {"HEADS", "heads, each with its own scores", {1, 2, 3, 4, 5, 6, 7, 8}, 8, 1},
              [KNOB_MODE] = {.name = "MODE",
                             .meaning = "what a score is",
                             .values = {ATTENTION_DOT, ATTENTION_GAT, ATTENTION_GATV2,
                                        ATTENTION_WEIGHTED},
                             .num_values = 4,
                             .initial = ATTENTION_DOT,
                             .names = MODE_NAMES},
              [KNOB_BIAS] = {"BIAS", "add A's values to scores", {0, 1}, 2, 0}},
    .exact_in_whole_numbers = true,
    .create = create,
    .destroy = destroy,
    .oracle = oracle,
    .row_length = dataset_row_length,
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
    .nested = nested,
    .workspace_bytes = workspace_bytes,
};
OPERATION_REGISTER(attention_operation)
