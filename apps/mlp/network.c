#include "network.h"

#include "harness/timing.h"
#include "matrix/files.h"
#include "matrix/random.h"
#include "training/activations.h"
#include "training/arrays.h"
#include "training/linear_kernels.h"
#include "training/topology.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_OF_LOSS = 10 };

/* Pixels, hidden numbers and classes are the rows of what goes in and out of layers. */
typedef struct network {
    const mlp_problem *p;
    linear *layers[NUM_LAYERS];
    csr_matrix W[NUM_LAYERS]; /* the patterns now, with room for values */
    int rows[NUM_LAYERS];     /* that a layer gives */
    float *b[NUM_LAYERS], *of_b[NUM_LAYERS];
    float *X;                                /* all batches */
    int *label;                              /* as well */
    float *out[NUM_LAYERS], *of[NUM_LAYERS]; /* what a layer gives, and the loss's gradient by it */
    float *loss;                             /* of each column */
    int steps, changes;
    device_arrays arrays;
} network;

/* ---- making it --------------------------------------------------------------------------------- */

static enum status copy_pattern(const csr_matrix *from, csr_matrix *to, error_text *error)
{
    TRY(csr_alloc(to, from->rows, from->cols, from->nnz, true, error));
    memcpy(to->row_ptr, from->row_ptr, (from->rows + 1) * sizeof *to->row_ptr);
    memcpy(to->col_idx, from->col_idx, from->nnz * sizeof *to->col_idx);
    return STATUS_OK;
}

static enum status make(network *net, const linear_kernels *kernels, cublasHandle_t blas,
                        error_text *error)
{
    const mlp_problem *p = net->p;
    const model *m = &p->m;
    const int64_t N = p->batch, batches = p->d.batches + p->d.held_out;
    for (int l = 0; l < NUM_LAYERS; l++) {
        const float *const start = p->start + m->tensors[2 * l].first;
        net->rows[l] = (int)m->W[l].rows;
        TRY(copy_pattern(&m->W[l], &net->W[l], error));
        TRY(linear_create(&m->W[l], start, p->batch, kernels, blas, &net->layers[l], NULL, error));
        TRY(arrays_upload(&net->arrays, &net->b[l], p->start + m->tensors[2 * l + 1].first,
                          net->rows[l], error));
        TRY(arrays_allocate(&net->arrays, &net->of_b[l], net->rows[l], error));
        TRY(arrays_allocate(&net->arrays, &net->out[l], net->rows[l] * N, error));
        TRY(arrays_allocate(&net->arrays, &net->of[l], net->rows[l] * N, error));
    }
    TRY(arrays_upload(&net->arrays, &net->X, p->d.X, batches * p->d.stride, error));
    TRY(arrays_upload(&net->arrays, &net->label, p->d.label, batches * N, error));
    return arrays_allocate(&net->arrays, &net->loss, N, error);
}

static void destroy(void *made)
{
    network *net = made;
    if (!net) return;
    for (int l = 0; l < NUM_LAYERS; l++) {
        linear_destroy(net->layers[l]);
        csr_free(&net->W[l]);
    }
    arrays_free(&net->arrays);
    free(net);
}

static enum status create(const void *context, const linear_kernels *kernels, cublasHandle_t blas,
                          void **made, error_text *error)
{
    network *net = calloc(1, sizeof *net);
    *made = NULL;
    if (!net) return fail(error, STATUS_MEMORY, "no memory for a network");
    net->p = context;
    const enum status status = make(net, kernels, blas, error);
    if (status == STATUS_OK)
        *made = net;
    else
        destroy(net);
    return status;
}

/* ---- passes ------------------------------------------------------------------------------------ */

static const float *batch_of(const network *net, int batch)
{
    return net->X + batch * net->p->d.stride;
}

static const float *input_of(const network *net, int l, int batch)
{
    return l ? net->out[l - 1] : batch_of(net, batch);
}

static enum status forward(network *net, int batch, parts *p, error_text *error)
{
    const int N = net->p->batch;
    for (int l = 0; l < NUM_LAYERS; l++) {
        TRY(linear_forward(net->layers[l], input_of(net, l, batch), net->out[l], error));
        TRY_CUDA(parts_mark(p, PART_FORWARD));
        TRY_CUDA(add_biases(net->rows[l], N, net->b[l], l + 1 < NUM_LAYERS, net->out[l], NULL));
        TRY_CUDA(parts_mark(p, PART_OTHER));
    }
    const int last = NUM_LAYERS - 1;
    TRY_CUDA(columns_loss(DIGITS_CLASSES, N, net->out[last], net->label + (int64_t)batch * N,
                          net->loss, net->of[last], NULL));
    return STATUS_OK;
}

/* The loss's gradient by every parameter. Pixels need none. */
static enum status gradients(network *net, int batch, parts *p, error_text *error)
{
    const int N = net->p->batch;
    TRY(forward(net, batch, p, error));
    for (int l = NUM_LAYERS - 1; l >= 0; l--) {
        TRY_CUDA(bias_gradient(net->rows[l], N, net->of[l], net->of_b[l], NULL));
        TRY_CUDA(parts_mark(p, PART_OTHER));
        TRY(linear_weight_gradient(net->layers[l], net->of[l], input_of(net, l, batch), false,
                                   error));
        TRY_CUDA(parts_mark(p, PART_WEIGHT_GRADIENT));
        if (l == 0) break;
        TRY(linear_input_gradient(net->layers[l], net->of[l], net->of[l - 1], error));
        TRY_CUDA(parts_mark(p, PART_INPUT_GRADIENT));
        TRY_CUDA(tanh_backward(net->rows[l - 1], N, net->out[l - 1], net->of[l - 1], NULL));
    }
    return STATUS_OK;
}

static enum status step(void *made, parts *p, error_text *error)
{
    network *net = made;
    const float rate = (float)net->p->rate;
    TRY(gradients(net, net->steps++ % net->p->d.batches, p, error));
    for (int l = 0; l < NUM_LAYERS; l++) {
        TRY(linear_update(net->layers[l], rate, error));
        TRY_CUDA(weights_update(net->rows[l], NULL, rate, net->of_b[l], net->b[l], NULL));
    }
    TRY_CUDA(parts_mark(p, PART_UPDATE));
    return STATUS_OK;
}

/* ---- the check --------------------------------------------------------------------------------- */

static enum status fetch_gradient(const network *net, float *to, error_text *error)
{
    for (int l = 0; l < NUM_LAYERS; l++) {
        const tensor_range *t = &net->p->m.tensors[2 * l];
        TRY(linear_fetch_gradient(net->layers[l], to + t[0].first, error));
        TRY_CUDA(cudaMemcpy(to + t[1].first, net->of_b[l], t[1].count * sizeof *to,
                            cudaMemcpyDeviceToHost));
    }
    return STATUS_OK;
}

static enum status fetch_parameters(const network *net, float *to, error_text *error)
{
    for (int l = 0; l < NUM_LAYERS; l++) {
        const tensor_range *t = &net->p->m.tensors[2 * l];
        TRY(linear_fetch_values(net->layers[l], to + t[0].first, error));
        TRY_CUDA(cudaMemcpy(to + t[1].first, net->b[l], t[1].count * sizeof *to,
                            cudaMemcpyDeviceToHost));
    }
    return STATUS_OK;
}

static double loss_at(const void *context, const double *at)
{
    const network *net = context;
    const mlp_problem *p = net->p;
    return model_loss(&p->m, net->W, p->d.X, p->d.label, p->batch, at);
}

/* Compares with differences at the parameters as they are, on the first batch. */
static enum status compare(network *net, float *numbers, double *at, amount how_much, verdict *v,
                           error_text *error)
{
    const model *m = &net->p->m;
    double loss;
    TRY(fetch_parameters(net, numbers, error));
    for (int64_t i = 0; i < m->parameters; i++)
        at[i] = numbers[i];
    TRY(gradients(net, 0, NULL, error));
    TRY(array_sum(net->loss, net->p->batch, &loss, error));
    TRY(fetch_gradient(net, numbers, error));
    const differences d = {loss_at, net, m->tensors, NUM_TENSORS, at, numbers, loss};
    differences_check(&d, how_much, net->p->seed, v);
    return STATUS_OK;
}

static enum status check(void *made, amount how_much, verdict *v, error_text *error)
{
    network *net = made;
    const int64_t count = net->p->m.parameters;
    float *numbers = malloc(count * sizeof *numbers);
    double *at = malloc(count * sizeof *at);
    const enum status status = numbers && at
                                   ? compare(net, numbers, at, how_much, v, error)
                                   : fail(error, STATUS_MEMORY, "no memory for a gradient");
    free(numbers);
    free(at);
    return status;
}

/* ---- changes of the pattern -------------------------------------------------------------------- */

/* Fetches the gradient by all of W, zeros included, of the last batch. */
static enum status fetch_full_gradient(network *net, int l, int batch, float *to, error_text *error)
{
    const int64_t count = net->W[l].rows * net->W[l].cols;
    float *d_full;
    TRY_CUDA(cudaMalloc((void **)&d_full, count * sizeof *d_full));
    enum status status =
        linear_full_gradient(net->layers[l], net->of[l], input_of(net, l, batch), d_full, error);
    if (status == STATUS_OK) {
        const cudaError_t cuda = cudaMemcpy(to, d_full, count * sizeof *to, cudaMemcpyDeviceToHost);
        if (cuda != cudaSuccess) status = device_fail(cuda, "fetching a gradient", error);
    }
    cudaFree(d_full);
    return status;
}

static enum status choose_next(network *net, int l, int batch, csr_matrix *next, error_text *error)
{
    const mlp_problem *p = net->p;
    csr_matrix *W = &net->W[l];
    const uint64_t stream = random_substream(p->seed, 1000 + (uint64_t)net->changes);
    const int64_t wanted = llround(p->share * (double)W->nnz), zeros = W->rows * W->cols - W->nnz;
    const int64_t moved = wanted < zeros ? wanted : zeros;
    float *G = NULL;
    enum status status = linear_fetch_values(net->layers[l], W->values, error);
    if (status == STATUS_OK && !strcmp(p->grow, "gradient")) {
        G = malloc(W->rows * W->cols * sizeof *G);
        status = G ? fetch_full_gradient(net, l, batch, G, error)
                   : fail(error, STATUS_MEMORY, "no memory for the gradient of all places");
    }
    if (status == STATUS_OK)
        status = topology_change(W, moved, moved, G, random_substream(stream, l), next, error);
    free(G);
    return status;
}

/* Drops and grows in both layers. The layer keeps its arrays; its pattern and its plans are made anew. */
static enum status change_patterns(network *net, int batch, outcome *o, error_text *error)
{
    for (int l = 0; l < NUM_LAYERS; l++) {
        csr_matrix next;
        pattern_cost cost;
        TRY_CUDA(cudaDeviceSynchronize());
        const double begin = wall_ms();
        TRY(choose_next(net, l, batch, &next, error));
        o->select_ms += wall_ms() - begin;
        csr_free(&net->W[l]);
        net->W[l] = next;
        TRY(linear_change_pattern(net->layers[l], &next, next.values, &cost, error));
        o->cost.upload_ms += cost.upload_ms;
        o->cost.plans_ms += cost.plans_ms;
    }
    net->changes++;
    o->changes++;
    return STATUS_OK;
}

/* ---- training ---------------------------------------------------------------------------------- */

/* Counts the right answers of the batches held out. */
static enum status count_right(network *net, double *share, error_text *error)
{
    const images *d = &net->p->d;
    const int N = d->N;
    float *logits = malloc((size_t)DIGITS_CLASSES * N * sizeof *logits);
    enum status status =
        logits ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for the logits");
    int64_t right = 0;
    for (int b = d->batches; b < d->batches + d->held_out && status == STATUS_OK; b++) {
        status = forward(net, b, NULL, error);
        if (status != STATUS_OK) break;
        const cudaError_t cuda =
            cudaMemcpy(logits, net->out[NUM_LAYERS - 1],
                       (size_t)DIGITS_CLASSES * N * sizeof *logits, cudaMemcpyDeviceToHost);
        if (cuda != cudaSuccess) status = device_fail(cuda, "fetching logits", error);
        right += images_right(logits, d->label + (int64_t)b * N, N);
    }
    free(logits);
    *share = (double)right / ((double)d->held_out * N);
    return status;
}

/* Trains, and writes a line a step. A line's loss is that of the step's batch before the update; the outcome's are
 * both of the first batch. Changes end at three quarters of all steps, so that what grew has time to train. */
static enum status train_to(network *net, bool show, FILE *curve, outcome *o, error_text *error)
{
    const mlp_problem *p = net->p;
    const int every = p->steps / LINES_OF_LOSS + 1;
    if (show && p->steps) printf("\n  step       loss    held out\n");
    if (curve) fprintf(curve, "step,loss,held_out\n");
    double loss;
    for (int s = 0; s < p->steps; s++) {
        const bool looks = s % every == 0 || s == p->steps - 1;
        const int batch = net->steps % p->d.batches;
        TRY(step(net, NULL, error));
        TRY(array_sum(net->loss, net->p->batch, &loss, error));
        if (s == 0) o->first_loss = loss;
        if (p->change && s && s % p->change == 0 && 4 * s <= 3 * p->steps)
            TRY(change_patterns(net, batch, o, error));
        if (looks) TRY(count_right(net, &o->held_out, error));
        if (show && looks) printf("%6d %10.5f %9.1f %%\n", s, loss, 100 * o->held_out);
        if (curve) fprintf(curve, "%d,%.7g,%.7g\n", s, loss, o->held_out);
    }
    if (p->steps == 0) return STATUS_OK;
    TRY(forward(net, 0, NULL, error));
    return array_sum(net->loss, net->p->batch, &o->last_loss, error);
}

static enum status train(void *made, bool show, outcome *o, error_text *error)
{
    network *net = made;
    output_file file;
    if (!show || !net->p->curve_path) return train_to(net, show, NULL, o, error);
    TRY(output_open(&file, net->p->curve_path, error));
    const enum status status = train_to(net, show, file.stream, o, error);
    if (status == STATUS_OK) return output_close(&file, error);
    output_discard(&file);
    return status;
}

/* The first layer's input has no gradient. */
static linear *turned_layer(void *made, int *times)
{
    *times = 1;
    return ((network *)made)->layers[1];
}

static void kernel_names(const void *made, char *text, size_t bytes)
{
    linear_kernel_names(((const network *)made)->layers[0], text, bytes);
}

static void write_columns(const void *context, FILE *out)
{
    const mlp_problem *p = context;
    fprintf(out, "%d,%d,%.7g,%lld,%d,%.7g,%d,%.7g,%s", p->hidden, p->batch, p->sparsity,
            (long long)(p->m.W[0].nnz + p->m.W[1].nnz), p->steps, p->rate, p->change, p->share,
            p->grow);
}

const trained_kind mlp_kind = {
    .app = "mlp",
    .columns = "hidden,batch,sparsity,nnz,steps,rate,change,share,grow",
    .write_columns = write_columns,
    .parts = PARTS_OF_LAYERS,
    .pipelines = "transposed_spmm",
    .first_pipeline = "cuSPARSE T CSR_DEFAULT",
    .has_dense = true,
    .create = create,
    .destroy = destroy,
    .check = check,
    .train = train,
    .step = step,
    .turned_layer = turned_layer,
    .kernel_names = kernel_names,
};
