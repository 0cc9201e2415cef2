/*
 * plan.c - plans of any operation of the suite: the functions of ops/operation.h behind library/sparse_plan.h.
 *
 * An operation says by an example which arrays it takes: a problem of one row and one column, made with the same
 * settings. Its inputs are the arrays of CSR, "A.row_ptr" and so on, and then the dense ones.
 */
#include "device/facts.h"
#include "library/matrix.h"
#include "models/choice.h"
#include "ops/inputs.h"
#include "ops/transposed_spmm.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, MOST_SETTINGS = 200 };

struct sparse_plan {
    const sparse_matrix *A;
    problem problem; /* the instance points into it */
    const contender *kernel;
    int tuning[MAX_TUNABLES];
    void *instance;
    void *d_inputs[MAX_OPERANDS]; /* first those of the matrix, `num_sparse` of them */
    int num_sparse;
    bool has_values;
    size_t bytes; /* that creating it took */
};

/* ---- requests -------------------------------------------------------------------------------- */

/* The arrays of a matrix, as the inputs of an operation name them; the last one may be missing. */
enum { NUM_CSR_ARRAYS = 3 };
static const char *const CSR_ARRAYS[NUM_CSR_ARRAYS] = {".row_ptr", ".col_idx", ".values"};

static bool ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), tail = strlen(end);
    return length >= tail && !strcmp(name + length - tail, end);
}

/* Sets the knob of that name, or the tunable of the plan's kernel. */
static enum sparse_status set(sparse_plan *plan, const char *name, const char *value)
{
    const operation *op = plan->problem.operation;
    for (int i = 0; i < MAX_KNOBS && op->knobs[i].name; i++)
        if (!strcmp(op->knobs[i].name, name)) {
            if (tunable_read(&op->knobs[i], value, &plan->problem.knobs[i])) return SPARSE_OK;
            return refuse(SPARSE_INVALID, "%s: %s has no value '%s'", op->name, name, value);
        }
    for (int i = 0; plan->kernel && i < contender_num_tunables(plan->kernel); i++)
        if (!strcmp(plan->kernel->tunables[i].name, name)) {
            if (tunable_read(&plan->kernel->tunables[i], value, &plan->tuning[i])) return SPARSE_OK;
            return refuse(SPARSE_INVALID, "%s: %s has no value '%s'", plan->kernel->name, name,
                          value);
        }
    return refuse(SPARSE_INVALID, "%s has no setting '%s'%s", op->name, name,
                  plan->kernel ? "" : " (those of a kernel want its name)");
}

/* Reads "HEADS=4,MODE=gat". */
static enum sparse_status read_settings(sparse_plan *plan, const char *settings)
{
    char copy[MOST_SETTINGS], *rest, *word;
    if (strlen(settings) >= sizeof copy) return refuse(SPARSE_INVALID, "settings are too long");
    strcpy(copy, settings);
    for (word = strtok_r(copy, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
        char *value = strchr(word, '=');
        if (!value) return refuse(SPARSE_INVALID, "setting '%s' is no NAME=VALUE", word);
        *value++ = '\0';
        const enum sparse_status status = set(plan, word, value);
        if (status != SPARSE_OK) return status;
    }
    return SPARSE_OK;
}

/* Kernels of the operation and precision, the labs in their order, then those of vendors. A dense one multiplies zeros,
 * too, and keeps B: it is no kernel of a plan. */
static const contender *next_kernel(const operation *op, enum precision precision,
                                    const contender *c)
{
    for (c = c ? c->next : contenders(); c; c = c->next)
        if (c->operation == op && c->precision == precision && !c->dense) return c;
    return NULL;
}

/* A lab's by its short name, a vendor's by its whole one. */
static const contender *kernel_named(const operation *op, enum precision precision,
                                     const char *name)
{
    const contender *c = contender_find(op, name, precision);
    if (c) return c;
    while ((c = next_kernel(op, precision, c)))
        if (!strcmp(c->name, name)) return c;
    return NULL;
}

/* The numbers that a nonzero stands for: a score for each head, or the weights of a block. Kernels number them in int. */
static int64_t numbers_of(const problem *p)
{
    const operation *op = p->operation;
    for (int i = 0; i < MAX_KNOBS && op->knobs[i].name; i++) {
        const int64_t value = problem_knob(p, i);
        if (!strcmp(op->knobs[i].name, "HEADS")) return value;
        if (!strcmp(op->knobs[i].name, "BLOCK")) return value * value;
    }
    return !strcmp(op->width, "H") ? p->width : 1;
}

static enum sparse_status read_request(sparse_plan *plan, const sparse_request *r)
{
    problem *p = &plan->problem;
    const operation *op = r->operation ? operation_named(r->operation) : NULL;
    if (!op) {
        char names[200];
        operation_names(names, sizeof names);
        return refuse(SPARSE_INVALID, "no operation '%s': there are %s",
                      r->operation ? r->operation : "", names);
    }
    p->operation = op;
    p->precision = (enum precision)r->precision;
    p->width = r->width;
    p->epilogue = (row_epilogue){.d_bias = r->bias, .relu = r->relu};
    if (!epilogue_is_none(&p->epilogue) && !op->takes_epilogue)
        return refuse(SPARSE_INVALID, "%s takes no bias and no relu", op->name);
    if ((unsigned)r->precision >= NUM_PRECISIONS)
        return refuse(SPARSE_INVALID, "%s: no precision %d", op->name, (int)r->precision);
    if (r->width < 1 || (op->most_width && r->width > op->most_width))
        return refuse(SPARSE_INVALID, "%s: %s = %d is out of range", op->name, op->width, r->width);
    if (r->kernel) {
        plan->kernel = kernel_named(op, p->precision, r->kernel);
        if (!plan->kernel)
            return refuse(SPARSE_UNSUITED, "%s has no kernel '%s' in %s", op->name, r->kernel,
                          precision_name(p->precision));
        op->choose(plan->kernel, p, plan->tuning);
    }
    return r->settings ? read_settings(plan, r->settings) : SPARSE_OK;
}

/* Learns from an example the inputs and outputs of the plan. */
static enum sparse_status learn_operands(sparse_plan *plan, const sparse_request *r)
{
    static int64_t row_ptr[] = {0, 1};
    static int32_t col_idx[] = {0};
    static float one[] = {1};
    problem *p = &plan->problem;
    const csr_matrix matrix = {.rows = 1,
                               .cols = 1,
                               .nnz = 1,
                               .row_ptr = row_ptr,
                               .col_idx = col_idx,
                               .values = r->values ? one : NULL};
    problem example = {
        .operation = p->operation, .A = &matrix, .width = p->width, .precision = p->precision};
    error_text text;
    memcpy(example.knobs, p->knobs, sizeof p->knobs);
    enum status status = row_stats_compute(&matrix, &example.stats, &text);
    if (status == STATUS_OK) status = p->operation->create(&example, &text);
    if (status != STATUS_OK) return refuse_status(status, &text);
    p->num_inputs = example.num_inputs;
    p->num_outputs = example.num_outputs;
    for (int i = 0; i < p->num_inputs; i++)
        p->inputs[i].name = example.inputs[i].name;
    for (int i = 0; i < p->num_outputs; i++)
        p->outputs[i].name = example.outputs[i].name;
    p->operation->destroy(&example);
    while (plan->num_sparse < NUM_CSR_ARRAYS && plan->num_sparse < p->num_inputs &&
           ends_with(p->inputs[plan->num_sparse].name, CSR_ARRAYS[plan->num_sparse]))
        plan->num_sparse++;
    plan->has_values = plan->num_sparse == NUM_CSR_ARRAYS;
    if (plan->has_values && !r->values)
        return refuse(SPARSE_INVALID, "%s needs values", p->operation->name);
    if (!plan->has_values && r->values)
        return refuse(SPARSE_INVALID, "%s takes no values with these settings", p->operation->name);
    if (p->A->nnz > MAX_NNZ / numbers_of(p))
        return refuse(SPARSE_INVALID, "%s: %lld nonzeros of %lld numbers, at most %d in all",
                      p->operation->name, (long long)p->A->nnz, (long long)numbers_of(p), MAX_NNZ);
    void *const arrays[] = {plan->A->d_row_ptr, plan->A->d_col_idx, (void *)r->values};
    memcpy(plan->d_inputs, arrays, plan->num_sparse * sizeof *arrays);
    return SPARSE_OK;
}

/* ---- choosing and preparing ------------------------------------------------------------------ */

/* Prepares c with plan->tuning. */
static cudaError_t prepare(sparse_plan *plan, const contender *c, void **instance)
{
    const problem *p = &plan->problem;
    if (c->min_compute_capability > device_facts_get()->compute_capability ||
        (c->unsuited && c->unsuited(p)))
        return cudaErrorNotSupported;
    return p->operation->prepare(c, p, plan->d_inputs, plan->tuning, instance);
}

static cudaError_t prepare_with_own_settings(sparse_plan *plan, const contender *c)
{
    plan->problem.operation->choose(c, &plan->problem, plan->tuning);
    const cudaError_t error = prepare(plan, c, &plan->instance);
    if (error == cudaSuccess) plan->kernel = c;
    return error;
}

/* The lab that comes last before `before`; NULL: there is none. */
static const contender *last_lab(const problem *p, const contender *before)
{
    const contender *last = NULL;
    for (const contender *c = NULL; (c = next_kernel(p->operation, p->precision, c));)
        if (c == before)
            break;
        else if (c->lab)
            last = c;
    return last;
}

/* Those with estimates first, the least one before the others; then the others, the last lab first. */
static cudaError_t prepare_by_rule(sparse_plan *plan)
{
    const problem *p = &plan->problem;
    candidate list[MAX_CANDIDATES];
    const int count = choice_candidates(p->operation, p->precision, &p->stats, p->width, list);
    cudaError_t error = cudaErrorNotSupported;
    for (int i = 0; i < count && error == cudaErrorNotSupported; i++)
        error = prepare_with_own_settings(plan, list[i].contender);
    for (const contender *c = last_lab(p, NULL); c && error == cudaErrorNotSupported;
         c = last_lab(p, c))
        error = prepare_with_own_settings(plan, c);
    return error;
}

/* Free bytes of the device. The CPU backend has none of its own: its memory is everybody's. */
static size_t free_bytes(void)
{
    size_t available = 0, total = 0;
#ifdef BACKEND_CUDA
    if (cudaMemGetInfo(&available, &total) != cudaSuccess) available = 0;
#endif
    (void)total;
    return available;
}

static enum sparse_status fill(sparse_plan *plan, const sparse_request *request)
{
    const operation *op;
    enum sparse_status status = matrix_is_here(plan->A);
    if (status == SPARSE_OK) status = read_request(plan, request);
    if (status == SPARSE_OK) status = learn_operands(plan, request);
    if (status != SPARSE_OK) return status;
    op = plan->problem.operation;
    const size_t before = free_bytes();
    const cudaError_t error =
        plan->kernel ? prepare(plan, plan->kernel, &plan->instance) : prepare_by_rule(plan);
    const size_t after = free_bytes();
    if (error == cudaErrorNotSupported && request->kernel)
        return refuse(SPARSE_UNSUITED, "%s: %s cannot take this matrix or width on this device",
                      op->name, request->kernel);
    if (error == cudaErrorNotSupported)
        return refuse(SPARSE_UNSUITED, "%s: no kernel takes this matrix and width on this device",
                      op->name);
    if (error != cudaSuccess) return refuse_cuda(error, op->name);
    plan->bytes = after < before ? before - after : 0;
    return SPARSE_OK;
}

enum sparse_status sparse_plan_create(const sparse_matrix *A, const sparse_request *request,
                                      sparse_plan **plan)
{
    if (!A || !request || !plan)
        return refuse(SPARSE_INVALID, "sparse_plan_create: no matrix, request or place");
    *plan = NULL;
    sparse_plan *made = calloc(1, sizeof *made);
    if (!made) return refuse(SPARSE_NO_MEMORY, "no memory for a plan");
    made->A = A;
    made->problem.A = &A->host;
    made->problem.stats = A->stats;
    library_enter();
    const enum sparse_status status = fill(made, request);
    library_leave();
    if (status == SPARSE_OK)
        *plan = made;
    else
        free(made);
    return status;
}

/* ---- using ----------------------------------------------------------------------------------- */

/* Refuses an array that no kernel can take. */
static enum sparse_status check_array(const sparse_plan *plan, const char *name, const void *array)
{
    const char *op = plan->problem.operation->name;
    if (!array) return refuse(SPARSE_INVALID, "%s: %s is NULL", op, name);
    if ((uintptr_t)array % ALIGNMENT)
        return refuse(SPARSE_INVALID, "%s: %s does not begin at a multiple of %d bytes", op, name,
                      ALIGNMENT);
    return SPARSE_OK;
}

enum sparse_status sparse_plan_run(sparse_plan *plan, const void *const *inputs,
                                   void *const *outputs, cudaStream_t stream)
{
    if (!plan || !inputs || !outputs)
        return refuse(SPARSE_INVALID, "sparse_plan_run: no plan, inputs or outputs");
    const operation *op = plan->problem.operation;
    enum sparse_status status = matrix_is_here(plan->A);
    void *d_inputs[MAX_OPERANDS];
    memcpy(d_inputs, plan->d_inputs, sizeof d_inputs);
    for (int i = 0; sparse_plan_input(plan, i) && status == SPARSE_OK; i++) {
        status = check_array(plan, sparse_plan_input(plan, i), inputs[i]);
        d_inputs[plan->num_sparse + i] = (void *)inputs[i];
    }
    for (int i = 0; sparse_plan_output(plan, i) && status == SPARSE_OK; i++)
        status = check_array(plan, sparse_plan_output(plan, i), outputs[i]);
    if (status != SPARSE_OK) return status;
    library_enter();
    op->rebind(plan->instance, d_inputs);
    const cudaError_t error = op->run(plan->instance, outputs, stream);
    if (error != cudaSuccess) status = refuse_cuda(error, op->name);
    library_leave();
    return status;
}

enum sparse_status sparse_plan_update_values(sparse_plan *plan)
{
    if (!plan) return refuse(SPARSE_INVALID, "sparse_plan_update_values: no plan");
    const operation *op = plan->problem.operation;
    if (!plan->has_values)
        return refuse(SPARSE_INVALID, "%s: the plan was created without values", op->name);
    library_enter();
    enum sparse_status status = matrix_is_here(plan->A);
    if (status == SPARSE_OK) {
        void *other = NULL;
        cudaError_t error =
            op->update_values ? op->update_values(plan->instance) : cudaErrorNotSupported;
        if (error == cudaErrorNotSupported) error = prepare(plan, plan->kernel, &other);
        if (other) {
            op->release(plan->instance);
            plan->instance = other;
        }
        if (error != cudaSuccess) status = refuse_cuda(error, op->name);
    }
    library_leave();
    return status;
}

enum sparse_status sparse_plan_move_values(sparse_plan *plan, cudaStream_t stream)
{
    if (!plan) return refuse(SPARSE_INVALID, "sparse_plan_move_values: no plan");
    const operation *op = plan->problem.operation;
    enum sparse_status status = matrix_is_here(plan->A);
    if (status != SPARSE_OK) return status;
    library_enter();
    const cudaError_t error = op == &transposed_spmm_operation
                                  ? transposed_spmm_move_values(plan->instance, stream)
                                  : cudaErrorNotSupported;
    if (error == cudaErrorNotSupported)
        status = refuse(SPARSE_UNSUITED, "%s: %s moves no values", op->name, plan->kernel->name);
    else if (error != cudaSuccess)
        status = refuse_cuda(error, op->name);
    library_leave();
    return status;
}

size_t sparse_plan_workspace_bytes(const sparse_plan *plan)
{
    const operation *op = plan->problem.operation;
    const size_t counted = op->workspace_bytes ? op->workspace_bytes(plan->instance) : 0;
    return counted ? counted : plan->bytes;
}

const char *sparse_plan_kernel(const sparse_plan *plan)
{
    return plan->kernel->name;
}

const char *sparse_plan_input(const sparse_plan *plan, int index)
{
    const int at = plan->num_sparse + index;
    return index >= 0 && at < plan->problem.num_inputs ? plan->problem.inputs[at].name : NULL;
}

const char *sparse_plan_output(const sparse_plan *plan, int index)
{
    const problem *p = &plan->problem;
    return index >= 0 && index < p->num_outputs ? p->outputs[index].name : NULL;
}

void sparse_plan_destroy(sparse_plan *plan)
{
    if (!plan) return;
    library_enter();
    plan->problem.operation->release(plan->instance);
    library_leave();
    free(plan);
}

const char *sparse_kernel_name(const char *operation, enum sparse_precision precision, int index)
{
    const struct operation *op = operation_named(operation);
    const contender *c = NULL;
    library_enter();
    if (op) do
            c = next_kernel(op, (enum precision)precision, c);
        while (c && index-- > 0);
    library_leave();
    return c ? c->name : NULL;
}
