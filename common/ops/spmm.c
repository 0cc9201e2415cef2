/*
 * spmm.c - C = A * B with A sparse (CSR), B and C dense and row-major, all of one precision.
 */
#include "ops/spmm.h"

#include "device/facts.h"
#include "matrix/memory.h"
#include "matrix/random.h"
#include "ops/inputs.h"
#include "ops/product_sums.h"
#include "ops/spmm_ranges.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_PTR, COL_IDX, VALUES, B_DENSE, NUM_INPUTS };

/* Place among the inputs of an array of a range: those of the first one, then B, then those of the others. */
static int place_of(int range, int array)
{
    return range == 0 ? array : NUM_INPUTS + 3 * (range - 1) + array;
}

/* The inputs that are not A's own arrays. */
typedef struct spmm_inputs {
    spmm_ranges ranges; /* of A */
    numbers values;     /* of A's nonzeros */
    numbers B;
} spmm_inputs;

static void destroy(problem *p)
{
    spmm_inputs *own = p->own;
    if (!own) return;
    spmm_ranges_free(&own->ranges);
    numbers_free(&own->values);
    numbers_free(&own->B);
    free(own);
    p->own = NULL;
}

/* Makes room for the operands. The values of A serve as they are where they are fp32. */
static enum status allocate(problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    const bool borrow = A->values && p->precision == PRECISION_FP32 && !p->whole;
    const size_t num_B = (size_t)A->cols * p->width;
    const size_t bytes = spmm_ranges_bytes(A->rows, A->nnz) + numbers_bytes(p->precision, num_B) +
                         (borrow ? 0 : numbers_bytes(p->precision, A->nnz));
    error_text reason;
    enum status status = memory_check(bytes, "the problem", &reason);
    if (status != STATUS_OK) return fail(error, status, "%s; try a smaller N", reason.text);
    spmm_inputs *own = calloc(1, sizeof *own);
    p->own = own;
    if (own) {
        status = spmm_ranges_make(p, &own->ranges, error);
        if (borrow) numbers_borrow(&own->values, A->values, A->nnz);
        const bool values = borrow || numbers_alloc(&own->values, p->precision, A->nnz);
        if (status == STATUS_OK && values && numbers_alloc(&own->B, p->precision, num_B))
            return STATUS_OK;
    }
    destroy(p);
    if (status != STATUS_OK) return status;
    return fail(error, STATUS_MEMORY, "no memory for B and the copies of A");
}

/* No element of B is larger than 1, so this keeps every sum, in whatever order, below FLT_MAX: sums
 * are formed in fp32 in every precision. */
static enum status require_finite_products(const problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    for (int64_t i = 0; A->values && i < A->rows; i++) {
        double sum = 0;
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            sum += fabs((double)A->values[k]);
        if (sum > FLT_MAX / 2)
            return fail(error, STATUS_DATASET,
                        "row %lld: values that add up to %.3g overflow fp32 when multiplied",
                        (long long)i, sum);
    }
    return STATUS_OK;
}

/* ---- the oracle -------------------------------------------------------------------------------- */

/* A column that a row names, and the sum of |value| over the times it does. */
typedef struct named_column {
    int32_t column;
    double size;
} named_column;

static int by_column(const void *a, const void *b)
{
    const int32_t x = ((const named_column *)a)->column, y = ((const named_column *)b)->column;
    return (x > y) - (x < y);
}

/* Lists the columns of a row, each once, where it names some several times; else, and without memory for
 * that, returns NULL. */
static named_column *columns_once(const problem *p, int64_t row, int64_t *count)
{
    const csr_matrix *A = p->A;
    const int64_t start = A->row_ptr[row], n = A->row_ptr[row + 1] - start;
    const int32_t *columns = A->col_idx + start;
    const float *values = ((const spmm_inputs *)p->own)->values.floats + start;
    bool ascend = true;
    for (int64_t k = 1; k < n && ascend; k++)
        ascend = columns[k - 1] < columns[k];
    named_column *list = ascend ? NULL : malloc(n * sizeof *list);
    if (!list) return NULL;
    for (int64_t k = 0; k < n; k++)
        list[k] = (named_column){columns[k], fabs((double)values[k])};
    qsort(list, n, sizeof *list, by_column);
    int64_t last = 0;
    for (int64_t k = 1; k < n; k++)
        if (list[k].column == list[last].column)
            list[last].size += list[k].size;
        else
            list[++last] = list[k];
    *count = last + 1;
    return list;
}

/* Whole numbers have the nearest number of the precision as their one right result. Of others the bound is that of
 * rounding.c. B is random, so values of a row that share a column share the random factor. */
WIDE_VECTORS
static void oracle(const problem *p, int output, int64_t row, double *reference, double *bound)
{
    (void)output; /* there is one */
    const csr_matrix *A = p->A;
    const spmm_inputs *own = p->own;
    const float *values = own->values.floats, *B = own->B.floats;
    const int N = p->width;
    const int64_t start = A->row_ptr[row], end = A->row_ptr[row + 1];
    int64_t count = 0;
    named_column *once = p->whole ? NULL : columns_once(p, row, &count);
    for (int first = 0; first < N; first += SUM_COLUMNS) {
        const int columns = N - first < SUM_COLUMNS ? N - first : SUM_COLUMNS;
        sum_columns c = {0};
        for (int64_t k = start; k < end; k++) {
            const float *b = B + (size_t)A->col_idx[k] * N + first;
            sum_columns_add(&c, values[k], b, columns);
            if (!once && !p->whole) sum_columns_add_squares(&c, values[k], b, columns);
        }
        for (int64_t k = 0; k < count; k++)
            sum_columns_add_squares(&c, once[k].size, B + (size_t)once[k].column * N + first,
                                    columns);
        sum_columns_store(&c, end - start, columns, p, reference + first, bound + first);
    }
    free(once);
}

/* Only fp16 ends so early that a sum of products may lie beyond it. Rows that are long or large
 * enough for that are computed to find out; nearly all sums stay far below their bound. */
static enum status require_finite_results(const problem *p, error_text *error)
{
    const double largest = precision_format(p->precision)->largest;
    const float *values = ((const spmm_inputs *)p->own)->values.floats;
    enum status status = STATUS_OK;
    double *result = malloc(2 * (size_t)p->width * sizeof *result), *bound = result + p->width;
    if (!result) return fail(error, STATUS_MEMORY, "no memory for a row of results");
    for (int64_t i = 0; i < p->A->rows && status == STATUS_OK; i++) {
        double sum = 0;
        for (int64_t k = p->A->row_ptr[i]; k < p->A->row_ptr[i + 1]; k++)
            sum += fabs((double)values[k]);
        if (sum <= largest / 2) continue;
        oracle(p, 0, i, result, bound);
        for (int j = 0; j < p->width && status == STATUS_OK; j++)
            if (fabs(result[j]) + bound[j] > largest)
                status = fail(error, STATUS_SKIPPED, "row %lld: a result of %.3g overflows %s",
                              (long long)i, result[j], precision_name(p->precision));
    }
    free(result);
    return status;
}

/* Fills the values that are not borrowed, and B, but for rows that no nonzero names. most: see input_number. */
static void fill(problem *p, const uint8_t *column_used, int most)
{
    const csr_matrix *A = p->A;
    spmm_inputs *own = p->own;
    const uint64_t of_values = random_substream(p->seed, VALUES);
    const uint64_t of_B = random_substream(p->seed, B_DENSE);
    if (own->values.own) {
#pragma omp parallel for schedule(static)
        for (int64_t k = 0; k < A->nnz; k++)
            own->values.own[k] =
                A->values && !p->whole ? A->values[k] : input_number(most, of_values, k);
    }
    numbers_fill_rows(&own->B, A->cols, p->width, column_used, most, of_B);
}

/* Lists the arrays of all ranges, and B. The library finds the first three by their names. */
static void name_inputs(problem *p)
{
    const spmm_inputs *own = p->own;
    const operand values = numbers_operand(&own->values, "A.values");
    size_t passed = 0; /* nonzeros of the ranges before */
    for (int r = 0; r < own->ranges.count; r++) {
        const spmm_range *range = &own->ranges.range[r];
        const csr_matrix *pattern = &range->pattern;
        p->inputs[place_of(r, ROW_PTR)] =
            dataset_offsets_operand(pattern, range->row_ptr, "A.row_ptr");
        p->inputs[place_of(r, COL_IDX)] = dataset_columns_operand(pattern, "A.col_idx");
        p->inputs[place_of(r, VALUES)] =
            (operand){values.name, (char *)values.data + passed * values.element,
                      pattern->nnz * values.element, values.element};
        passed += pattern->nnz;
    }
    p->inputs[B_DENSE] = numbers_operand(&own->B, "B");
    p->num_inputs = place_of(own->ranges.count, 0);
}

static enum status create(problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    const int most = p->whole ? rounding_whole_limit(p->precision, p->stats.max, 2) : 0;
    if (p->whole && !most)
        return fail(error, STATUS_SKIPPED, "a row of %lld nonzeros has no exact sum",
                    (long long)p->stats.max);
    enum status status = dataset_check_values(p, error);
    if (status == STATUS_OK && !p->whole) status = require_finite_products(p, error);
    if (status == STATUS_OK) status = allocate(p, error);
    if (status != STATUS_OK) return status;
    spmm_inputs *own = p->own;
    uint8_t *column_used = dataset_mark_columns(p);
    if (!column_used) {
        destroy(p);
        return fail(error, STATUS_MEMORY, "no memory to mark the columns of A");
    }

    fill(p, column_used, most);
    free(column_used);
    numbers_round(&own->values);
    numbers_round(&own->B);
    if (p->precision != PRECISION_FP32 && !p->whole) status = require_finite_results(p, error);
    if (status != STATUS_OK) {
        destroy(p);
        return status;
    }

    name_inputs(p);
    p->outputs[0] =
        (output){.name = "C", .precision = p->precision, .rows = A->rows, .cols = p->width};
    p->num_outputs = 1;
    return STATUS_OK;
}

/* Several devices would share the rows of A and C, and have B each (lab 70). */
static void count_footprint(const csr_matrix *counts, int width, enum precision precision,
                            problem_bytes *f)
{
    const double element = precision_format(precision)->bytes;
    const double rows = (double)counts->rows, nnz = (double)counts->nnz;
    const size_t in_B = (size_t)counts->cols * width, in_C = (size_t)counts->rows * width;
    *f = (problem_bytes){
        .host = (double)spmm_ranges_bytes(counts->rows, counts->nnz) +
                (double)numbers_bytes(precision, in_B) +
                (double)numbers_bytes(precision, counts->nnz),
        .result = (double)numbers_bytes(precision, in_C),
        .device = 4 * rows + (4 + element) * nnz + element * ((double)in_B + (double)in_C),
        .on_each = element * (double)in_B,
    };
}

/* With e bytes an element, 4 or 2. Compulsory: A once (4 B column + e B value a nonzero, 4 B offset a
 * row), B once, C once. Gather: the same, but every nonzero fetches its own eN-byte row of B. */
static void cost(const problem *p, cost_model *model)
{
    const double nnz = p->A->nnz, rows = p->A->rows, cols = p->A->cols, N = p->width;
    const double element = precision_format(p->precision)->bytes;
    const double sparse = (4 + element) * nnz + 4 * (rows + 1);
    *model = (cost_model){
        .flops = 2 * nnz * N,
        .compulsory_bytes = sparse + element * N * (rows + cols),
        .gathers = {{.bytes = sparse + element * N * (nnz + rows),
                     .row = element * N,
                     .span = element * N * cols}},
        .num_gathers = 1,
    };
}

const spmm_contender *spmm_of(const contender *c)
{
    return (const spmm_contender *)c;
}

size_t spmm_csr_bytes(const spmm_plan *plan)
{
    const size_t element = precision_format(plan->contender->base.precision)->bytes;
    return ((size_t)plan->A.rows + 1) * sizeof(int) + plan->A.nnz * (sizeof(int) + element);
}

void spmm_choose(const spmm_contender *c, const row_stats *stats, int N, int *tuning)
{
    contender_initial_tuning(&c->base, tuning);
    if (c->choose) c->choose(stats, N, tuning);
}

static void choose(const contender *c, const problem *p, int *tuning)
{
    spmm_choose(spmm_of(c), &p->stats, p->width, tuning);
}

const spmm_contender *spmm_find(const char *name, enum precision precision)
{
    return spmm_of(contender_find(&spmm_operation, name, precision));
}

bool spmm_applies_epilogue(const spmm_contender *c)
{
    return c->applies_epilogue || c->run == spmm_nested_run || c->run16 == spmm_nested_run16;
}

/* Whether a plan hands on to its nested plan all that it was given, and does nothing itself. */
static bool only_hands_on(const spmm_plan *plan)
{
    const spmm_plan *inner = plan->nested;
    return inner && !plan->state && inner->d_row_order == plan->d_row_order &&
           inner->epilogue.d_bias == plan->epilogue.d_bias &&
           inner->epilogue.relu == plan->epilogue.relu;
}

cudaError_t spmm_nest(spmm_plan *plan, const spmm_contender *c, const int *tuning,
                      const int *d_row_order)
{
    plan->nested = NULL;
    if (c->base.min_compute_capability > device_facts_get()->compute_capability)
        return cudaErrorNotSupported;
    spmm_plan *inner = calloc(1, sizeof *inner);
    if (!inner) return cudaErrorMemoryAllocation;
    *inner = (spmm_plan){.A = plan->A, .N = plan->N, .d_row_order = d_row_order, .contender = c};
    const bool hands_on = plan->contender && spmm_applies_epilogue(plan->contender);
    if (hands_on)
        inner->epilogue =
            plan->epilogue; /* else `plan` is another operation's, or no whole product */
    if (tuning)
        memcpy(inner->tuning, tuning, contender_num_tunables(&c->base) * sizeof *tuning);
    else
        spmm_choose(c, plan->A.stats, plan->N, inner->tuning);
    const cudaError_t error = c->prepare ? c->prepare(inner) : cudaSuccess;
    if (error != cudaSuccess) {
        free(inner);
        return error;
    }
    plan->nested = inner;
    if (only_hands_on(inner)) {
        plan->nested = inner->nested;
        free(inner);
    }
    return cudaSuccess;
}

cudaError_t spmm_nest_named(spmm_plan *plan, const char *name, const int *d_row_order)
{
    const spmm_contender *c = spmm_find(name, plan->contender->base.precision);
    return c ? spmm_nest(plan, c, NULL, d_row_order) : cudaErrorNotSupported;
}

int spmm_nested_value(const spmm_plan *plan, const tunable *t)
{
    return tunable_naming(t, plan->nested ? &plan->nested->contender->base : NULL);
}

/* The library's number of a precision. */
static cudaDataType type_of(enum precision precision)
{
    static const cudaDataType TYPES[] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF};
    return TYPES[precision];
}

cudaError_t spmm_run(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    const spmm_contender *c = plan->contender;
    const enum precision precision = c->base.precision;
    const cudaError_t error =
        precision == PRECISION_FP32 ? c->run(plan, B, C, stream) : c->run16(plan, B, C, stream);
    if (error != cudaSuccess || spmm_applies_epilogue(c)) return error;
    return epilogue_run(&plan->epilogue, type_of(precision), plan->A.rows, plan->N, C, stream);
}

cudaError_t spmm_nested_run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return spmm_nested_run16(plan, B, C, stream);
}

cudaError_t spmm_nested_run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    return plan->nested ? spmm_run(plan->nested, B, C, stream) : cudaSuccess;
}

cudaError_t spmm_nested_update_values(spmm_plan *plan)
{
    spmm_plan *inner = plan->nested;
    const bool needs = inner && inner->contender->update_values;
    return needs ? inner->contender->update_values(inner) : cudaSuccess;
}

/* Whether it has no copy of the values itself, and only tells its nested plan of new ones. */
static bool hands_values_on(const spmm_contender *c)
{
    return c->update_values == spmm_nested_update_values;
}

bool spmm_follows_values(const spmm_contender *c)
{
    return !c->update_values || c->value_slots || hands_values_on(c);
}

cudaError_t spmm_value_slots(const spmm_plan *plan, int *d_slot, float **d_copies)
{
    const spmm_contender *c = plan->contender;
    *d_copies = NULL;
    if (!c->update_values) return cudaSuccess;
    if (c->value_slots) return c->value_slots(plan, d_slot, d_copies);
    if (!hands_values_on(c)) return cudaErrorNotSupported;
    return plan->nested ? spmm_value_slots(plan->nested, d_slot, d_copies) : cudaSuccess;
}

void spmm_nested_release(spmm_plan *plan)
{
    spmm_plan *inner = plan->nested;
    if (!inner) return;
    if (inner->contender->release) inner->contender->release(inner);
    free(inner);
    plan->nested = NULL;
}

/* A plan for each range of rows, and the B they multiply. */
typedef struct spmm_instance {
    const void *d_B;
    cudaError_t bound; /* what the contender's rebind said */
    int count;         /* of plans */
    spmm_plan plan[MAX_ROW_RANGES];
    size_t C_at[MAX_ROW_RANGES]; /* bytes of C before the rows of a range */
} spmm_instance;

/* The plan that does the work of one. */
static const spmm_plan *innermost(const spmm_plan *plan)
{
    while (plan->nested)
        plan = plan->nested;
    return plan;
}

/* Bytes of A that every run of a plan reads. Where its format is not known, the values alone: indices
 * may be packed or gone, but a value that is not read cannot be multiplied. */
static double stored_bytes(const spmm_plan *plan)
{
    const spmm_contender *c = plan->contender;
    const double element = precision_format(c->base.precision)->bytes;
    if (c->format_bytes) return (double)c->format_bytes(plan);
    if (c->base.dense) return element * plan->A.rows * plan->A.cols;
    return c->prepare ? element * plan->A.nnz : (double)spmm_csr_bytes(plan);
}

/* Reads: A as it is stored, all ranges, and the rows of B that some nonzero names, once each. Writes: C. A sparse
 * product multiplies and adds once a nonzero and column; a dense one knows no zeros, so it has no
 * empty column to leave out and rows * cols products a column. */
static void least(const problem *p, const void *instance, least_work *l)
{
    const spmm_instance *self = instance;
    const double rows = p->A->rows, cols = p->A->cols, nnz = p->A->nnz, N = p->width;
    const double row_bytes = precision_format(p->precision)->bytes * N;
    const contender *who = &innermost(&self->plan[0])->contender->base;
    double stored = 0;
    for (int r = 0; r < self->count; r++)
        stored += stored_bytes(innermost(&self->plan[r]));
    *l = (least_work){
        .read_bytes = stored + row_bytes * (who->dense ? cols : p->used_columns),
        .write_bytes = row_bytes * rows,
        .flops = 2 * N * (who->dense ? rows * cols : nnz),
        .unit = who->unit,
    };
}

/* Columns and values of all nonzeros, and the rows of B that some nonzero names. Of the offsets nothing
 * is certain: a format that stores a row with each nonzero has none. */
static int64_t needs(const problem *p, int input, bool handed)
{
    const int64_t bytes = (int64_t)p->inputs[input].bytes;
    if (input == B_DENSE) return (int64_t)p->inputs[input].element * p->used_columns * p->width;
    switch (input < NUM_INPUTS ? input : (input - NUM_INPUTS) % 3) {
    case COL_IDX:
        return handed ? 0 : bytes;
    case VALUES:
        return bytes;
    default:
        return 0;
    }
}

static double estimate(const contender *c, const row_stats *stats, int width)
{
    const spmm_contender *own = spmm_of(c);
    return own->estimate ? own->estimate(stats, width) : INFINITY;
}

/* A lab's own rebind is never called: it could hide work from the clock there. */
static void rebind(void *instance, void *const *d_inputs)
{
    spmm_instance *self = instance;
    self->d_B = d_inputs[B_DENSE];
    self->bound = cudaSuccess;
    for (int r = 0; r < self->count && self->bound == cudaSuccess; r++) {
        const spmm_contender *c = self->plan[r].contender;
        if (c->rebind && !c->base.lab) self->bound = c->rebind(&self->plan[r], self->d_B);
    }
}

static void release(void *instance)
{
    spmm_instance *self = instance;
    for (int r = 0; r < self->count; r++)
        if (self->plan[r].contender->release) self->plan[r].contender->release(&self->plan[r]);
    free(self);
}

/* Range r as contenders get it. A problem that `create` did not make, the library's, is one range. */
static device_csr range_on_device(const problem *p, int r, void *const *d_inputs)
{
    const spmm_inputs *own = p->own;
    device_csr A = dataset_on_device(p, d_inputs[place_of(r, ROW_PTR)],
                                     d_inputs[place_of(r, COL_IDX)], d_inputs[place_of(r, VALUES)]);
    if (p->num_ranges <= 1) return A;
    A.host = &own->ranges.range[r].pattern;
    A.stats = &own->ranges.range[r].stats;
    A.rows = (int)A.host->rows;
    A.nnz = (int)A.host->nnz;
    return A;
}

static cudaError_t prepare(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance)
{
    const size_t tuning_bytes = contender_num_tunables(c) * sizeof *tuning;
    const size_t row_bytes = precision_format(p->precision)->bytes * p->width;
    spmm_instance *self = calloc(1, sizeof *self);
    if (!self) return cudaErrorMemoryAllocation;
    cudaError_t error = cudaSuccess;
    for (int r = 0; r == 0 || r < p->num_ranges; r++) {
        spmm_plan *plan = &self->plan[r];
        *plan = (spmm_plan){.A = range_on_device(p, r, d_inputs),
                            .N = p->width,
                            .epilogue = p->epilogue,
                            .contender = spmm_of(c)};
        if (plan->epilogue.d_bias) plan->epilogue.d_bias += p->range_first[r];
        memcpy(plan->tuning, tuning, tuning_bytes);
        self->C_at[r] = (size_t)p->range_first[r] * row_bytes;
        if (spmm_of(c)->prepare) error = spmm_of(c)->prepare(plan);
        if (error != cudaSuccess) break;
        self->count++;
    }
    if (error == cudaSuccess) {
        rebind(self, d_inputs);
        error = self->bound;
    }
    if (error != cudaSuccess) {
        release(self);
        return error;
    }
    memcpy(tuning, self->plan[0].tuning, tuning_bytes);
    *instance = self;
    return cudaSuccess;
}

static cudaError_t run(void *instance, void *const *d_outputs, cudaStream_t stream)
{
    const spmm_instance *self = instance;
    cudaError_t error = self->bound;
    for (int r = 0; r < self->count && error == cudaSuccess; r++)
        error = spmm_run(&self->plan[r], self->d_B, (char *)d_outputs[0] + self->C_at[r], stream);
    return error;
}

/* Those of the first range; others may have chosen otherwise. */
static const contender *nested(const void *instance, int depth, const int **tuning)
{
    const spmm_plan *inner = ((const spmm_instance *)instance)->plan[0].nested;
    while (inner && depth-- > 0)
        inner = inner->nested;
    if (!inner) return NULL;
    *tuning = inner->tuning;
    return &inner->contender->base;
}

/* A contender that prepares, and cannot update values, may have kept them. */
static cudaError_t update_values(void *instance)
{
    spmm_instance *self = instance;
    const spmm_contender *c = self->plan[0].contender;
    if (!c->update_values) return c->prepare ? cudaErrorNotSupported : cudaSuccess;
    cudaError_t error = cudaSuccess;
    for (int r = 0; r < self->count && error == cudaSuccess; r++)
        error = c->update_values(&self->plan[r]);
    return error;
}

/* Both for each range in turn, on its rows of C. */
static cudaError_t distribute(void *instance, void *const *d_outputs)
{
    const spmm_instance *self = instance;
    const spmm_contender *c = self->plan[0].contender;
    cudaError_t error = cudaSuccess;
    for (int r = 0; c->distribute && r < self->count && error == cudaSuccess; r++)
        error = c->distribute(&self->plan[r], self->d_B, (char *)d_outputs[0] + self->C_at[r]);
    return error;
}

static cudaError_t collect(void *instance, void *const *d_outputs)
{
    const spmm_instance *self = instance;
    const spmm_contender *c = self->plan[0].contender;
    cudaError_t error = cudaSuccess;
    for (int r = 0; c->collect && r < self->count && error == cudaSuccess; r++)
        error = c->collect(&self->plan[r], (char *)d_outputs[0] + self->C_at[r]);
    return error;
}

const operation spmm_operation = {
    .name = "spmm",
    .width = "N",
    .width_meaning = "columns of B and C",
    .takes_epilogue = true,
    .exact_in_whole_numbers = true,
    .create = create,
    .destroy = destroy,
    .oracle = oracle,
    .row_length = dataset_row_length,
    .footprint = count_footprint,
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
    .distribute = distribute,
    .collect = collect,
    .nested = nested,
};
OPERATION_REGISTER(spmm_operation)
