#include "network.h"

#include "results/csv.h"
#include "training/arrays.h"
#include "training/try.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_OF_LOSS = 10 };

/* Parts of a step. EDGES: gradients of scores, their way to the transposed pattern, and their sums. OTHER: activations,
 * the loss, Adam. */
enum { STEP_DENSE, STEP_FORWARD, STEP_SDDMM, STEP_EDGES, STEP_TRANSPOSED, STEP_OTHER };
static const char *const PARTS_OF_STEP[] = {"dense",      "sparse_forward", "sddmm", "edges",
                                            "transposed", "other",          NULL};

/* A layer's arrays and plans on the device. */
typedef struct layer_state {
    const float *X;       /* [vertices][in] */
    float *Z, *O;         /* [vertices][out]; O goes through the activation in place */
    float *el, *er, *lse; /* [vertices][heads] */
    float *left, *right;  /* [out][heads]: heads_to_matrix */
    const sparse_matrix *E,
        *T; /* the pattern of its heads, and its transpose, whose rows are as long */
    const int *long_rows;
    int num_long;
    /* Forward: attention; or softmax and sum. Backward: shares' gradients and the transposed sum. A GCN has `sum` alone. */
    sparse_plan *attention, *softmax, *sum, *sddmm, *transposed;
} layer_state;

typedef struct network {
    const gat_problem *p;
    const graph *g;
    const model *m;
    linear_kernels kernels; /* spmm and sddmm alone */
    cublasHandle_t blas;
    layer_state layers[MAX_LAYERS];
    sparse_matrix *A, *A_transposed, *E, *E_transposed; /* the latter two of several heads */
    float *parameters, *gradients, *first, *second;     /* Adam's moments */
    int steps;
    float *X, *loss, *dO, *dZ;
    int *label;
    float *gcn_values;
    /* Numbers of nonzeros: the shares' gradients; shares; either in the order of the transposed pattern. */
    float *of_edges, *shares, *turned;
    float *of_left, *of_right, *matrix; /* gradients of el and er; of left or right, as a matrix */
    device_arrays arrays;
} network;

/* ---- making it ------------------------------------------------------------------------------- */

static enum status make_pattern(const csr_matrix *host, sparse_matrix **A, sparse_matrix **T,
                                error_text *error)
{
    TRY_PLAN(sparse_matrix_create(host->rows, host->cols, host->row_ptr, host->col_idx, A));
    if (T) TRY_PLAN(sparse_matrix_transpose(*A, T));
    return STATUS_OK;
}

static enum status make_patterns(network *net, error_text *error)
{
    const bool is_gat = net->m->kind == MODEL_GAT;
    const int heads = net->m->layers[0].heads;
    csr_matrix E = {0};
    TRY(make_pattern(&net->g->A, &net->A, is_gat ? &net->A_transposed : NULL, error));
    if (heads == 1) return STATUS_OK;
    TRY(graph_of_heads(net->g, heads, &E, error));
    const enum status status = make_pattern(&E, &net->E, &net->E_transposed, error);
    csr_free(&E);
    return status;
}

static enum status make_arrays(network *net, error_text *error)
{
    const model *m = net->m;
    const size_t n = net->g->A.rows, nnz = net->g->A.nnz;
    size_t widest = 0, heads = m->layers[0].heads;
    for (int l = 0; l < m->num_layers; l++) {
        const layer *own = &m->layers[l];
        layer_state *s = &net->layers[l];
        if ((size_t)own->out > widest) widest = own->out;
        TRY(arrays_allocate(&net->arrays, &s->Z, n * own->out, error));
        TRY(arrays_allocate(&net->arrays, &s->O, n * own->out, error));
        if (m->kind == MODEL_GCN) continue;
        TRY(arrays_allocate(&net->arrays, &s->el, n * own->heads, error));
        TRY(arrays_allocate(&net->arrays, &s->er, n * own->heads, error));
        TRY(arrays_allocate(&net->arrays, &s->lse, n * own->heads, error));
        TRY(arrays_allocate(&net->arrays, &s->left, (size_t)own->out * own->heads, error));
        TRY(arrays_allocate(&net->arrays, &s->right, (size_t)own->out * own->heads, error));
    }
    TRY(arrays_allocate(&net->arrays, &net->parameters, m->floats, error));
    TRY(arrays_allocate(&net->arrays, &net->gradients, m->floats, error));
    TRY(arrays_allocate(&net->arrays, &net->first, m->floats, error));
    TRY(arrays_allocate(&net->arrays, &net->second, m->floats, error));
    TRY(arrays_upload(&net->arrays, &net->X, net->g->X, n * net->g->features, error));
    TRY(arrays_upload(&net->arrays, &net->label, net->g->trained, n, error));
    TRY(arrays_allocate(&net->arrays, &net->loss, n, error));
    TRY(arrays_allocate(&net->arrays, &net->dO, n * widest, error));
    TRY(arrays_allocate(&net->arrays, &net->dZ, n * widest, error));
    if (m->kind == MODEL_GCN) {
        float *values = graph_gcn_values(net->g);
        if (!values) return fail(error, STATUS_MEMORY, "no memory for the values of GCN");
        const enum status status =
            arrays_upload(&net->arrays, &net->gcn_values, values, nnz, error);
        free(values);
        return status;
    }
    TRY(arrays_allocate(&net->arrays, &net->of_edges, nnz * heads, error));
    TRY(arrays_allocate(&net->arrays, &net->shares, nnz * heads, error));
    TRY(arrays_allocate(&net->arrays, &net->turned, nnz * heads, error));
    /* Plans are made of them before they are known: of numbers. */
    TRY_CUDA(cudaMemset(net->shares, 0, nnz * heads * sizeof(float)));
    TRY_CUDA(cudaMemset(net->turned, 0, nnz * heads * sizeof(float)));
    TRY(arrays_allocate(&net->arrays, &net->of_left, n * heads, error));
    TRY(arrays_allocate(&net->arrays, &net->of_right, n * heads, error));
    return arrays_allocate(&net->arrays, &net->matrix, widest * heads, error);
}

/* Finds the long rows of a pattern of heads, which the graph's rows are repeated for. */
static enum status find_long_rows(network *net, int heads, layer_state *s, error_text *error)
{
    const csr_matrix *A = &net->g->A;
    int *rows = malloc((A->rows * heads + 1) * sizeof *rows);
    if (!rows) return fail(error, STATUS_MEMORY, "no memory for the numbers of rows");
    for (int64_t i = 0; i < A->rows; i++)
        for (int h = 0; h < heads && A->row_ptr[i + 1] - A->row_ptr[i] > LONG_ROW; h++)
            rows[s->num_long++] = (int)(i * heads + h);
    const enum status status = arrays_upload(&net->arrays, &s->long_rows, rows, s->num_long, error);
    free(rows);
    return status;
}

static enum status make_plans(network *net, int l, error_text *error)
{
    const layer *own = &net->m->layers[l];
    const linear_kernels *k = &net->kernels;
    layer_state *s = &net->layers[l];
    char settings[32];
    s->X = l ? net->layers[l - 1].O : net->X;
    s->E = own->heads > 1 ? net->E : net->A;
    s->T = own->heads > 1 ? net->E_transposed : net->A_transposed;
    sparse_request product = {.operation = "spmm", .kernel = k->spmm, .width = own->d};
    if (net->m->kind == MODEL_GCN) {
        product.values = net->gcn_values;
        TRY_PLAN(sparse_plan_create(net->A, &product, &s->sum));
        return STATUS_OK;
    }
    TRY(find_long_rows(net, own->heads, s, error));
    if (k->spmm) {
        product.values = net->shares;
        const sparse_request shares = {.operation = "softmax", .width = own->heads};
        TRY_PLAN(sparse_plan_create(net->A, &shares, &s->softmax));
        TRY_PLAN(sparse_plan_create(s->E, &product, &s->sum));
    } else {
        snprintf(settings, sizeof settings, "MODE=gat,HEADS=%d", own->heads);
        const sparse_request forward = {
            .operation = "attention", .settings = settings, .width = own->d};
        TRY_PLAN(sparse_plan_create(net->A, &forward, &s->attention));
    }
    const sparse_request of_shares = {.operation = "sddmm", .kernel = k->sddmm, .width = own->d};
    TRY_PLAN(sparse_plan_create(s->E, &of_shares, &s->sddmm));
    product.values = net->turned;
    TRY_PLAN(sparse_plan_create(s->T, &product, &s->transposed));
    return STATUS_OK;
}

static enum status make(network *net, error_text *error)
{
    TRY(make_patterns(net, error));
    TRY(make_arrays(net, error));
    for (int l = 0; l < net->m->num_layers; l++)
        TRY(make_plans(net, l, error));
    return STATUS_OK;
}

/* Begins with the parameters of the start. */
static enum status restart(network *net, error_text *error)
{
    const size_t bytes = net->m->floats * sizeof(float);
    net->steps = 0;
    TRY_CUDA(cudaMemset(net->first, 0, bytes));
    TRY_CUDA(cudaMemset(net->second, 0, bytes));
    TRY_CUDA(cudaMemcpy(net->parameters, net->p->start, bytes, cudaMemcpyHostToDevice));
    return STATUS_OK;
}

static void destroy(void *made)
{
    network *net = made;
    if (!net) return;
    for (int l = 0; l < net->m->num_layers; l++) {
        layer_state *s = &net->layers[l];
        sparse_plan_destroy(s->attention);
        sparse_plan_destroy(s->softmax);
        sparse_plan_destroy(s->sum);
        sparse_plan_destroy(s->sddmm);
        sparse_plan_destroy(s->transposed);
    }
    sparse_matrix_destroy(net->A);
    sparse_matrix_destroy(net->A_transposed);
    sparse_matrix_destroy(net->E);
    sparse_matrix_destroy(net->E_transposed);
    arrays_free(&net->arrays);
    free(net);
}

static enum status create(const void *context, const linear_kernels *kernels, cublasHandle_t blas,
                          void **made, error_text *error)
{
    const gat_problem *p = context;
    network *net = *made = calloc(1, sizeof *net);
    if (!net) return fail(error, STATUS_MEMORY, "no memory for a network");
    net->p = p;
    net->g = &p->g;
    net->m = &p->m;
    net->kernels = *kernels;
    net->blas = blas;
    enum status status = make(net, error);
    if (status == STATUS_OK) status = restart(net, error);
    if (status != STATUS_OK) {
        destroy(net);
        *made = NULL;
    }
    return status;
}

/* ---- dense products -------------------------------------------------------------------------- */

/* The row-major matrix as cuBLAS reads it is its transpose, so the product is C^T = op(B)^T op(A)^T. */
typedef struct dense {
    const float *array;
    bool transposed;
} dense;

/* C [m][n] = op(A) [m][k] * op(B) [k][n], plus C if asked for. Arrays of transposed operands lie as [k][m] and [n][k]. */
static enum status multiply(const network *net, int m, int n, int k, dense A, dense B, bool add,
                            float *C, error_text *error)
{
    const float one = 1, beta = add ? 1 : 0;
    const cublasStatus_t status =
        cublasSgemm(net->blas, B.transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                    A.transposed ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, B.array,
                    B.transposed ? k : n, A.array, A.transposed ? m : k, &beta, C, n);
    if (status == CUBLAS_STATUS_SUCCESS) return STATUS_OK;
    return fail(error, STATUS_RUNTIME, "cublasSgemm failed with status %d", (int)status);
}

static dense as_is(const float *array)
{
    return (dense){array, false};
}

static dense turned(const float *array)
{
    return (dense){array, true};
}

/* ---- passes ---------------------------------------------------------------------------------- */

static int vertices(const network *net)
{
    return (int)net->g->A.rows;
}

static pattern pattern_of(const layer_state *s, const sparse_matrix *E)
{
    return (pattern){.rows = (int)sparse_matrix_rows(E),
                     .num_long = s->num_long,
                     .row_ptr = sparse_matrix_row_ptr(E),
                     .col_idx = sparse_matrix_col_idx(E),
                     .long_rows = s->long_rows};
}

/* O and lse of Z, el and er. */
static enum status attend(network *net, const layer_state *s, error_text *error)
{
    if (s->attention) {
        TRY_PLAN(sparse_plan_run(s->attention, (const void *[]){s->el, s->er, s->Z},
                                 (void *[]){s->O, s->lse}, NULL));
        return STATUS_OK;
    }
    const pattern E = pattern_of(s, s->E);
    const half_scores of = {s->el, s->er};
    TRY_CUDA(edge_scores(&E, &of, net->shares, NULL));
    TRY_PLAN(sparse_plan_run(s->softmax, (const void *[]){net->shares},
                             (void *[]){net->shares, s->lse}, NULL));
    TRY_PLAN(sparse_plan_update_values(s->sum));
    TRY_PLAN(sparse_plan_run(s->sum, (const void *[]){s->Z}, (void *[]){s->O}, NULL));
    return STATUS_OK;
}

static enum status forward(network *net, int l, parts *p, error_text *error)
{
    const layer *own = &net->m->layers[l];
    const layer_state *s = &net->layers[l];
    const int n = vertices(net), heads = own->heads;
    const float *const W = net->parameters + model_part(net->m, l, PART_W);
    TRY(multiply(net, n, own->out, own->in, as_is(s->X), as_is(W), false, s->Z, error));
    if (net->m->kind == MODEL_GAT) {
        const float *const left = net->parameters + model_part(net->m, l, PART_LEFT);
        const float *const right = net->parameters + model_part(net->m, l, PART_RIGHT);
        TRY_CUDA(heads_to_matrix(heads, own->d, left, s->left, NULL));
        TRY_CUDA(heads_to_matrix(heads, own->d, right, s->right, NULL));
        TRY(multiply(net, n, heads, own->out, as_is(s->Z), as_is(s->left), false, s->el, error));
        TRY(multiply(net, n, heads, own->out, as_is(s->Z), as_is(s->right), false, s->er, error));
        TRY_CUDA(parts_mark(p, STEP_DENSE));
        TRY(attend(net, s, error));
    } else {
        TRY_CUDA(parts_mark(p, STEP_DENSE));
        TRY_PLAN(sparse_plan_run(s->sum, (const void *[]){s->Z}, (void *[]){s->O}, NULL));
    }
    TRY_CUDA(parts_mark(p, STEP_FORWARD));
    TRY_CUDA(activate(own->f, (int64_t)n * own->out, s->O, NULL));
    TRY_CUDA(parts_mark(p, STEP_OTHER));
    return STATUS_OK;
}

/* Gradients of left or right, given those of el or er; and what they add to dZ. */
static enum status of_half_scores(network *net, int l, enum part which, const float *of_scores,
                                  error_text *error)
{
    const layer *own = &net->m->layers[l];
    const layer_state *s = &net->layers[l];
    const float *const matrix = which == PART_LEFT ? s->left : s->right;
    float *const gradient = net->gradients + model_part(net->m, l, which);
    const int n = vertices(net), heads = own->heads;
    TRY(multiply(net, own->out, heads, n, turned(s->Z), as_is(of_scores), false, net->matrix,
                 error));
    TRY_CUDA(heads_from_matrix(heads, own->d, net->matrix, gradient, NULL));
    return multiply(net, n, own->out, heads, as_is(of_scores), turned(matrix), true, net->dZ,
                    error);
}

/* dZ of dO through the softmax:
 *     dp = <dO, Z> of each edge (SDDMM)     p, dx, sums of dx along rows (edge_gradients)
 *     dZ = P^T dO (SpMM)                    sums of dx down columns
 * and then through el and er. */
static enum status attend_backward(network *net, int l, parts *p, error_text *error)
{
    const layer_state *s = &net->layers[l];
    const pattern E = pattern_of(s, s->E), T = pattern_of(s, s->T);
    const half_scores of = {s->el, s->er};
    TRY_PLAN(sparse_plan_run(s->sddmm, (const void *[]){net->dO, s->Z}, (void *[]){net->of_edges},
                             NULL));
    TRY_CUDA(parts_mark(p, STEP_SDDMM));
    TRY_CUDA(edge_gradients(&E, &of, s->lse, net->of_edges, net->shares, net->of_left, NULL));
    TRY_PLAN(sparse_values_transpose(s->T, sizeof(float), net->shares, net->turned, NULL));
    TRY_CUDA(parts_mark(p, STEP_EDGES));
    TRY_PLAN(sparse_plan_update_values(s->transposed));
    TRY_PLAN(sparse_plan_run(s->transposed, (const void *[]){net->dO}, (void *[]){net->dZ}, NULL));
    TRY_CUDA(parts_mark(p, STEP_TRANSPOSED));
    TRY_PLAN(sparse_values_transpose(s->T, sizeof(float), net->of_edges, net->turned, NULL));
    TRY_CUDA(row_sums(&T, net->turned, net->of_right, NULL));
    TRY_CUDA(parts_mark(p, STEP_EDGES));
    TRY(of_half_scores(net, l, PART_LEFT, net->of_left, error));
    return of_half_scores(net, l, PART_RIGHT, net->of_right, error);
}

/* The gradients of layer l, given dO; leaves in dO that of the layer below. */
static enum status backward(network *net, int l, parts *p, error_text *error)
{
    const layer *own = &net->m->layers[l];
    const layer_state *s = &net->layers[l];
    const int n = vertices(net);
    const int64_t W = model_part(net->m, l, PART_W);
    if (net->m->kind == MODEL_GAT) {
        TRY(attend_backward(net, l, p, error));
    } else { /* the matrix of a GCN is symmetric */
        TRY_PLAN(sparse_plan_run(s->sum, (const void *[]){net->dO}, (void *[]){net->dZ}, NULL));
        TRY_CUDA(parts_mark(p, STEP_TRANSPOSED));
    }
    TRY(multiply(net, own->in, own->out, n, turned(s->X), as_is(net->dZ), false, net->gradients + W,
                 error));
    if (l)
        TRY(multiply(net, n, own->in, own->out, as_is(net->dZ), turned(net->parameters + W), false,
                     net->dO, error));
    TRY_CUDA(parts_mark(p, STEP_DENSE));
    if (l == 0) return STATUS_OK;
    TRY_CUDA(activate_backward(net->m->layers[l - 1].f, (int64_t)n * own->in, s->X, net->dO, NULL));
    TRY_CUDA(parts_mark(p, STEP_OTHER));
    return STATUS_OK;
}

/* A forward and a backward pass: the loss of each vertex, and the gradient of their sum. */
static enum status gradients(network *net, parts *p, error_text *error)
{
    const int last = net->m->num_layers - 1;
    const float weight = 1 / (float)net->g->num_trained;
    for (int l = 0; l <= last; l++)
        TRY(forward(net, l, p, error));
    TRY_CUDA(cross_entropy(vertices(net), net->g->classes, net->layers[last].O, net->label, weight,
                           net->loss, net->dO, NULL));
    TRY_CUDA(parts_mark(p, STEP_OTHER));
    for (int l = last; l >= 0; l--)
        TRY(backward(net, l, p, error));
    return STATUS_OK;
}

static enum status step(void *made, parts *p, error_text *error)
{
    network *net = made;
    TRY(gradients(net, p, error));
    TRY_CUDA(adam_step(net->m->floats, ++net->steps, (float)net->p->rate, net->gradients,
                       net->first, net->second, net->parameters, NULL));
    return STATUS_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

static int largest_of(const float *x, int count)
{
    int best = 0;
    for (int c = 1; c < count; c++)
        if (x[c] > x[best]) best = c;
    return best;
}

/* Waits for the last pass, and fetches its loss, and the share of the vertices held out that it labels right. */
static enum status fetch_loss(const network *net, double *loss, double *held_out, error_text *error)
{
    const graph *g = net->g;
    const int64_t n = g->A.rows, of_logits = n * g->classes;
    const float *const d_logits = net->layers[net->m->num_layers - 1].O;
    float *fetched = malloc((n + of_logits) * sizeof *fetched), *logits = fetched + n;
    if (!fetched) return fail(error, STATUS_MEMORY, "no memory for the logits");
    cudaError_t cuda = cudaMemcpy(fetched, net->loss, n * sizeof *fetched, cudaMemcpyDeviceToHost);
    if (cuda == cudaSuccess)
        cuda = cudaMemcpy(logits, d_logits, of_logits * sizeof *logits, cudaMemcpyDeviceToHost);
    int64_t right = 0;
    *loss = 0;
    for (int64_t i = 0; i < n; i++) {
        *loss += fetched[i];
        if (g->trained[i] < 0)
            right += largest_of(logits + i * g->classes, g->classes) == g->label[i];
    }
    *held_out = (double)right / (double)(n - g->num_trained);
    free(fetched);
    return cuda == cudaSuccess ? STATUS_OK : device_fail(cuda, "fetching the loss", error);
}

/* ---- the check --------------------------------------------------------------------------------- */

/* Computes the loss that is differenced. Of a vertex with one neighbour the share is 1, whatever its score, and the gradient
 * by `left` is 0: the floor of the bounds is for such tensors. */
static double loss_at(const void *context, const double *at)
{
    const gat_problem *p = context;
    return model_loss(&p->m, &p->g, at);
}

/* Fills the gradient; the point `at` is that of the parameters. */
static enum status compare(network *net, double *at, float *gradient, amount how_much, verdict *v,
                           error_text *error)
{
    const model *m = net->m;
    tensor_range tensors[MAX_TENSORS];
    double loss, held_out;
    for (int t = 0; t < m->num_tensors; t++) {
        const tensor *own = &m->tensors[t];
        tensors[t] = (tensor_range){.first = own->first, .count = own->count};
        snprintf(tensors[t].name, sizeof tensors[t].name, "%s of layer %d", own->name,
                 own->layer + 1);
    }
    for (int64_t i = 0; i < m->floats; i++)
        at[i] = net->p->start[i];
    TRY(gradients(net, NULL, error));
    TRY(fetch_loss(net, &loss, &held_out, error));
    TRY_CUDA(
        cudaMemcpy(gradient, net->gradients, m->floats * sizeof *gradient, cudaMemcpyDeviceToHost));
    const differences d = {loss_at, net->p, tensors, m->num_tensors, at, gradient, loss};
    differences_check(&d, how_much, net->p->seed, v);
    return STATUS_OK;
}

static enum status check(void *made, amount how_much, verdict *v, error_text *error)
{
    network *net = made;
    float *gradient = malloc(net->m->floats * sizeof *gradient);
    double *at = malloc(net->m->floats * sizeof *at);
    const enum status status = gradient && at
                                   ? compare(net, at, gradient, how_much, v, error)
                                   : fail(error, STATUS_MEMORY, "no memory for a gradient");
    free(gradient);
    free(at);
    return status;
}

/* ---- training ---------------------------------------------------------------------------------- */

/* Trains from the start, and shows the loss now and then. */
static enum status train(void *made, bool show, outcome *o, error_text *error)
{
    network *net = made;
    const int steps = net->p->steps, every = steps / LINES_OF_LOSS + 1;
    if (show && steps) printf("\n  step       loss    held out\n");
    for (int s = 0; s <= steps && steps; s++) {
        const bool looks = s == 0 || s == steps || (show && s % every == 0);
        if (s < steps)
            TRY(step(net, NULL, error));
        else
            TRY(gradients(net, NULL, error));
        if (!looks) continue;
        TRY(fetch_loss(net, &o->last_loss, &o->held_out, error));
        if (s == 0) o->first_loss = o->last_loss;
        if (show) printf("%6d %10.5f %9.1f %%\n", s, o->last_loss, 100 * o->held_out);
    }
    return STATUS_OK;
}

/* Adds a name behind the others. */
static void append(char *text, size_t bytes, const char *name)
{
    const size_t used = strlen(text);
    if (used < bytes) snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", name);
}

/* The kernels of the sparse products, each once: "fused_attention, sddmm_balanced, length_bins". */
static void kernel_names(const void *made, char *text, size_t bytes)
{
    const network *net = made;
    const char *listed[5 * MAX_LAYERS];
    int count = 0;
    text[0] = '\0';
    for (int l = 0; l < net->m->num_layers; l++) {
        const layer_state *s = &net->layers[l];
        const sparse_plan *const plans[] = {s->attention, s->softmax, s->sum, s->sddmm,
                                            s->transposed};
        for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
            const char *name = plans[i] ? sparse_plan_kernel(plans[i]) : NULL;
            int at = 0;
            while (name && at < count && strcmp(listed[at], name))
                at++;
            if (!name || at < count) continue;
            listed[count++] = name;
            append(text, bytes, name);
        }
    }
}

static void write_columns(const void *context, FILE *out)
{
    const gat_problem *p = context;
    const graph *g = &p->g;
    fprintf(out, "%s,", p->model);
    csv_text(out, g->name);
    fputc(',', out);
    csv_text(out, dataset_origin_name(g->origin));
    fputc(',', out);
    csv_text(out, g->source);
    fprintf(out, ",%" PRId64 ",%" PRId64 ",%d,%d,%d,%d,%d,%d,%.7g", g->A.rows, g->A.nnz, p->layers,
            p->heads, p->hidden, g->features, g->classes, p->steps, p->rate);
}

const trained_kind gat_kind = {
    .app = "gat",
    .columns = "model,dataset,origin,source,vertices,edges,layers,heads,hidden,features,classes,"
               "steps,rate",
    .write_columns = write_columns,
    .parts = PARTS_OF_STEP,
    .pipelines = "spmm",
    .first_pipeline = "cuSPARSE CSR_DEFAULT",
    .measures_memory = true,
    .create = create,
    .destroy = destroy,
    .check = check,
    .train = train,
    .step = step,
    .kernel_names = kernel_names,
};
