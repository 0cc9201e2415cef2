#include "network.h"

#include "matrix/random.h"
#include "training/activations.h"
#include "training/linear_kernels.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_OF_LOSS = 10 };

struct network {
    const pruning_problem *p;
    block_layer layers[NUM_LAYERS];
    float *b[NUM_LAYERS], *of_b[NUM_LAYERS];
    float *X;                                /* all batches */
    int *label;                              /* as well */
    float *out[NUM_LAYERS], *of[NUM_LAYERS]; /* of a layer, and the loss's gradient by it */
    float *loss;                             /* of each column */
    int steps, changes;
    device_arrays arrays;
};

/* ---- making it --------------------------------------------------------------------------------- */

static int features_of(const network *net, int l)
{
    return net->p->m.features[l + 1];
}

/* Layer l, whose W and b begin at `start`. Logits beyond the classes have no gradient, and nobody writes one. */
static enum status make_layer(network *net, int l, const float *start, error_text *error)
{
    const pruning_problem *p = net->p;
    const csr_matrix *pattern = &p->m.layout[l];
    const int64_t outs = features_of(net, l), N = p->batch;
    const int64_t weights = pattern->nnz * p->block * p->block;
    TRY(block_layer_make(&net->layers[l], pattern, p->block, p->batch, p->norm, start, error));
    TRY(arrays_upload(&net->arrays, &net->b[l], start + weights, outs, error));
    TRY(arrays_allocate(&net->arrays, &net->of_b[l], outs, error));
    TRY(arrays_allocate(&net->arrays, &net->out[l], outs * N, error));
    TRY(arrays_allocate(&net->arrays, &net->of[l], outs * N, error));
    TRY_CUDA(cudaMemset(net->of[l], 0, outs * N * sizeof *net->of[l]));
    return STATUS_OK;
}

static enum status make_from(network *net, const float *start, error_text *error)
{
    const pruning_problem *p = net->p;
    const int64_t batches = p->d.batches + p->d.held_out;
    for (int l = 0; l < NUM_LAYERS; l++) {
        TRY(make_layer(net, l, start, error));
        start += block_layer_weights(&net->layers[l]) + features_of(net, l);
    }
    TRY(arrays_upload(&net->arrays, &net->X, p->d.X, batches * p->d.stride, error));
    TRY(arrays_upload(&net->arrays, &net->label, p->d.label, batches * p->batch, error));
    return arrays_allocate(&net->arrays, &net->loss, p->batch, error);
}

static enum status make(network *net, error_text *error)
{
    const model *m = &net->p->m;
    int64_t count = 0;
    for (int l = 0; l < NUM_LAYERS; l++)
        count += m->layout[l].nnz * m->block * m->block + features_of(net, l);
    float *start = malloc(count * sizeof *start);
    if (!start) return fail(error, STATUS_MEMORY, "no memory for the parameters");
    model_start(m, net->p->seed, start);
    const enum status status = make_from(net, start, error);
    free(start);
    return status;
}

enum status network_make(const pruning_problem *p, network **made, error_text *error)
{
    network *net = calloc(1, sizeof *net);
    *made = NULL;
    if (!net) return fail(error, STATUS_MEMORY, "no memory for a network");
    net->p = p;
    const enum status status = make(net, error);
    if (status == STATUS_OK)
        *made = net;
    else
        network_destroy(net);
    return status;
}

void network_destroy(network *net)
{
    if (!net) return;
    for (int l = 0; l < NUM_LAYERS; l++)
        block_layer_free(&net->layers[l]);
    arrays_free(&net->arrays);
    free(net);
}

double network_density(const network *net)
{
    double there = 0, all = 0;
    for (int l = 0; l < NUM_PRUNED; l++) {
        const block_layout *layout = &net->layers[l].layout;
        there += layout->blocks;
        all += (double)layout->rows * layout->cols;
    }
    return there / all;
}

/* ---- passes ------------------------------------------------------------------------------------ */

static const float *input_of(const network *net, int l, int batch)
{
    return l ? net->out[l - 1] : net->X + batch * net->p->d.stride;
}

static enum status forward(network *net, int batch, error_text *error)
{
    const int N = net->p->batch, last = NUM_LAYERS - 1;
    for (int l = 0; l < NUM_LAYERS; l++) {
        TRY(block_layer_forward(&net->layers[l], input_of(net, l, batch), net->out[l], error));
        TRY_CUDA(add_biases(features_of(net, l), N, net->b[l], l < last, net->out[l], NULL));
    }
    TRY_CUDA(columns_loss(DIGITS_CLASSES, N, net->out[last], net->label + (int64_t)batch * N,
                          net->loss, net->of[last], NULL));
    return STATUS_OK;
}

/* The loss's gradient by every parameter. Pixels need none. */
static enum status gradients(network *net, int batch, error_text *error)
{
    const int N = net->p->batch;
    TRY(forward(net, batch, error));
    for (int l = NUM_LAYERS - 1; l >= 0; l--) {
        TRY_CUDA(bias_gradient(features_of(net, l), N, net->of[l], net->of_b[l], NULL));
        TRY(block_layer_weight_gradient(&net->layers[l], input_of(net, l, batch), net->of[l],
                                        error));
        if (l == 0) break;
        TRY(block_layer_input_gradient(&net->layers[l], net->of[l], net->of[l - 1], error));
        TRY_CUDA(tanh_backward(features_of(net, l - 1), N, net->out[l - 1], net->of[l - 1], NULL));
    }
    return STATUS_OK;
}

static int next_batch(const network *net)
{
    return net->steps % net->p->d.batches;
}

enum status network_step(network *net, error_text *error)
{
    const float rate = (float)net->p->rate;
    TRY(gradients(net, next_batch(net), error));
    net->steps++;
    for (int l = 0; l < NUM_LAYERS; l++) {
        const block_layer *layer = &net->layers[l];
        TRY_CUDA(weights_update(block_layer_weights(layer), NULL, rate, layer->dW, layer->W, NULL));
        TRY_CUDA(weights_update(features_of(net, l), NULL, rate, net->of_b[l], net->b[l], NULL));
    }
    return STATUS_OK;
}

/* ---- the check --------------------------------------------------------------------------------- */

/* Layouts now, as the model wants them. */
typedef struct layouts_now {
    const network *net;
    const block_layout *layout[NUM_LAYERS];
    tensor_range tensors[NUM_TENSORS];
    int64_t parameters;
} layouts_now;

static double loss_at(const void *context, const double *at)
{
    const layouts_now *now = context;
    const pruning_problem *p = now->net->p;
    return model_loss(&p->m, now->layout, p->d.X, p->d.label, p->batch, at);
}

/* Fetches either the parameters or their gradient. */
static enum status fetch(const layouts_now *now, bool gradient, float *to, error_text *error)
{
    const network *net = now->net;
    for (int l = 0; l < NUM_LAYERS; l++) {
        const block_layer *layer = &net->layers[l];
        const float *const from[2] = {gradient ? layer->dW : layer->W,
                                      gradient ? net->of_b[l] : net->b[l]};
        for (int part = 0; part < 2; part++) {
            const tensor_range *t = &now->tensors[2 * l + part];
            TRY_CUDA(cudaMemcpy(to + t->first, from[part], t->count * sizeof *to,
                                cudaMemcpyDeviceToHost));
        }
    }
    return STATUS_OK;
}

static enum status compare(network *net, const layouts_now *now, float *numbers, double *at,
                           amount how_much, verdict *v, error_text *error)
{
    double loss;
    TRY(fetch(now, false, numbers, error));
    for (int64_t i = 0; i < now->parameters; i++)
        at[i] = numbers[i];
    TRY(gradients(net, 0, error));
    TRY(array_sum(net->loss, net->p->batch, &loss, error));
    TRY(fetch(now, true, numbers, error));
    const differences d = {loss_at, now, now->tensors, NUM_TENSORS, at, numbers, loss};
    differences_check(&d, how_much, net->p->seed, v);
    return STATUS_OK;
}

enum status network_check(network *net, amount how_much, verdict *v, error_text *error)
{
    layouts_now now = {.net = net};
    for (int l = 0; l < NUM_LAYERS; l++)
        now.layout[l] = &net->layers[l].layout;
    now.parameters = model_tensors(&net->p->m, now.layout, now.tensors);
    float *numbers = malloc(now.parameters * sizeof *numbers);
    double *at = malloc(now.parameters * sizeof *at);
    const enum status status = numbers && at
                                   ? compare(net, &now, numbers, at, how_much, v, error)
                                   : fail(error, STATUS_MEMORY, "no memory for a gradient");
    free(numbers);
    free(at);
    return status;
}

/* ---- training ---------------------------------------------------------------------------------- */

/* Changes end here, so that blocks that grew have time to train. */
static const double LAST_CHANGE = 0.75;

/* Brings pruned layers to the density that the schedule wants after step s. `batch` is that of the last gradients. */
static enum status change_layouts(network *net, int s, int batch, block_change *cost,
                                  error_text *error)
{
    const pruning_problem *p = net->p;
    const double density =
        model_density(p->start, p->target, (s + p->change) / (LAST_CHANGE * p->steps));
    const uint64_t stream = random_substream(p->seed, 1000 + (uint64_t)net->changes++);
    for (int l = 0; l < NUM_PRUNED; l++) {
        block_layer *layer = &net->layers[l];
        const int64_t all = (int64_t)layer->layout.rows * layer->layout.cols;
        const int64_t wanted = llround(density * (double)all), now = layer->layout.blocks;
        const int64_t stays = wanted < now ? wanted : now, moved = llround(p->share * stays);
        const int64_t absent = all - now, grows = moved < absent ? moved : absent;
        cost->drops = now - stays + grows;
        cost->grows = grows;
        cost->by_importance = !strcmp(p->grow, "importance");
        cost->seed = random_substream(stream, l);
        TRY(block_layer_change(layer, input_of(net, l, batch), net->of[l], cost, error));
    }
    return STATUS_OK;
}

/* Counts the right answers of the batches held out. */
static enum status count_right(network *net, double *share, error_text *error)
{
    const images *d = &net->p->d;
    const int N = d->N;
    const size_t bytes = (size_t)DIGITS_CLASSES * N * sizeof(float);
    float *logits = malloc(bytes);
    enum status status =
        logits ? STATUS_OK : fail(error, STATUS_MEMORY, "no memory for the logits");
    int64_t right = 0;
    for (int b = d->batches; b < d->batches + d->held_out && status == STATUS_OK; b++) {
        status = forward(net, b, error);
        if (status != STATUS_OK) break;
        const cudaError_t cuda =
            cudaMemcpy(logits, net->out[NUM_LAYERS - 1], bytes, cudaMemcpyDeviceToHost);
        if (cuda != cudaSuccess) status = device_fail(cuda, "fetching logits", error);
        right += images_right(logits, d->label + (int64_t)b * N, N);
    }
    free(logits);
    *share = (double)right / ((double)d->held_out * N);
    return status;
}

enum status network_train(network *net, FILE *curve, training_result *r, error_text *error)
{
    const pruning_problem *p = net->p;
    const int every = p->steps / LINES_OF_LOSS + 1;
    double loss;
    *r = (training_result){.first_loss = NAN, .last_loss = NAN, .held_out = NAN};
    if (p->steps) printf("\n  step       loss   density    held out\n");
    if (curve) fprintf(curve, "step,loss,density,held_out\n");
    for (int s = 0; s < p->steps; s++) {
        const bool looks = s % every == 0 || s == p->steps - 1;
        const int batch = next_batch(net);
        TRY(network_step(net, error));
        TRY(array_sum(net->loss, net->p->batch, &loss, error));
        if (s == 0) r->first_loss = loss;
        if (p->change && s && s % p->change == 0 && s <= LAST_CHANGE * p->steps) {
            TRY(change_layouts(net, s, batch, &r->cost, error));
            r->changes++;
        }
        if (looks) TRY(count_right(net, &r->held_out, error));
        const double density = network_density(net);
        if (looks)
            printf("%6d %10.5f %7.1f %% %9.1f %%\n", s, loss, 100 * density, 100 * r->held_out);
        if (curve) fprintf(curve, "%d,%.7g,%.7g,%.7g\n", s, loss, density, r->held_out);
    }
    if (p->steps == 0) return STATUS_OK;
    TRY(forward(net, 0, error));
    return array_sum(net->loss, net->p->batch, &r->last_loss, error);
}
