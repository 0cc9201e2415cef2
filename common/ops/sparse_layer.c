/*
 * sparse_layer.c - one step of training a sparse layer: three products on one pattern, and the update.
 */
#include "ops/sparse_layer.h"

#include "matrix/memory.h"
#include "matrix/random.h"
#include "ops/inputs.h"
#include "ops/product_sums.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inputs; with ORDERS = 2 also W by columns. X and dY hold all time steps, each at a multiple of ALIGNED bytes. */
enum { ROW_PTR, COL_IDX, VALUES, X_DENSE, DY_DENSE, BY_COLUMN };
enum { ALIGNED = 256 };

/* A power of two: whole numbers stay exact when they are scaled by it. */
static const float ETA = 0x1p-4f;

typedef struct layer_problem {
    csr_matrix T; /* of the pattern */
    int32_t *row_ptr;
    int32_t *place;       /* of each nonzero of T: its place in W */
    numbers master;       /* W, fp32 */
    numbers W, by_column; /* W as the products take it, in both orders */
    numbers X, dY;
    size_t X_step, dY_step; /* elements from a time step to the next */
} layer_problem;

static int steps_of(const problem *p)
{
    return problem_knob(p, KNOB_STEPS);
}

static bool both_orders(const problem *p)
{
    return problem_knob(p, KNOB_ORDERS) == 2;
}

static void destroy(problem *p)
{
    layer_problem *own = p->own;
    if (!own) return;
    csr_free(&own->T);
    free(own->row_ptr);
    free(own->place);
    numbers_free(&own->master);
    numbers_free(&own->W);
    numbers_free(&own->by_column);
    numbers_free(&own->X);
    numbers_free(&own->dY);
    free(own);
    p->own = NULL;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* The least number of elements that holds a time step's and is a multiple of ALIGNED bytes. */
static size_t step_elements(const problem *p, int64_t rows)
{
    const size_t whole = ALIGNED / precision_format(p->precision)->bytes;
    return ((size_t)rows * p->width + whole - 1) / whole * whole;
}

static enum status allocate(problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    const size_t T = (size_t)steps_of(p), nnz = (size_t)A->nnz;
    const size_t X_step = step_elements(p, A->cols), dY_step = step_elements(p, A->rows);
    const size_t bytes = numbers_bytes(p->precision, T * (X_step + dY_step) + 2 * nnz) +
                         nnz * (sizeof(float) + sizeof(int32_t)) + (A->rows + 1) * sizeof(int32_t);
    error_text reason;
    enum status status = memory_check(bytes, "the problem", &reason);
    if (status != STATUS_OK) return fail(error, status, "%s; try a smaller N", reason.text);
    layer_problem *own = p->own = calloc(1, sizeof *own);
    if (!own) return fail(error, STATUS_MEMORY, "no memory for the problem");
    own->X_step = X_step;
    own->dY_step = dY_step;
    status = csr_transpose(A, &own->T, error);
    if (status != STATUS_OK) return status;
    own->row_ptr = dataset_offsets(A);
    own->place = malloc((nnz + 1) * sizeof *own->place);
    const bool made = own->row_ptr && own->place &&
                      numbers_alloc(&own->master, PRECISION_FP32, nnz) &&
                      numbers_alloc(&own->W, p->precision, nnz) &&
                      numbers_alloc(&own->by_column, p->precision, nnz) &&
                      numbers_alloc(&own->X, p->precision, T * X_step) &&
                      numbers_alloc(&own->dY, p->precision, T * dY_step);
    return made ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for X, dY and the copies of W");
}

/* Fills the places of T's nonzeros in W. The host's transposition keeps the order of what is stored twice. */
static bool fill_places(const csr_matrix *A, layer_problem *own)
{
    int64_t *next = malloc((A->cols + 1) * sizeof *next);
    if (!next) return false;
    memcpy(next, own->T.row_ptr, (A->cols + 1) * sizeof *next);
    for (int64_t z = 0; z < A->nnz; z++)
        own->place[next[A->col_idx[z]]++] = (int32_t)z;
    free(next);
    return true;
}

static void fill_weights(const problem *p, layer_problem *own, int most)
{
    const csr_matrix *A = p->A;
    const uint64_t of_values = random_substream(p->seed, VALUES);
    for (int64_t z = 0; z < A->nnz; z++) {
        const float w = A->values && !p->whole ? A->values[z] : input_number(most, of_values, z);
        own->master.own[z] = own->W.own[z] = w;
    }
    for (int64_t i = 0; i < A->nnz; i++)
        own->by_column.own[i] = own->master.own[own->place[i]];
    numbers_round(&own->W);
    numbers_round(&own->by_column);
}

/* Fills the time steps of X or dY. Rows that no nonzero names, and what lies between two time steps, are no numbers. */
static void fill_dense(const problem *p, numbers *n, size_t step, int64_t rows, const uint8_t *used,
                       int most, int input)
{
    const size_t elements = (size_t)rows * p->width;
    for (int t = 0; t < steps_of(p); t++) {
        numbers part = {.own = n->own + t * step};
        numbers_fill_rows(&part, rows, p->width, used, most,
                          random_substream(p->seed, (uint64_t)(16 * t + input)));
        for (size_t at = elements; at < step; at++)
            part.own[at] = NAN;
    }
    numbers_round(n);
}

static enum status fill(problem *p, int most, error_text *error)
{
    const csr_matrix *A = p->A;
    layer_problem *own = p->own;
    uint8_t *row_used = dataset_mark_rows(p), *column_used = dataset_mark_columns(p);
    const bool made = row_used && column_used && fill_places(A, own);
    if (made) {
        fill_weights(p, own, most);
        fill_dense(p, &own->X, own->X_step, A->cols, column_used, most, X_DENSE);
        fill_dense(p, &own->dY, own->dY_step, A->rows, row_used, most, DY_DENSE);
    }
    free(row_used);
    free(column_used);
    return made ? STATUS_OK
                : fail(error, STATUS_MEMORY, "no memory to mark the rows and columns of W");
}

/* No x or dy is larger than 1, so that no sum is larger than those of |W|. `rows`: of W, or of its transpose. */
static enum status require_finite(const problem *p, const csr_matrix *rows, const numbers *values,
                                  const char *what, error_text *error)
{
    const double largest = precision_format(p->precision)->largest / 2;
    for (int64_t i = 0; i < rows->rows; i++) {
        double sum = 0;
        for (int64_t z = rows->row_ptr[i]; z < rows->row_ptr[i + 1]; z++)
            sum += fabs((double)values->floats[z]);
        if (sum > fmin(largest, FLT_MAX / 2))
            return fail(error, p->precision == PRECISION_FP32 ? STATUS_DATASET : STATUS_SKIPPED,
                        "%s %lld: values that add up to %.3g overflow %s when multiplied", what,
                        (long long)i, sum, precision_name(p->precision));
    }
    return STATUS_OK;
}

/* Sums of all three products must be exact; so must the gradient of a time step be in 16 bits, for kernels may leave it
 * in memory. A number of u = 2^-11 holds whole ones up to 2^11. */
static int whole_limit(const problem *p)
{
    const layer_problem *own = p->own;
    int64_t longest = p->stats.max;
    for (int64_t j = 0; j < own->T.rows; j++) {
        const int64_t length = own->T.row_ptr[j + 1] - own->T.row_ptr[j];
        if (length > longest) longest = length;
    }
    const int of_sums = rounding_whole_limit(p->precision, (double)longest, 2);
    const double all = (double)p->width * steps_of(p);
    int most = rounding_whole_limit(PRECISION_FP32, all, 2);
    if (of_sums < most) most = of_sums;
    while (most > 0 &&
           (double)p->width * most * most > 1 / precision_format(p->precision)->unit_roundoff)
        most--;
    return most;
}

static void describe(problem *p)
{
    static const char *const Y_NAMES[] = {"Y", "Y of step 1", "Y of step 2"};
    static const char *const DX_NAMES[] = {"dX", "dX of step 1", "dX of step 2"};
    const csr_matrix *A = p->A;
    const layer_problem *own = p->own;
    const int T = steps_of(p);
    p->inputs[ROW_PTR] = dataset_offsets_operand(A, own->row_ptr, "W.row_ptr");
    p->inputs[COL_IDX] = dataset_columns_operand(A, "W.col_idx");
    p->inputs[VALUES] = numbers_operand(&own->master, "W.values");
    p->inputs[X_DENSE] = numbers_operand(&own->X, "X");
    p->inputs[DY_DENSE] = numbers_operand(&own->dY, "dY");
    p->inputs[BY_COLUMN] = numbers_operand(&own->by_column, "W by column");
    p->num_inputs = both_orders(p) ? BY_COLUMN + 1 : BY_COLUMN;
    for (int t = 0; t < T; t++) {
        p->outputs[t] = (output){
            .name = Y_NAMES[t], .precision = p->precision, .rows = A->rows, .cols = p->width};
        p->outputs[T + t] = (output){
            .name = DX_NAMES[t], .precision = p->precision, .rows = A->cols, .cols = p->width};
    }
    p->outputs[2 * T] = (output){.name = "the new W",
                                 .precision = PRECISION_FP32,
                                 .rows = A->rows,
                                 .cols = A->cols,
                                 .row_ptr = A->row_ptr,
                                 .col_idx = A->col_idx};
    p->outputs[2 * T + 1] = (output){.name = "the new W by column",
                                     .precision = p->precision,
                                     .rows = A->cols,
                                     .cols = A->rows,
                                     .row_ptr = own->T.row_ptr,
                                     .col_idx = own->T.col_idx};
    p->num_outputs = both_orders(p) ? 2 * T + 2 : 2 * T + 1;
}

static enum status create(problem *p, error_text *error)
{
    enum status status = dataset_check(p, "training", error);
    if (status != STATUS_OK) return status;
    status = allocate(p, error);
    layer_problem *own = p->own;
    const int most = status == STATUS_OK && p->whole ? whole_limit(p) : 0;
    if (status == STATUS_OK && p->whole && !most)
        status = fail(error, STATUS_SKIPPED, "sums of so many terms are not exact");
    if (status == STATUS_OK) status = fill(p, most, error);
    if (status == STATUS_OK && !p->whole) {
        status = require_finite(p, p->A, &own->W, "row", error);
        if (status == STATUS_OK)
            status = require_finite(p, &own->T, &own->by_column, "column", error);
    }
    if (status == STATUS_OK)
        describe(p);
    else
        destroy(p);
    return status;
}

/* ---- the step and its bounds ----------------------------------------------------------------- */

/* A number and how far a correct kernel may be off it. */
typedef struct bounded {
    double value, bound;
} bounded;

/* Whether a row's columns ascend, each named once. Else products share a random factor, and the bound of random signs
 * does not hold as it stands (rounding.h). */
static bool ascends(const csr_matrix *rows, int64_t row)
{
    for (int64_t z = rows->row_ptr[row] + 1; z < rows->row_ptr[row + 1]; z++)
        if (rows->col_idx[z - 1] >= rows->col_idx[z]) return false;
    return true;
}

/* A row of Y or dX: that of `rows`, W or its transpose, times `table`. */
WIDE_INLINE void product_row(const problem *p, const csr_matrix *rows, const numbers *values,
                             const float *table, int64_t row, double *reference, double *bound)
{
    const int64_t start = rows->row_ptr[row], end = rows->row_ptr[row + 1];
    const bool random = ascends(rows, row);
    for (int first = 0; first < p->width; first += SUM_COLUMNS) {
        const int columns = p->width - first < SUM_COLUMNS ? p->width - first : SUM_COLUMNS;
        sum_columns c = {0};
        for (int64_t z = start; z < end; z++) {
            const float *x = table + (size_t)rows->col_idx[z] * p->width + first;
            sum_columns_add(&c, values->floats[z], x, columns);
            sum_columns_add_squares(&c, values->floats[z], x, columns);
        }
        for (int j = 0; j < columns && !random; j++)
            c.squares[j] = INFINITY;
        sum_columns_store(&c, end - start, columns, p, reference + first, bound + first);
    }
}

/*
 * A weight after the step. Its gradient is a sum of T * N random products, formed at once or by time step. By time step
 * the errors add up, and that of the largest product and of the result is there T times: their sums are what the bound of
 * one long sum takes. A time step's gradient may be rounded to 16 bits. Adding T of them, scaling, and subtracting
 * from w round T + 2 times. Each time the error is u of a number of at most |w| + eta S, where S is the sum of the
 * gradients' sizes.
 */
WIDE_INLINE bounded new_weight(const problem *p, int64_t row, int64_t z)
{
    const layer_problem *own = p->own;
    const int N = p->width, T = steps_of(p);
    const double w = own->master.floats[z], u16 = precision_format(p->precision)->unit_roundoff;
    product_sum all = {0};
    double gradient = 0, stored = 0;
    for (int t = 0; t < T; t++) {
        const float *dy = own->dY.floats + t * own->dY_step + (size_t)row * N;
        const float *x = own->X.floats + t * own->X_step + (size_t)p->A->col_idx[z] * N;
        const product_sum one = product_sum_dot(dy, 1, x, 1, N);
        gradient += one.result;
        all.n += one.n;
        all.size += one.size;
        all.squares += one.squares;
        all.largest += one.largest;
        all.result += fabs(one.result);
        if (p->precision != PRECISION_FP32)
            stored += u16 * (fabs(one.result) + rounding_bound(&one)) +
                      precision_format(p->precision)->least / 2;
    }
    const double value = w - ETA * gradient;
    if (p->whole) return (bounded){value, 0};
    const double off = rounding_bound(&all) + stored;
    const double rounded = ROUNDOFF * (T + 2) * (fabs(w) + ETA * (all.result + off));
    return (bounded){value, ETA * off + rounded};
}

/* W by columns is what W is, rounded once. Of whole numbers there is one right result. */
WIDE_INLINE bounded rounded_weight(const problem *p, int64_t row, int64_t z)
{
    const bounded w = new_weight(p, row, z);
    if (p->whole) return (bounded){precision_round(p->precision, (float)w.value), 0};
    return (bounded){w.value, rounding_stored(p->precision, w.value, w.bound)};
}

WIDE_VECTORS
static void oracle(const problem *p, int output, int64_t row, double *reference, double *bound)
{
    const layer_problem *own = p->own;
    const int T = steps_of(p);
    if (output < T) {
        product_row(p, p->A, &own->W, own->X.floats + output * own->X_step, row, reference, bound);
        return;
    }
    if (output < 2 * T) {
        const float *dY = own->dY.floats + (output - T) * own->dY_step;
        product_row(p, &own->T, &own->by_column, dY, row, reference, bound);
        return;
    }
    const csr_matrix *rows = output == 2 * T ? p->A : &own->T;
    const int64_t first = rows->row_ptr[row];
    for (int64_t i = first; i < rows->row_ptr[row + 1]; i++) {
        const bounded w = output == 2 * T ? new_weight(p, row, i)
                                          : rounded_weight(p, rows->col_idx[i], own->place[i]);
        reference[i - first] = w.value;
        bound[i - first] = w.bound;
    }
}

/* Only Y and the new W have W's rows: a row of the others beyond them is said to have none. */
static int64_t row_length(const problem *p, int64_t row)
{
    return row < p->A->rows ? dataset_row_length(p, row) : 0;
}

/* Products behind an element: of Y and dX those of W's row or column, of a new weight T gradients of N each. */
static int64_t products(const problem *p, int output, int64_t row, int64_t place)
{
    const layer_problem *own = p->own;
    const int T = steps_of(p);
    (void)place;
    if (output >= 2 * T) return (int64_t)T * p->width;
    return output < T ? dataset_row_length(p, row) : own->T.row_ptr[row + 1] - own->T.row_ptr[row];
}

/* ---- explanations ---------------------------------------------------------------------------- */

/* A weight after the step if only the last of the time steps counts. */
static double of_last_step(const problem *p, int64_t row, int64_t z)
{
    const layer_problem *own = p->own;
    const int last = steps_of(p) - 1;
    const float *dy = own->dY.floats + last * own->dY_step + (size_t)row * p->width;
    const float *x = own->X.floats + last * own->X_step + (size_t)p->A->col_idx[z] * p->width;
    double gradient = 0;
    for (int n = 0; n < p->width; n++)
        gradient += (double)dy[n] * x[n];
    return own->master.floats[z] - ETA * gradient;
}

static void explain(const problem *p, int output, int64_t row, int64_t place, double got,
                    char *text, size_t bytes)
{
    const layer_problem *own = p->own;
    const int T = steps_of(p);
    const bool by_column = output == 2 * T + 1;
    text[0] = 0;
    if (output < 2 * T) return;
    const csr_matrix *rows = by_column ? &own->T : p->A;
    const int64_t at = rows->row_ptr[row] + place, z = by_column ? own->place[at] : at;
    const int64_t of = by_column ? rows->col_idx[at] : row;
    const double w = own->master.floats[z], right = new_weight(p, of, z).value;
    const double near = 0x1p-16 + 4 * precision_format(p->precision)->unit_roundoff;
    if (fabs(got - w) <= near * fabs(w))
        snprintf(text, bytes, "it is the weight before the step");
    else if (fabs(got - (2 * w - right)) <= near * (fabs(w) + fabs(right)))
        snprintf(text, bytes, "the gradient was added, not subtracted");
    else if (T > 1 && fabs(got - of_last_step(p, of, z)) <= near * (fabs(w) + fabs(right)))
        snprintf(text, bytes, "the last time step's gradient stands in place of the sum of all");
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* Parts of the numbers of bytes; asked of problems that did not fit, too. */
typedef struct sizes {
    double element, nnz, rows, cols, used_rows, used_columns, row_bytes, T;
} sizes;

static sizes sizes_of(const problem *p)
{
    const double element = precision_format(p->precision)->bytes;
    return (sizes){.element = element,
                   .nnz = p->A->nnz,
                   .rows = p->A->rows,
                   .cols = p->A->cols,
                   .used_rows = p->A->rows - p->stats.empty_rows,
                   .used_columns = p->used_columns,
                   .row_bytes = element * p->width,
                   .T = steps_of(p)};
}

/* The pattern once, and the weights: read and written, in one order or two. */
static double weights_read(const problem *p, const sizes *s)
{
    return 4 * (s->rows + 1) + (8 + (both_orders(p) ? s->element : 0)) * s->nnz;
}
static double weights_written(const problem *p, const sizes *s)
{
    return (4 + (both_orders(p) ? s->element : 0)) * s->nnz;
}

/* Counts three products on the nonzeros, and the update. In every time step each nonzero fetches three rows: of X for Y,
 * of dY for dX, and of X for its gradient. */
static void cost(const problem *p, cost_model *model)
{
    const sizes s = sizes_of(p);
    const double rows = s.T * s.row_bytes * s.nnz;
    const double dense_read = s.T * s.row_bytes * (s.used_columns + s.used_rows);
    const double dense_written = s.T * s.row_bytes * (s.rows + s.cols);
    const double weights = weights_read(p, &s) + weights_written(p, &s);
    *model = (cost_model){
        .flops = 6 * s.nnz * p->width * s.T + 2 * s.nnz,
        .compulsory_bytes = weights + dense_read + dense_written,
        .gathers = {{weights + rows + dense_written + s.T * s.row_bytes * s.used_rows, s.row_bytes,
                     s.row_bytes * s.cols},
                    {rows, s.row_bytes, s.row_bytes * s.rows},
                    {rows, s.row_bytes, s.row_bytes * s.cols}},
        .num_gathers = 3,
    };
}

/* ---- instances ------------------------------------------------------------------------------- */

typedef struct layer_instance {
    sparse_layer_inputs in;
    size_t X_step, dY_step; /* bytes */
    sparse_layer_plan plan;
} layer_instance;

static const sparse_layer_contender *of(const contender *c)
{
    return (const sparse_layer_contender *)c;
}

static void choose(const contender *c, const problem *p, int *tuning)
{
    (void)p; /* what there is to choose depends on the transpose, which prepare makes */
    contender_initial_tuning(c, tuning);
}

/* The pattern's columns, the weights, and each dense number once. One that is dense reads, multiplies and writes all of W,
 * in the precision of the products. */
static void least(const problem *p, const void *instance, least_work *l)
{
    const contender *c = &((const layer_instance *)instance)->plan.contender->base;
    const sizes s = sizes_of(p);
    const double all = s.rows * s.cols, named = s.used_columns + s.used_rows;
    *l = (least_work){
        .read_bytes = c->dense ? s.element * all + s.T * s.row_bytes * (s.rows + s.cols)
                               : 8 * s.nnz + s.T * s.row_bytes * named,
        .write_bytes = s.T * s.row_bytes * (s.rows + s.cols) + weights_written(p, &s),
        .flops = 6. * p->width * s.T * (c->dense ? all : s.nnz),
        .unit = c->unit,
    };
}

/* Columns and weights of all nonzeros, and the rows that some nonzero names. Whoever transposes the weights himself needs
 * no others. */
static int64_t needs(const problem *p, int input, bool handed)
{
    const int64_t element = (int64_t)p->inputs[input].element;
    const int64_t of_row = element * p->width * steps_of(p);
    if (input == COL_IDX) return handed ? 0 : element * p->A->nnz;
    if (input == VALUES) return element * p->A->nnz;
    if (input == X_DENSE) return of_row * p->used_columns;
    if (input == DY_DENSE) return of_row * (p->A->rows - p->stats.empty_rows);
    return 0;
}

static void rebind(void *instance, void *const *d_inputs)
{
    layer_instance *self = instance;
    for (int t = 0; t < self->plan.steps; t++) {
        self->in.X[t] = (const char *)d_inputs[X_DENSE] + t * self->X_step;
        self->in.dY[t] = (const char *)d_inputs[DY_DENSE] + t * self->dY_step;
    }
    self->in.by_column = self->plan.both_orders ? d_inputs[BY_COLUMN] : NULL;
}

static cudaError_t prepare(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance)
{
    const size_t element = precision_format(p->precision)->bytes;
    layer_instance *self = calloc(1, sizeof *self);
    if (!self) return cudaErrorMemoryAllocation;
    self->X_step = element * step_elements(p, p->A->cols);
    self->dY_step = element * step_elements(p, p->A->rows);
    self->plan = (sparse_layer_plan){
        .W = dataset_on_device(p, d_inputs[ROW_PTR], d_inputs[COL_IDX], NULL),
        .N = p->width,
        .contender = of(c),
        .steps = steps_of(p),
        .both_orders = both_orders(p),
        .eta = ETA,
    };
    self->plan.W.d_values = d_inputs[VALUES];
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
    const layer_instance *self = instance;
    const sparse_layer_plan *plan = &self->plan;
    const int T = plan->steps;
    sparse_layer_outputs out = {.W = d_outputs[2 * T]};
    for (int t = 0; t < T; t++) {
        out.Y[t] = d_outputs[t];
        out.dX[t] = d_outputs[T + t];
    }
    if (plan->both_orders) out.by_column = d_outputs[2 * T + 1];
    return plan->contender->run(plan, &self->in, &out, stream);
}

static void release(void *instance)
{
    layer_instance *self = instance;
    if (self->plan.contender->release) self->plan.contender->release(&self->plan);
    free(self);
}

/* A lab takes the weights that are there in each run: it is not told that there are others. */
static cudaError_t update_values(void *instance)
{
    sparse_layer_plan *plan = &((layer_instance *)instance)->plan;
    const sparse_layer_contender *c = plan->contender;
    return c->update_values && !c->base.lab ? c->update_values(plan) : cudaSuccess;
}

static const contender *nested(const void *instance, int depth, const int **tuning)
{
    const sparse_layer_plan *plan = &((const layer_instance *)instance)->plan;
    const sparse_layer_contender *c = plan->contender;
    return c->nested ? c->nested(plan, depth, tuning) : NULL;
}

static size_t workspace_bytes(const void *instance)
{
    const sparse_layer_plan *plan = &((const layer_instance *)instance)->plan;
    const sparse_layer_contender *c = plan->contender;
    return c->workspace_bytes ? c->workspace_bytes(plan) : 0;
}

const operation sparse_layer_operation = {
    .name = "sparse_layer",
    .width = "N",
    .width_meaning = "columns of X and dY: the batch",
    .knobs = {[KNOB_STEPS] = {"STEPS", "time steps whose gradients are summed", {1, 2, 3}, 3, 1},
              [KNOB_ORDERS] =
                  {"ORDERS", "orders of W that the layer keeps: by row, by column", {1, 2}, 2, 1}},
    .exact_in_whole_numbers = true,
    .create = create,
    .destroy = destroy,
    .oracle = oracle,
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
    .nested = nested,
    .workspace_bytes = workspace_bytes,
};
OPERATION_REGISTER(sparse_layer_operation)
