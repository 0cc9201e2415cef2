/*
 * sddmm.c - D = W o (X * Y^T) on the pattern of W (CSR), X and Y dense and row-major, all of one
 * precision.
 */
#include "ops/sddmm.h"

#include "device/facts.h"
#include "matrix/memory.h"
#include "matrix/random.h"
#include "ops/inputs.h"
#include "ops/product_sums.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inputs come in this order; without values the last two move up by one. */
enum { ROW_PTR, COL_IDX, VALUES, X_DENSE, Y_DENSE, NUM_INPUTS };

/* The inputs that are not the dataset's own arrays. */
typedef struct sddmm_inputs {
    int32_t *row_ptr;
    numbers values; /* of W's nonzeros; no floats where all weights are 1 */
    numbers X, Y;
} sddmm_inputs;

static void destroy(problem *p)
{
    sddmm_inputs *own = p->own;
    if (!own) return;
    free(own->row_ptr);
    numbers_free(&own->values);
    numbers_free(&own->X);
    numbers_free(&own->Y);
    free(own);
    p->own = NULL;
}

/* ---- the product and its bound --------------------------------------------------------------- */

/* A number and how far a correct kernel may be off it. */
typedef struct bounded {
    double value, bound;
} bounded;

static double weight_of(const problem *p, int64_t z)
{
    const float *values = ((const sddmm_inputs *)p->own)->values.floats;
    return values ? values[z] : 1;
}

/* The sum over the first `features` of row x of X and row y of Y, times w. Of whole numbers the nearest number of the
 * precision is the one right result.
 *
 * The sum is bounded as every sum of random products is (rounding.c); X and Y are random. The
 * multiplication by w scales the sum's error. It rounds once more, whether it comes last or is applied
 * to each x before: by u |w| S at most, or by u |d|. The 4 of the one bound and the 2 |result| of the
 * other have room for that.
 *
 * Products of x and y are 0 or at least 2^-46, so that only those with w underflow. They are K
 * products and a last one, off by half of 2^-149 each: (K + 1) 2^-149 is enough. */
WIDE_INLINE bounded product(const problem *p, int64_t x, int64_t y, int features, double w)
{
    const sddmm_inputs *own = p->own;
    const float *X = own->X.floats + (size_t)x * p->width;
    const float *Y = own->Y.floats + (size_t)y * p->width;
    const product_sum s = product_sum_dot(X, 1, Y, 1, features);
    if (p->whole) return (bounded){precision_round(p->precision, (float)(w * s.result)), 0};
    const double value = w * s.result,
                 error = fabs(w) * rounding_bound(&s) + 0x1p-149 * (features + 1);
    return (bounded){value, rounding_stored(p->precision, value, error)};
}

/* D[z], the nonzero of that row. */
WIDE_INLINE bounded element_of(const problem *p, int64_t row, int64_t z)
{
    return product(p, row, p->A->col_idx[z], p->width, weight_of(p, z));
}

WIDE_VECTORS
static void oracle(const problem *p, int output, int64_t row, double *reference, double *bound)
{
    (void)output; /* there is one */
    const int64_t first = p->A->row_ptr[row], end = p->A->row_ptr[row + 1];
    for (int64_t z = first; z < end; z++) {
        const bounded d = element_of(p, row, z);
        reference[z - first] = d.value;
        bound[z - first] = d.bound;
    }
}

/* Products behind an element: a nonzero's dot has K, however many its row has. */
static int64_t products(const problem *p, int output, int64_t row, int64_t place)
{
    (void)output, (void)row, (void)place;
    return p->width;
}

/* ---- the problem ----------------------------------------------------------------------------- */

/* No x or y is larger than 1, so this keeps every sum, weighed before or after, below FLT_MAX. */
static enum status require_finite_products(const problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    for (int64_t i = 0; A->values && i < A->rows; i++)
        for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++)
            if (fabs((double)A->values[z]) * p->width > FLT_MAX / 2)
                return fail(error, STATUS_DATASET,
                            "row %lld: %d products with the value %.3g overflow fp32", (long long)i,
                            p->width, (double)A->values[z]);
    return STATUS_OK;
}

/* Only fp16 ends so early that a sum of products may lie beyond it. Elements that could are
 * computed to find out. */
static enum status require_finite_results(const problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    const double largest = precision_format(p->precision)->largest;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t z = A->row_ptr[i]; z < A->row_ptr[i + 1]; z++) {
            if (fabs(weight_of(p, z)) * p->width <= largest / 2) continue;
            const bounded d = element_of(p, i, z);
            if (fabs(d.value) + d.bound > largest)
                return fail(error, STATUS_SKIPPED, "row %lld: a result of %.3g overflows %s",
                            (long long)i, d.value, precision_name(p->precision));
        }
    return STATUS_OK;
}

/* Makes room for the operands. The values of the dataset serve as they are where they are fp32. */
static enum status allocate(problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    const size_t num_X = (size_t)A->rows * p->width, num_Y = (size_t)A->cols * p->width;
    const bool narrowed = A->values && (p->precision != PRECISION_FP32 || p->whole);
    const size_t bytes = (A->rows + 1) * sizeof(int32_t) + numbers_bytes(p->precision, num_X) +
                         numbers_bytes(p->precision, num_Y) +
                         (narrowed ? numbers_bytes(p->precision, A->nnz) : 0);
    error_text reason;
    enum status status = memory_check(bytes, "the problem", &reason);
    if (status != STATUS_OK) return fail(error, status, "%s; try a smaller K", reason.text);
    sddmm_inputs *own = calloc(1, sizeof *own);
    p->own = own;
    if (own) {
        own->row_ptr = dataset_offsets(A);
        if (A->values && !narrowed) numbers_borrow(&own->values, A->values, A->nnz);
        const bool values = !narrowed || numbers_alloc(&own->values, p->precision, A->nnz);
        if (own->row_ptr && values && numbers_alloc(&own->X, p->precision, num_X) &&
            numbers_alloc(&own->Y, p->precision, num_Y))
            return STATUS_OK;
    }
    destroy(p);
    return fail(error, STATUS_MEMORY, "no memory for X, Y and the copies of W");
}

/* Fills the values that are not borrowed, X and Y, but for rows that no nonzero names. most: see input_number. */
static enum status fill(problem *p, int most, error_text *error)
{
    const csr_matrix *A = p->A;
    sddmm_inputs *own = p->own;
    uint8_t *row_used = dataset_mark_rows(p), *column_used = dataset_mark_columns(p);
    const bool marked = row_used && column_used;
    const uint64_t of_values = random_substream(p->seed, VALUES);
    for (int64_t z = 0; own->values.own && z < A->nnz; z++)
        own->values.own[z] = p->whole ? input_number(most, of_values, z) : A->values[z];
    if (marked) {
        numbers_fill_rows(&own->X, A->rows, p->width, row_used, most,
                          random_substream(p->seed, X_DENSE));
        numbers_fill_rows(&own->Y, A->cols, p->width, column_used, most,
                          random_substream(p->seed, Y_DENSE));
    }
    free(row_used);
    free(column_used);
    return marked ? STATUS_OK
                  : fail(error, STATUS_MEMORY, "no memory to mark the rows and columns of W");
}

static void describe(problem *p)
{
    const csr_matrix *A = p->A;
    const sddmm_inputs *own = p->own;
    int n = 0;
    p->inputs[n++] = dataset_offsets_operand(A, own->row_ptr, "W.row_ptr");
    p->inputs[n++] = dataset_columns_operand(A, "W.col_idx");
    if (own->values.floats) p->inputs[n++] = numbers_operand(&own->values, "W.values");
    p->inputs[n++] = numbers_operand(&own->X, "X");
    p->inputs[n++] = numbers_operand(&own->Y, "Y");
    p->num_inputs = n;
    p->outputs[0] = (output){.name = "D",
                             .precision = p->precision,
                             .rows = A->rows,
                             .cols = A->cols,
                             .row_ptr = A->row_ptr,
                             .col_idx = A->col_idx};
    p->num_outputs = 1;
}

static enum status create(problem *p, error_text *error)
{
    const int factors = p->A->values ? 3 : 2;
    const int most = p->whole ? rounding_whole_limit(p->precision, p->width, factors) : 0;
    if (p->whole && !most)
        return fail(error, STATUS_SKIPPED, "%d features have no exact sum", p->width);
    enum status status = dataset_check(p, "SDDMM", error);
    if (status == STATUS_OK && !p->whole) status = require_finite_products(p, error);
    if (status == STATUS_OK) status = allocate(p, error);
    if (status != STATUS_OK) return status;
    sddmm_inputs *own = p->own;
    status = fill(p, most, error);
    if (status == STATUS_OK) {
        numbers_round(&own->values);
        numbers_round(&own->X);
        numbers_round(&own->Y);
        if (p->precision != PRECISION_FP32 && !p->whole) status = require_finite_results(p, error);
    }
    if (status == STATUS_OK)
        describe(p);
    else
        destroy(p);
    return status;
}

/* ---- explanations ---------------------------------------------------------------------------- */

/* Whether a kernel that computes d may have got that number. */
static bool fits(double got, bounded d)
{
    return fabs(got - d.value) <= d.bound;
}

/* The row of nonzero z, sought from `row` on. */
static int64_t row_of(const csr_matrix *A, int64_t row, int64_t z)
{
    while (z < A->row_ptr[row])
        row--;
    while (z >= A->row_ptr[row + 1])
        row++;
    return row;
}

/* How many features a kernel took that steps by 32, 16, 8 or 4 and forgets the rest; 0: none did.
 */
static int features_taken(const problem *p, int64_t row, int64_t z, double got)
{
    for (int step = 32; step >= 4; step /= 2) {
        const int taken = (p->width - 1) / step * step;
        if (taken && fits(got, product(p, row, p->A->col_idx[z], taken, weight_of(p, z))))
            return taken;
    }
    return 0;
}

/* Whether it is the value of a nonzero beside z, or of the same aligned eight: those that a group
 * of lanes would take together. */
static bool is_of_another(const problem *p, int64_t row, int64_t z, double got)
{
    const csr_matrix *A = p->A;
    const int64_t eight = z & ~INT64_C(7), last = eight + 8 < z + 2 ? z + 2 : eight + 8;
    for (int64_t other = eight < z - 1 ? eight : z - 1; other < last; other++)
        if (other >= 0 && other < A->nnz && other != z &&
            fits(got, element_of(p, row_of(A, row, other), other)))
            return true;
    return false;
}

/* Whether it was formed with the row of X of one of the 31 nonzeros before: that of a lane group's
 * last row, not replaced where the row changed. */
static bool has_earlier_row(const problem *p, int64_t row, int64_t z, double got)
{
    const csr_matrix *A = p->A;
    while (A->row_ptr[row] > 0 && A->row_ptr[row] > z - 31) {
        row = row_of(A, row, A->row_ptr[row] - 1);
        if (fits(got, product(p, row, A->col_idx[z], p->width, weight_of(p, z)))) return true;
    }
    return false;
}

/* Each of these is judged by the bound of what such a kernel computes: its error is that of a
 * correct one with fewer features, another weight or other rows. */
static void explain(const problem *p, int output, int64_t row, int64_t place, double got,
                    char *text, size_t bytes)
{
    (void)output;
    const int64_t z = p->A->row_ptr[row] + place;
    const int taken = features_taken(p, row, z, got);
    text[0] = 0;
    if (taken)
        snprintf(text, bytes, "only the first %d of %d features were summed", taken, p->width);
    else if (fits(got, product(p, row, p->A->col_idx[z], p->width, 1)))
        snprintf(text, bytes, "the weight was not multiplied in");
    else if (is_of_another(p, row, z, got))
        snprintf(text, bytes, "it holds the value of another nonzero, at most 7 places away");
    else if (has_earlier_row(p, row, z, got))
        snprintf(text, bytes, "the row of X was that of an earlier nonzero");
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* Bytes of W and D, with e bytes an element: for each nonzero its column, its value if it has one,
 * and the result; for each row an offset. Asked of problems that did not fit, too: nothing is made. */
static double sparse_bytes(const problem *p)
{
    const double e = precision_format(p->precision)->bytes;
    return (4 + (p->A->values ? 2 : 1) * e) * p->A->nnz + 4 * (p->A->rows + 1.);
}

/* Compulsory: W, D, and once each row of X and Y that some nonzero names. Gather: every nonzero
 * fetches its own eK-byte row of Y, while the row of X is the same all along a row of W. */
static void cost(const problem *p, cost_model *model)
{
    const double nnz = p->A->nnz, used_rows = p->A->rows - p->stats.empty_rows;
    const double row_bytes = precision_format(p->precision)->bytes * p->width;
    *model = (cost_model){
        .flops = 2 * nnz * p->width,
        .compulsory_bytes = sparse_bytes(p) + row_bytes * (used_rows + p->used_columns),
        .gathers = {{.bytes = sparse_bytes(p) + row_bytes * (nnz + used_rows),
                     .row = row_bytes,
                     .span = row_bytes * p->A->cols}},
        .num_gathers = 1,
    };
}

/* ---- contenders ------------------------------------------------------------------------------ */

const sddmm_contender *sddmm_of(const contender *c)
{
    return (const sddmm_contender *)c;
}

size_t sddmm_csr_bytes(const sddmm_plan *plan)
{
    const device_csr *W = &plan->W;
    const size_t element = precision_format(plan->contender->base.precision)->bytes;
    const size_t value = W->d_values || W->d_values16 ? element : 0;
    return ((size_t)W->rows + 1) * sizeof(int) + W->nnz * (sizeof(int) + value);
}

void sddmm_choose(const sddmm_contender *c, const row_stats *stats, int K, int *tuning)
{
    contender_initial_tuning(&c->base, tuning);
    if (c->choose) c->choose(stats, K, tuning);
}

static void choose(const contender *c, const problem *p, int *tuning)
{
    sddmm_choose(sddmm_of(c), &p->stats, p->width, tuning);
}

const sddmm_contender *sddmm_find(const char *name, enum precision precision)
{
    return sddmm_of(contender_find(&sddmm_operation, name, precision));
}

cudaError_t sddmm_nest(sddmm_plan *plan, const sddmm_contender *c, const int *tuning)
{
    plan->nested = NULL;
    if (c->base.min_compute_capability > device_facts_get()->compute_capability)
        return cudaErrorNotSupported;
    sddmm_plan *inner = calloc(1, sizeof *inner);
    if (!inner) return cudaErrorMemoryAllocation;
    *inner = (sddmm_plan){.W = plan->W, .K = plan->K, .contender = c};
    if (tuning)
        memcpy(inner->tuning, tuning, contender_num_tunables(&c->base) * sizeof *tuning);
    else
        sddmm_choose(c, plan->W.stats, plan->K, inner->tuning);
    const cudaError_t error = c->prepare ? c->prepare(inner) : cudaSuccess;
    if (error == cudaSuccess)
        plan->nested = inner;
    else
        free(inner);
    return error;
}

cudaError_t sddmm_nest_named(sddmm_plan *plan, const char *name)
{
    const sddmm_contender *c = sddmm_find(name, plan->contender->base.precision);
    return c ? sddmm_nest(plan, c, NULL) : cudaErrorNotSupported;
}

int sddmm_nested_value(const sddmm_plan *plan, const tunable *t)
{
    return tunable_naming(t, plan->nested ? &plan->nested->contender->base : NULL);
}

cudaError_t sddmm_nested_run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                             cudaStream_t stream)
{
    const sddmm_plan *inner = plan->nested;
    return inner ? inner->contender->run(inner, X, Y, D, stream) : cudaSuccess;
}

cudaError_t sddmm_nested_run16(const sddmm_plan *plan, const void *X, const void *Y, void *D,
                               cudaStream_t stream)
{
    const sddmm_plan *inner = plan->nested;
    return inner ? inner->contender->run16(inner, X, Y, D, stream) : cudaSuccess;
}

cudaError_t sddmm_nested_update_values(sddmm_plan *plan)
{
    sddmm_plan *inner = plan->nested;
    const bool needs = inner && inner->contender->update_values;
    return needs ? inner->contender->update_values(inner) : cudaSuccess;
}

void sddmm_nested_release(sddmm_plan *plan)
{
    sddmm_plan *inner = plan->nested;
    if (!inner) return;
    if (inner->contender->release) inner->contender->release(inner);
    free(inner);
    plan->nested = NULL;
}

/* ---- instances ------------------------------------------------------------------------------- */

/* A plan, and the X and Y it multiplies. */
typedef struct sddmm_instance {
    int dense; /* which input X is; the next is Y */
    const void *d_X, *d_Y;
    sddmm_plan plan;
} sddmm_instance;

/* The plan that does the work. */
static const sddmm_plan *innermost(const void *instance)
{
    const sddmm_plan *plan = &((const sddmm_instance *)instance)->plan;
    while (plan->nested)
        plan = plan->nested;
    return plan;
}

/* Reads: W as it is stored, and once each row of X and Y that some nonzero names. Writes: D. A
 * dense contender forms all products, from all rows of X and Y; how it stores the pattern is not
 * known. */
static void least(const problem *p, const void *instance, least_work *l)
{
    const sddmm_plan *plan = innermost(instance);
    const sddmm_contender *c = plan->contender;
    const double rows = p->A->rows, cols = p->A->cols, nnz = p->A->nnz;
    const double element = precision_format(p->precision)->bytes, row_bytes = element * p->width;
    const bool is_dense = c->base.dense;
    const double stored = c->format_bytes ? (double)c->format_bytes(plan)
                          : is_dense      ? 0
                                          : (double)sddmm_csr_bytes(plan);
    const double named = is_dense ? rows + cols : rows - p->stats.empty_rows + p->used_columns;
    *l = (least_work){
        .read_bytes = stored + row_bytes * named,
        .write_bytes = element * nnz,
        .flops = 2. * p->width * (is_dense ? rows * cols : nnz),
        .unit = c->base.unit,
    };
}

/* Columns and values of all nonzeros, and the rows of X and Y that some nonzero names. Of the offsets
 * nothing is certain: a format that stores a row with each nonzero has none. */
static int64_t needs(const problem *p, int input, bool handed)
{
    const int64_t element = (int64_t)p->inputs[input].element;
    const int dense = p->num_inputs - 2; /* X, then Y; there may be no values before them */
    if (input == dense) return element * (p->A->rows - p->stats.empty_rows) * p->width;
    if (input == dense + 1) return element * p->used_columns * p->width;
    if (input == COL_IDX) return handed ? 0 : element * p->A->nnz;
    return input == VALUES ? element * p->A->nnz : 0;
}

static void rebind(void *instance, void *const *d_inputs)
{
    sddmm_instance *self = instance;
    self->d_X = d_inputs[self->dense];
    self->d_Y = d_inputs[self->dense + 1];
}

static double estimate(const contender *c, const row_stats *stats, int width)
{
    const sddmm_contender *own = sddmm_of(c);
    return own->estimate ? own->estimate(stats, width) : INFINITY;
}

static cudaError_t prepare(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance)
{
    const bool has_values = p->num_inputs == NUM_INPUTS;
    sddmm_instance *self = calloc(1, sizeof *self);
    if (!self) return cudaErrorMemoryAllocation;
    self->dense = p->num_inputs - 2;
    self->plan = (sddmm_plan){
        .W = dataset_on_device(p, d_inputs[ROW_PTR], d_inputs[COL_IDX],
                               has_values ? d_inputs[VALUES] : NULL),
        .K = p->width,
        .contender = sddmm_of(c),
    };
    rebind(self, d_inputs);
    const size_t tuning_bytes = contender_num_tunables(c) * sizeof *tuning;
    memcpy(self->plan.tuning, tuning, tuning_bytes);
    const cudaError_t error =
        sddmm_of(c)->prepare ? sddmm_of(c)->prepare(&self->plan) : cudaSuccess;
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
    sddmm_instance *self = instance;
    const sddmm_plan *plan = &self->plan;
    const sddmm_contender *c = plan->contender;
    return c->base.precision == PRECISION_FP32
               ? c->run(plan, self->d_X, self->d_Y, d_outputs[0], stream)
               : c->run16(plan, self->d_X, self->d_Y, d_outputs[0], stream);
}

static void release(void *instance)
{
    sddmm_instance *self = instance;
    if (self->plan.contender->release) self->plan.contender->release(&self->plan);
    free(self);
}

static const contender *nested(const void *instance, int depth, const int **tuning)
{
    const sddmm_plan *inner = ((const sddmm_instance *)instance)->plan.nested;
    while (inner && depth-- > 0)
        inner = inner->nested;
    if (!inner) return NULL;
    *tuning = inner->tuning;
    return &inner->contender->base;
}

/* A contender that prepares, and cannot update values, may have kept them. */
static cudaError_t update_values(void *instance)
{
    sddmm_plan *plan = &((sddmm_instance *)instance)->plan;
    const sddmm_contender *c = plan->contender;
    if (c->update_values) return c->update_values(plan);
    return c->prepare ? cudaErrorNotSupported : cudaSuccess;
}

const operation sddmm_operation = {
    .name = "sddmm",
    .width = "K",
    .width_meaning = "columns of X and Y, which the sums run over",
    .exact_in_whole_numbers = true,
    .create = create,
    .destroy = destroy,
    .oracle = oracle,
    .row_length = dataset_row_length,
    .products = products,
    .explain = explain,
    .cost = cost,
    .least = least,
    .needs = needs,
    .choose = choose,
    .estimate = estimate,
    .prepare = prepare,
    .rebind = rebind,
    .update_values = update_values,
    .run = run,
    .release = release,
    .nested = nested,
};
OPERATION_REGISTER(sddmm_operation)
