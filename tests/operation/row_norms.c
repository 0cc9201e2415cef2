/*
 * row_norms.c - the norms of a matrix's rows, and its rows divided by them.
 */
#include "ops/row_norms.h"

#include "matrix/random.h"
#include "ops/inputs.h"

#include <math.h>
#include <stdlib.h>

enum { ROW_PTR, COL_IDX, VALUES, NUM_INPUTS };
enum { NORM, UNIT, NUM_OUTPUTS };

typedef struct row_norms_inputs {
    int32_t *row_ptr;
    numbers values;
} row_norms_inputs;

static void destroy(problem *p)
{
    row_norms_inputs *own = p->own;
    if (!own) return;
    free(own->row_ptr);
    numbers_free(&own->values);
    free(own);
    p->own = NULL;
}

static enum status create(problem *p, error_text *error)
{
    const csr_matrix *A = p->A;
    enum status status = dataset_check(p, "row_norms", error);
    if (status != STATUS_OK) return status;
    row_norms_inputs *own = p->own = calloc(1, sizeof *own);
    if (own) own->row_ptr = dataset_offsets(A);
    if (!own || !own->row_ptr || !numbers_alloc(&own->values, p->precision, A->nnz)) {
        destroy(p);
        return fail(error, STATUS_MEMORY, "no memory for a copy of A");
    }
    for (int64_t z = 0; z < A->nnz; z++)
        own->values.own[z] = A->values ? A->values[z] : random_symmetric(p->seed, z);
    p->inputs[ROW_PTR] = dataset_offsets_operand(A, own->row_ptr, "A.row_ptr");
    p->inputs[COL_IDX] = dataset_columns_operand(A, "A.col_idx");
    p->inputs[VALUES] = numbers_operand(&own->values, "A.values");
    p->num_inputs = NUM_INPUTS;
    p->outputs[NORM] = (output){.name = "norm", .rows = A->rows, .cols = 1};
    p->outputs[UNIT] = (output){.name = "unit",
                                .rows = A->rows,
                                .cols = A->cols,
                                .row_ptr = A->row_ptr,
                                .col_idx = A->col_idx};
    p->num_outputs = NUM_OUTPUTS;
    return STATUS_OK;
}

/* Squares of what is smaller than this vanish in fp32. */
static const double VANISHING = 0x1p-60;

/* A sum of n squares is off by (n + 1) u of itself at most, its root by half of that and u more. Where squares
 * vanish any unit up to 1 may come out. */
static void oracle(const problem *p, int output, int64_t row, double *reference, double *bound)
{
    const float *values = ((const row_norms_inputs *)p->own)->values.floats;
    const int64_t begin = p->A->row_ptr[row], end = p->A->row_ptr[row + 1];
    const double error = 0x1p-24 * (double)(end - begin + 4);
    double squares = 0;
    for (int64_t z = begin; z < end; z++)
        squares += (double)values[z] * values[z];
    const double norm = sqrt(squares);
    if (output == NORM) {
        reference[0] = norm;
        bound[0] = error * norm + VANISHING;
        return;
    }
    for (int64_t z = begin; z < end; z++) {
        reference[z - begin] = norm > 0 ? values[z] / norm : 0;
        bound[z - begin] = norm > VANISHING ? error * fabs(reference[z - begin]) : 2;
    }
}

static void cost(const problem *p, cost_model *model)
{
    *model = (cost_model){.flops = 3. * p->A->nnz,
                          .compulsory_bytes = 4. * (2. * p->A->rows + 1 + 2. * p->A->nnz)};
}

static void choose(const contender *c, const problem *p, int *tuning)
{
    (void)p;
    contender_initial_tuning(c, tuning);
}

static cudaError_t prepare(const contender *c, const problem *p, void *const *d_inputs, int *tuning,
                           void **instance)
{
    (void)tuning;
    row_norms_plan *plan = malloc(sizeof *plan);
    if (!plan) return cudaErrorMemoryAllocation;
    *plan = (row_norms_plan){
        .A = dataset_on_device(p, d_inputs[ROW_PTR], d_inputs[COL_IDX], d_inputs[VALUES]),
        .N = p->width,
        .contender = (const row_norms_contender *)c};
    *instance = plan;
    return cudaSuccess;
}

/* There is no dense input. */
static void rebind(void *instance, void *const *d_inputs)
{
    (void)instance, (void)d_inputs;
}

static cudaError_t run(void *instance, void *const *d_outputs, cudaStream_t stream)
{
    const row_norms_plan *plan = instance;
    return plan->contender->run(plan, d_outputs[NORM], d_outputs[UNIT], stream);
}

const operation row_norms_operation = {
    .name = "row_norms",
    .width = "N",
    .width_meaning = "nothing",
    .create = create,
    .destroy = destroy,
    .oracle = oracle,
    .row_length = dataset_row_length,
    .cost = cost,
    .choose = choose,
    .prepare = prepare,
    .rebind = rebind,
    .run = run,
    .release = free,
};
OPERATION_REGISTER(row_norms_operation)
