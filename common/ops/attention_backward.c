/*
 * attention_backward.c - gradients of attention by Q, K and V, on the pattern of A.
 */
#include "ops/attention_backward.h"

#include "matrix/memory.h"
#include "matrix/random.h"
#include "ops/attention_problem.h"
#include "ops/rounding.h"
#include "ops/wide_vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_PTR, COL_IDX, Q_DENSE, K_DENSE, V_DENSE, O_DENSE, DO_DENSE, LSE, NUM_INPUTS };
enum { DQ, DK, DV, NUM_OUTPUTS };
enum { BACKWARD_HEADS }; /* the only knob */

/* The forward pass, what it left, and the pattern by columns. */
typedef struct backward_problem {
    attention_problem forward;
    numbers O, dO, lse;
    int64_t *col_ptr;
    int32_t *row_idx;
} backward_problem;

static void destroy(problem *p)
{
    backward_problem *own = p->own;
    if (!own) return;
    attention_problem_free(&own->forward);
    numbers_free(&own->O);
    numbers_free(&own->dO);
    numbers_free(&own->lse);
    free(own->col_ptr);
    free(own->row_idx);
    free(own);
    p->own = NULL;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Rows in each column, in order: what the gradients of K and V run over. */
static void transpose(const csr_matrix *A, backward_problem *own)
{
    memset(own->col_ptr, 0, (A->cols + 2) * sizeof *own->col_ptr);
    int64_t *const next = own->col_ptr + 1;
    for (int64_t z = 0; z < A->nnz; z++)
        own->col_ptr[A->col_idx[z] + 2]++;
    for (int64_t j = 0; j < A->cols; j++)
        next[j + 1] += next[j];
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++)
            own->row_idx[next[A->col_idx[z]]++] = (int32_t)i;
}

/* Fills O and lse as a right forward pass leaves them. False: no memory for a row of them. */
static bool fill_forward(const problem *p, backward_problem *own)
{
    const attention_problem *f = &own->forward;
    const int H = f->heads, d = f->d;
    bool made = true;
#pragma omp parallel reduction(&& : made)
    {
        double *O = malloc(2 * (size_t)d * sizeof *O), lse, lse_bound;
        made = made && O;
#pragma omp for schedule(dynamic, 64)
        for (int64_t i = 0; i < p->A->rows; i++)
            for (int h = 0; h < H && O; h++) {
                const size_t at = (size_t)i * H + h;
                made = attention_row(p, f, i, h, O, O + d, &lse, &lse_bound) && made;
                own->lse.own[at] = (float)lse;
                for (int c = 0; c < d; c++)
                    own->O.own[at * d + c] = (float)O[c];
            }
        free(O);
    }
    return made;
}

/* The largest of the finite numbers; unused rows hold others. */
static double largest_of(const numbers *n)
{
    double largest = 0;
    for (size_t at = 0; at < n->count; at++)
        if (isfinite(n->floats[at])) largest = fmax(largest, fabs((double)n->floats[at]));
    return largest;
}

/* Halves dO until no gradient can overflow the precision: dP and D are sums of d products, a gradient of as many as a
 * row or column has. Whole numbers stay exact when they are halved, as long as fp16 holds them. */
static void keep_finite(const problem *p, backward_problem *own)
{
    const attention_problem *f = &own->forward;
    const double factors = fmax(largest_of(&f->Q), largest_of(&f->K)) * f->scale;
    const double values = fmax(largest_of(&f->V), largest_of(&own->O));
    int64_t longest = p->stats.max;
    for (int64_t j = 0; j < p->A->cols; j++) {
        const int64_t length = own->col_ptr[j + 1] - own->col_ptr[j];
        if (length > longest) longest = length;
    }
    const double most =
        (double)longest * largest_of(&own->dO) * fmax(2 * f->d * values * factors, 1);
    float half = 1;
    while (most * half > precision_format(p->precision)->largest / 2 && half > 0x1p-20f)
        half /= 2;
    for (size_t at = 0; at < own->dO.count; at++)
        own->dO.own[at] *= half;
}

static enum status fill(problem *p, backward_problem *own, error_text *error)
{
    const int wide = own->forward.heads * own->forward.d;
    uint8_t *row_used = dataset_mark_rows(p), *column_used = dataset_mark_columns(p);
    bool made = row_used && column_used;
    if (made) {
        transpose(p->A, own);
        numbers_fill_rows(&own->dO, p->A->rows, wide, row_used, p->whole ? 8 : 0,
                          random_substream(p->seed, 100 + DO_DENSE));
        made = fill_forward(p, own);
        if (p->whole) keep_finite(p, own);
        numbers_round(&own->dO);
        numbers_round(&own->O);
    }
    free(row_used);
    free(column_used);
    return made ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for the forward pass");
}

static void describe(problem *p)
{
    const csr_matrix *A = p->A;
    const backward_problem *own = p->own;
    const attention_problem *f = &own->forward;
    const int wide = f->heads * f->d;
    p->inputs[ROW_PTR] = dataset_offsets_operand(A, f->row_ptr, "A.row_ptr");
    p->inputs[COL_IDX] = dataset_columns_operand(A, "A.col_idx");
    p->inputs[Q_DENSE] = numbers_operand(&f->Q, "Q");
    p->inputs[K_DENSE] = numbers_operand(&f->K, "K");
    p->inputs[V_DENSE] = numbers_operand(&f->V, "V");
    p->inputs[O_DENSE] = numbers_operand(&own->O, "O");
    p->inputs[DO_DENSE] = numbers_operand(&own->dO, "dO");
    p->inputs[LSE] = numbers_operand(&own->lse, "lse");
    p->num_inputs = NUM_INPUTS;
    p->outputs[DQ] =
        (output){.name = "dQ", .precision = p->precision, .rows = A->rows, .cols = wide};
    p->outputs[DK] =
        (output){.name = "dK", .precision = p->precision, .rows = A->cols, .cols = wide};
    p->outputs[DV] =
        (output){.name = "dV", .precision = p->precision, .rows = A->cols, .cols = wide};
    p->num_outputs = NUM_OUTPUTS;
}

static enum status create(problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    const int H = problem_knob(p, BACKWARD_HEADS);
    enum status status = dataset_check(p, "attention", error);
    if (status != STATUS_OK) return status;
    const size_t of_rows = (size_t)A->rows * H, wide = of_rows * p->width;
    error_text reason;
    status = memory_check(2 * numbers_bytes(p->precision, wide) + 8 * (A->cols + 2) + 4 * A->nnz,
                          "the problem", &reason);
    if (status != STATUS_OK)
        return fail(error, status, "%s; try a smaller d or fewer HEADS", reason.text);
    backward_problem *own = p->own = calloc(1, sizeof *own);
    if (!own) return fail(error, STATUS_MEMORY, "no memory for the problem");
    status = attention_problem_create(p, ATTENTION_DOT, H, false, &own->forward, error);
    if (status == STATUS_OK) {
        own->col_ptr = malloc((A->cols + 2) * sizeof *own->col_ptr);
        own->row_idx = malloc((A->nnz + 1) * sizeof *own->row_idx);
        const bool made = own->col_ptr && own->row_idx &&
                          numbers_alloc(&own->O, p->precision, wide) &&
                          numbers_alloc(&own->dO, p->precision, wide) &&
                          numbers_alloc(&own->lse, PRECISION_FP32, of_rows);
        status = made ? fill(p, own, error)
                      : fail(error, STATUS_MEMORY, "no memory for O, its gradient and lse");
    }
    if (status == STATUS_OK)
        describe(p);
    else
        destroy(p);
    return status;
}

/* ---- the gradients and their bounds ---------------------------------------------------------- */

/* A number and how far a correct kernel may be off it. */
typedef struct bounded {
    double value, bound;
} bounded;

/* p and ds of one nonzero. */
typedef struct pair {
    bounded p, ds;
} pair;

/*
 * The score is off by e = (d + 6) u S (attention_problem.c). A kernel takes the exponential of s - lse, perhaps as a power
 * of 2 whose exponent is made of both: u (|s| + |lse|) and 3 u |s - lse| more, and 4 u for the power. So p is off by a
 * factor of exp of those. dp and D are sums of d products: (d + 4) u of the sum of their sizes. Then ds = p (dp - D) has
 * p's error times the difference, the difference's times p, and 3 u.
 */
WIDE_INLINE pair pair_of(const problem *p, int64_t row, int64_t column, int head)
{
    const double WILD = 30; /* beyond that nothing is certain */
    const backward_problem *own = p->own;
    const attention_problem *f = &own->forward;
    const size_t left = (size_t)row * f->heads + head, right = (size_t)column * f->heads + head;
    const int d = f->d;
    const float *q = f->Q.floats + left * d, *k = f->K.floats + right * d;
    const float *v = f->V.floats + right * d, *o = own->O.floats + left * d;
    const float *g = own->dO.floats + left * d;
    double s = 0, S = 0, dp = 0, D = 0, sizes = 0;
#pragma omp simd reduction(+ : s, S, dp, D, sizes)
    for (int c = 0; c < d; c++) {
        const double qk = (double)q[c] * k[c], gv = (double)g[c] * v[c], go = (double)g[c] * o[c];
        s += qk;
        S += fabs(qk);
        dp += gv;
        D += go;
        sizes += fabs(gv) + fabs(go);
    }
    s *= f->scale;
    const double lse = own->lse.floats[left], x = s - lse, difference = dp - D;
    const double off = ROUNDOFF * ((d + 6) * f->scale * S + fabs(s) + fabs(lse) + 3 * fabs(x) + 4);
    const double error = expm1(fmin(off, WILD)), share = exp(x), t = ROUNDOFF * (d + 4) * sizes;
    const double flushed = 0x1p-126;
    return (pair){{share, share * error + flushed},
                  {share * difference, (share * error + flushed) * (fabs(difference) + t) +
                                           share * (t + 3 * ROUNDOFF * fabs(difference))}};
}

/* Adds factor * row to the sums behind a gradient. What is below 2^-60 of 1 may be lost as a whole. */
WIDE_INLINE void add(bounded factor, const float *row, int d, double *sum, double *off,
                     double *size)
{
    const double size_of = fabs(factor.value) > 0x1p-60 ? fabs(factor.value) + factor.bound : 0;
    const double lost = size_of > 0 ? factor.bound : factor.bound + fabs(factor.value);
#pragma omp simd
    for (int c = 0; c < d; c++) {
        const double by = fabs((double)row[c]);
        sum[c] += factor.value * row[c];
        off[c] += lost * by;
        size[c] += size_of * by;
    }
}

/* Gradient `which` of one row of Q, or column's row of K or V, for one head. Adding n products up in whatever order,
 * and multiplying by the scale, is off by (n + 6) u of the sum of their sizes; n leaves out what is lost anyway. */
WIDE_INLINE void gradient(const problem *p, int which, int64_t node, int head, double *sum,
                          double *bound)
{
    const backward_problem *own = p->own;
    const attention_problem *f = &own->forward;
    const int d = f->d, H = f->heads;
    const int64_t *ptr = which == DQ ? p->A->row_ptr : own->col_ptr;
    const int32_t *others = which == DQ ? p->A->col_idx : own->row_idx;
    const float *table = (which == DQ ? &f->K : which == DK ? &f->Q : &own->dO)->floats;
    const double scale = which == DV ? 1 : f->scale;
    double *size = calloc(d, sizeof *size);
    int64_t n = 0;
    for (int c = 0; c < d; c++) {
        sum[c] = size ? 0 : NAN; /* nothing passes that could not be checked */
        bound[c] = 0;
    }
    for (int64_t z = ptr[node]; z < ptr[node + 1] && size; z++) {
        const int64_t other = others[z];
        const pair x = which == DQ ? pair_of(p, node, other, head) : pair_of(p, other, node, head);
        const bounded factor = which == DV ? x.p : x.ds;
        n += fabs(factor.value) > 0x1p-60;
        add(factor, table + ((size_t)other * H + head) * d, d, sum, bound, size);
    }
    const bool is_empty = ptr[node] == ptr[node + 1];
    for (int c = 0; c < d && size && !is_empty; c++) {
        sum[c] *= scale;
        const double off = scale * (bound[c] + ROUNDOFF * (double)(n + 6) * size[c]) + 0x1p-126;
        bound[c] = rounding_stored(p->precision, sum[c], off);
    }
    free(size);
}

WIDE_VECTORS
static void oracle(const problem *p, int output, int64_t row, double *reference, double *bound)
{
    const attention_problem *f = &((const backward_problem *)p->own)->forward;
    for (int h = 0; h < f->heads; h++)
        gradient(p, output, row, h, reference + h * f->d, bound + h * f->d);
}

/* Only the first of the outputs has A's rows: a row of dK and dV beyond them is said to have none. */
static int64_t row_length(const problem *p, int64_t row)
{
    return row < p->A->rows ? dataset_row_length(p, row) : 0;
}

/* Products behind an element: of dQ a row has as many as nonzeros, of dK and dV as many as its column has. */
static int64_t products(const problem *p, int output, int64_t row, int64_t place)
{
    const backward_problem *own = p->own;
    const int64_t *ptr = output == DQ ? p->A->row_ptr : own->col_ptr;
    (void)place;
    return ptr[row + 1] - ptr[row];
}

/* ---- costs ----------------------------------------------------------------------------------- */

static double row_bytes(const problem *p)
{
    return (double)precision_format(p->precision)->bytes * problem_knob(p, BACKWARD_HEADS) *
           p->width;
}

static double used_rows(const problem *p)
{
    return (double)(p->A->rows - p->stats.empty_rows);
}

/* Q, O and dO once a row, and lse; K and V once a column. */
static double dense_bytes(const problem *p)
{
    return row_bytes(p) * (3 * used_rows(p) + 2. * p->used_columns) +
           4. * problem_knob(p, BACKWARD_HEADS) * used_rows(p);
}

static double written_bytes(const problem *p)
{
    return row_bytes(p) * (p->A->rows + 2. * p->A->cols);
}

/* Scores, dp and three products with a row: five times 2 d a nonzero and head. A kernel of two passes makes scores and dp
 * twice. */
static double flops_of(const problem *p)
{
    return 10. * p->width * problem_knob(p, BACKWARD_HEADS) * p->A->nnz;
}

/* Without atomics there are two passes. By rows each nonzero fetches its rows of K and V; by columns those of Q and dO,
 * and D and lse, which are a number each. */
static void cost(const problem *p, cost_model *model)
{
    const double nnz = p->A->nnz, row = row_bytes(p), H = problem_knob(p, BACKWARD_HEADS);
    const double pattern = 4 * (p->A->rows + 1.) + 4 * nnz;
    *model = (cost_model){
        .flops = flops_of(p),
        .compulsory_bytes = pattern + dense_bytes(p) + written_bytes(p),
        .gathers = {{pattern + 2 * row * nnz + row * (3 * used_rows(p) + p->A->rows), row,
                     row * p->A->cols},
                    {pattern + 2 * row * nnz + row * (2. * p->used_columns + 2. * p->A->cols), row,
                     row * p->A->rows},
                    {8 * H * nnz, 4 * H, 4 * H * p->A->rows}},
        .num_gathers = 3,
    };
}

/* ---- instances ------------------------------------------------------------------------------- */

typedef struct backward_instance {
    attention_backward_inputs in;
    attention_backward_plan plan;
} backward_instance;

static const attention_backward_contender *of(const contender *c)
{
    return (const attention_backward_contender *)c;
}

static void choose(const contender *c, const problem *p, int *tuning)
{
    contender_initial_tuning(c, tuning);
    if (of(c)->choose) of(c)->choose(&p->stats, p->width, tuning);
}

static void least(const problem *p, const void *instance, least_work *l)
{
    const attention_backward_plan *plan = &((const backward_instance *)instance)->plan;
    const attention_backward_contender *c = plan->contender;
    const double pattern = 4 * (p->A->rows + 1.) + 4. * p->A->nnz;
    *l = (least_work){
        .read_bytes = dense_bytes(p) + (c->format_bytes ? (double)c->format_bytes(plan) : pattern),
        .write_bytes = written_bytes(p),
        .flops = flops_of(p),
        .unit = c->base.unit,
    };
}

/* Columns, and the rows that some nonzero names. */
static int64_t needs(const problem *p, int input, bool handed)
{
    const operand *in = &p->inputs[input];
    const int64_t of_head = (int64_t)in->element * problem_knob(p, BACKWARD_HEADS);
    const int64_t rows = p->A->rows - p->stats.empty_rows;
    if (input == ROW_PTR) return 0;
    if (input == COL_IDX) return handed ? 0 : (int64_t)in->bytes;
    if (input == LSE) return of_head * rows;
    return of_head * p->width * (input == K_DENSE || input == V_DENSE ? p->used_columns : rows);
}

static void rebind(void *instance, void *const *d_inputs)
{
    backward_instance *self = instance;
    self->in = (attention_backward_inputs){.Q = d_inputs[Q_DENSE],
                                           .K = d_inputs[K_DENSE],
                                           .V = d_inputs[V_DENSE],
                                           .O = d_inputs[O_DENSE],
                                           .dO = d_inputs[DO_DENSE],
                                           .lse = d_inputs[LSE]};
}

static cudaError_t prepare(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance)
{
    backward_instance *self = calloc(1, sizeof *self);
    if (!self) return cudaErrorMemoryAllocation;
    self->plan = (attention_backward_plan){
        .A = dataset_on_device(p, d_inputs[ROW_PTR], d_inputs[COL_IDX], NULL),
        .d = p->width,
        .contender = of(c),
        .heads = problem_knob(p, BACKWARD_HEADS),
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
    const backward_instance *self = instance;
    const attention_backward_plan *plan = &self->plan;
    return plan->contender->run(plan, &self->in, d_outputs[DQ], d_outputs[DK], d_outputs[DV],
                                stream);
}

static void release(void *instance)
{
    backward_instance *self = instance;
    if (self->plan.contender->release) self->plan.contender->release(&self->plan);
    free(self);
}

/* A is a pattern: no plan can hold values of it. */
static cudaError_t update_values(void *instance)
{
    (void)instance;
    return cudaSuccess;
}

const operation attention_backward_operation = {
    .name = "attention_backward",
    .width = "d",
    .width_meaning = "features of a head",
    .knobs = {[BACKWARD_HEADS] =
                  {"HEADS", "heads, each with its own scores", {1, 2, 3, 4, 5, 6, 7, 8}, 8, 1}},
    .exact_in_whole_numbers = true,
    .create = create,
    .destroy = destroy,
    .oracle = oracle,
    .row_length = row_length,
    .products = products,
    .cost = cost,
    .least = least,
    .needs = needs,
    .choose = choose,
    .prepare = prepare,
    .rebind = rebind,
    .update_values = update_values,
    .run = run,
    .release = release,
};
OPERATION_REGISTER(attention_backward_operation)
