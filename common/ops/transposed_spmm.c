/*
 * transposed_spmm.c - C = A^T * B: the plain product of a transpose that the host makes, on the arrays of A.
 */
#include "ops/transposed_spmm.h"

#include "device/facts.h"
#include "ops/inputs.h"
#include "ops/spmm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_PTR, COL_IDX, VALUES, B_DENSE, NUM_INPUTS }; /* as in spmm.c */

/* A's transpose, and the plain product with it, whose oracle and B are this operation's. */
typedef struct transposed_problem {
    csr_matrix T;
    problem product;
    int32_t *row_ptr;
    numbers values; /* those of the product, in A's order */
} transposed_problem;

static void destroy(problem *p)
{
    transposed_problem *own = p->own;
    if (!own) return;
    spmm_operation.destroy(&own->product);
    csr_free(&own->T);
    free(own->row_ptr);
    numbers_free(&own->values);
    free(own);
    p->own = NULL;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Number `at` of an input, as the device has it. */
static float number_of(const problem *p, int input, size_t at)
{
    const operand *in = &p->inputs[input];
    float x;
    precision_widen(p->precision, (const char *)in->data + at * in->element, &x, 1);
    return x;
}

/* Gives each nonzero of A the value it has in the transpose. The host's transposition keeps the order of rows, and of
 * nonzeros that are stored twice. */
static bool fill_values(const csr_matrix *A, transposed_problem *own)
{
    int64_t *next = malloc((A->cols + 1) * sizeof *next);
    if (!next) return false;
    memcpy(next, own->T.row_ptr, (A->cols + 1) * sizeof *next);
    for (int64_t z = 0; z < A->nnz; z++)
        own->values.own[z] = number_of(&own->product, VALUES, next[A->col_idx[z]]++);
    free(next);
    numbers_round(&own->values);
    return true;
}

static enum status make(problem *p, transposed_problem *own, error_text *error)
{
    const csr_matrix *A = p->A;
    enum status status = csr_transpose(A, &own->T, error);
    if (status != STATUS_OK) return status;
    own->product = (problem){.operation = &spmm_operation,
                             .A = &own->T,
                             .width = p->width,
                             .seed = p->seed,
                             .whole = p->whole,
                             .precision = p->precision};
    status = row_stats_compute(&own->T, &own->product.stats, error);
    if (status == STATUS_OK) status = spmm_operation.create(&own->product, error);
    if (status != STATUS_OK) return status;
    own->row_ptr = dataset_offsets(A);
    uint8_t *used = dataset_mark_columns(p);
    const bool made = own->row_ptr && used && numbers_alloc(&own->values, p->precision, A->nnz) &&
                      fill_values(A, own);
    free(used);
    return made ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for the copies of A");
}

static enum status create(problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    enum status status = dataset_check(p, "SpMM", error);
    if (status != STATUS_OK) return status;
    transposed_problem *own = p->own = calloc(1, sizeof *own);
    if (!own) return fail(error, STATUS_MEMORY, "no memory for the problem");
    status = make(p, own, error);
    if (status != STATUS_OK) {
        destroy(p);
        return status;
    }
    p->inputs[ROW_PTR] = dataset_offsets_operand(A, own->row_ptr, "A.row_ptr");
    p->inputs[COL_IDX] = dataset_columns_operand(A, "A.col_idx");
    p->inputs[VALUES] = numbers_operand(&own->values, "A.values");
    p->inputs[B_DENSE] = own->product.inputs[B_DENSE];
    p->num_inputs = NUM_INPUTS;
    p->outputs[0] = own->product.outputs[0];
    p->num_outputs = 1;
    return STATUS_OK;
}

static void oracle(const problem *p, int output, int64_t row, double *reference, double *bound)
{
    const problem *product = &((const transposed_problem *)p->own)->product;
    spmm_operation.oracle(product, output, row, reference, bound);
}

/* Nonzeros of a column of A, which is what a row of C is a sum of. */
static int64_t row_length(const problem *p, int64_t row)
{
    return dataset_row_length(&((const transposed_problem *)p->own)->product, row);
}

/* ---- explanations ---------------------------------------------------------------------------- */

/* The element that comes out if the i-th nonzero of the transpose takes the i-th value of A. */
static double unpermuted(const problem *p, int64_t row, int64_t place)
{
    const transposed_problem *own = p->own;
    double sum = 0;
    for (int64_t i = own->T.row_ptr[row]; i < own->T.row_ptr[row + 1]; i++)
        sum += (double)own->values.floats[i] *
               number_of(p, B_DENSE, (size_t)own->T.col_idx[i] * p->width + place);
    return sum;
}

static void explain(const problem *p, int output, int64_t row, int64_t place, double got,
                    char *text, size_t bytes)
{
    (void)output;
    const double would = unpermuted(p, row, place);
    const double near = 4 * precision_format(p->precision)->unit_roundoff + 0x1p-16;
    text[0] = 0;
    if (fabs(got - would) <= near * fabs(would))
        snprintf(text, bytes, "A's values were taken in A's order, without the permutation");
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* Those of the plain product with a matrix of that shape. Asked of problems that did not fit, too. */
static void cost(const problem *p, cost_model *model)
{
    const csr_matrix T = {.rows = p->A->cols, .cols = p->A->rows, .nnz = p->A->nnz};
    problem product = *p;
    product.A = &T;
    spmm_operation.cost(&product, model);
}

/* ---- contenders ------------------------------------------------------------------------------ */

static const transposed_spmm_contender *of(const contender *c)
{
    return (const transposed_spmm_contender *)c;
}

const transposed_spmm_contender *transposed_spmm_find(const char *name, enum precision precision)
{
    return of(contender_find(&transposed_spmm_operation, name, precision));
}

size_t transposed_spmm_csr_bytes(const transposed_spmm_plan *plan)
{
    const size_t element = precision_format(plan->contender->base.precision)->bytes;
    return ((size_t)plan->A.rows + 1) * sizeof(int) + plan->A.nnz * (sizeof(int) + element);
}

static void choose(const contender *c, const problem *p, int *tuning)
{
    (void)p; /* what there is to choose depends on the transpose, which prepare makes */
    contender_initial_tuning(c, tuning);
}

cudaError_t transposed_spmm_prepare(transposed_spmm_plan *plan, const transposed_spmm_contender *c,
                                    const int *tuning)
{
    if (c->base.min_compute_capability > device_facts_get()->compute_capability)
        return cudaErrorNotSupported;
    plan->contender = c;
    plan->state = NULL;
    if (tuning)
        memcpy(plan->tuning, tuning, contender_num_tunables(&c->base) * sizeof *tuning);
    else
        contender_initial_tuning(&c->base, plan->tuning);
    const cudaError_t error = c->prepare ? c->prepare(plan) : cudaSuccess;
    if (error != cudaSuccess) plan->contender = NULL;
    return error;
}

cudaError_t transposed_spmm_run(const transposed_spmm_plan *plan, const void *B, void *C,
                                cudaStream_t stream)
{
    return plan->contender->run(plan, B, C, stream);
}

void transposed_spmm_release(transposed_spmm_plan *plan)
{
    if (plan->contender && plan->contender->release) plan->contender->release(plan);
    plan->contender = NULL;
}

/* ---- instances ------------------------------------------------------------------------------- */

typedef struct transposed_instance {
    const void *d_B;
    transposed_spmm_plan plan;
} transposed_instance;

/* Reads A as it is stored, and once each row of B that has a nonzero; writes C. A dense contender knows no zeros. */
static void least(const problem *p, const void *instance, least_work *l)
{
    const transposed_spmm_plan *plan = &((const transposed_instance *)instance)->plan;
    const transposed_spmm_contender *c = plan->contender;
    const double rows = p->A->rows, cols = p->A->cols, nnz = p->A->nnz, N = p->width;
    const double element = precision_format(p->precision)->bytes;
    const bool is_dense = c->base.dense;
    const double stored = c->format_bytes ? (double)c->format_bytes(plan)
                          : is_dense      ? element * rows * cols
                                          : (double)transposed_spmm_csr_bytes(plan);
    *l = (least_work){
        .read_bytes = stored + element * N * (is_dense ? rows : rows - p->stats.empty_rows),
        .write_bytes = element * N * cols,
        .flops = 2 * N * (is_dense ? rows * cols : nnz),
        .unit = c->base.unit,
    };
}

/* Columns and values of all nonzeros, and the rows of B that have one. */
static int64_t needs(const problem *p, int input, bool handed)
{
    const int64_t element = (int64_t)p->inputs[input].element;
    if (input == COL_IDX) return handed ? 0 : element * p->A->nnz;
    if (input == VALUES) return element * p->A->nnz;
    if (input == B_DENSE) return element * (p->A->rows - p->stats.empty_rows) * p->width;
    return 0;
}

static void rebind(void *instance, void *const *d_inputs)
{
    ((transposed_instance *)instance)->d_B = d_inputs[B_DENSE];
}

static cudaError_t prepare(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance)
{
    transposed_instance *self = calloc(1, sizeof *self);
    if (!self) return cudaErrorMemoryAllocation;
    self->plan = (transposed_spmm_plan){
        .A = dataset_on_device(p, d_inputs[ROW_PTR], d_inputs[COL_IDX], d_inputs[VALUES]),
        .N = p->width,
        .contender = of(c),
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
    const transposed_instance *self = instance;
    return transposed_spmm_run(&self->plan, self->d_B, d_outputs[0], stream);
}

cudaError_t transposed_spmm_move_values(const void *instance, cudaStream_t stream)
{
    const transposed_spmm_plan *plan = &((const transposed_instance *)instance)->plan;
    const transposed_spmm_contender *c = plan->contender;
    return c->move_values ? c->move_values(plan, stream) : cudaErrorNotSupported;
}

static void release(void *instance)
{
    transposed_spmm_release(&((transposed_instance *)instance)->plan);
    free(instance);
}

/* No plan holds values, by the contract of run: nobody is told that there are others. */
static cudaError_t update_values(void *instance)
{
    (void)instance;
    return cudaSuccess;
}

static const contender *nested(const void *instance, int depth, const int **tuning)
{
    const transposed_spmm_plan *plan = &((const transposed_instance *)instance)->plan;
    const transposed_spmm_contender *c = plan->contender;
    return c->nested ? c->nested(plan, depth, tuning) : NULL;
}

static size_t workspace_bytes(const void *instance)
{
    const transposed_spmm_plan *plan = &((const transposed_instance *)instance)->plan;
    const transposed_spmm_contender *c = plan->contender;
    return c->workspace_bytes ? c->workspace_bytes(plan) : 0;
}

const operation transposed_spmm_operation = {
    .name = "transposed_spmm",
    .width = "N",
    .width_meaning = "columns of B and C",
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
    .update_values = update_values,
    .run = run,
    .release = release,
    .nested = nested,
    .workspace_bytes = workspace_bytes,
};
OPERATION_REGISTER(transposed_spmm_operation)
