#include "decoder.h"

#include "baselines/cublas_status.h"
#include "harness/progress.h"
#include "matrix/random.h"
#include "training/try.h"

#include <math.h>
#include <stdlib.h>

static const char *const PARTS[NUM_PARTS] = {
    [PART_EMBED] = "embed",         [PART_NORM] = "norm", [PART_QKV] = "qkv",
    [PART_ATTENTION] = "attention", [PART_OUT] = "out",   [PART_UP] = "up",
    [PART_RELU] = "relu",           [PART_DOWN] = "down", [PART_HEAD] = "head",
    [PART_ARGMAX] = "argmax",
};

static const char *const MEMORY[NUM_MEMORY] = {
    [MEMORY_WEIGHTS] = "weights",         [MEMORY_EMBEDDING] = "embedding",
    [MEMORY_PARAMETERS] = "parameters",   [MEMORY_CACHE] = "cache",
    [MEMORY_ACTIVATIONS] = "activations", [MEMORY_WORKSPACE] = "workspace",
};

enum { HALF = 2 }; /* bytes of a number in fp16 */

const char *step_part_name(enum part part)
{
    return PARTS[part];
}

const char *memory_name(enum memory_use use)
{
    return MEMORY[use];
}

/* ---- numbers ----------------------------------------------------------------------------------- */

enum stream_of_numbers { EMBEDDING, POSITIONS, PROMPT, LAYERS };

static uint64_t layer_seed(const decoder_settings *s, int layer, int which)
{
    return random_substream(random_substream(s->seed, LAYERS + (uint64_t)layer), (uint64_t)which);
}

/* A weight of variance 1 / kept keeps the size of activations. ReLU leaves half of their squares. */
weight_spec decoder_weights(const decoder_settings *s, int layer, enum layer_product which)
{
    weight_spec w = {.rows = shape_rows(s->shape, which),
                     .cols = shape_cols(s->shape, which),
                     .seed = layer_seed(s, layer, which)};
    w.kept = weights_kept(w.cols, s->sparsity);
    w.scale = sqrtf((which == PRODUCT_DOWN ? 6.0f : 3.0f) / (float)w.kept);
    return w;
}

static bool is_gain(enum parameter which)
{
    return which == FIRST_GAIN || which == SECOND_GAIN;
}

static const float SPREAD = 0.1f;

float decoder_parameter(const decoder_settings *s, int layer, enum parameter which, int index)
{
    return weights_parameter(layer_seed(s, layer, NUM_PRODUCTS + which), (uint64_t)index,
                             is_gain(which) ? 1 : 0, SPREAD);
}

/* Gives logits a variance of 1. */
static float embedding_spread(const decoder_settings *s)
{
    return sqrtf(3.0f / (float)s->shape->hidden);
}

float decoder_embedding(const decoder_settings *s, int token, int feature)
{
    return weights_parameter(random_substream(s->seed, EMBEDDING),
                             (uint64_t)token * s->shape->hidden + feature, 0, embedding_spread(s));
}

float decoder_position(const decoder_settings *s, int at, int feature)
{
    return weights_parameter(random_substream(s->seed, POSITIONS),
                             (uint64_t)at * s->shape->hidden + feature, 0, embedding_spread(s));
}

int decoder_prompt(const decoder_settings *s, int sequence, int at)
{
    return (int)random_below(random_substream(s->seed, PROMPT), (uint64_t)sequence * s->prompt + at,
                             s->shape->vocabulary);
}

/* ---- counting ---------------------------------------------------------------------------------- */

/* Activations of a column, in rooms of `hidden` numbers: x, normed, qkv, attended, update and up. */
enum {
    X_ROOM,
    NORMED_ROOM,
    QKV_ROOM,
    ATTENDED_ROOM = QKV_ROOM + 3,
    UPDATE_ROOM,
    UP_ROOM,
    NUM_ROOMS = UP_ROOM + 4
};

enum { CUBLAS_BYTES = 64 << 20, PARTIAL_NUMBERS = HEAD_WIDTH + 2 };

static int columns(const decoder_settings *s)
{
    return s->sequences * s->tokens;
}

static int splits(const decoder_settings *s)
{
    return attention_splits(shape_heads(s->shape), columns(s), s->capacity);
}

/* Numbers of K, or of V, in all layers. */
static size_t cache_numbers(const decoder_settings *s)
{
    return (size_t)s->shape->layers * s->sequences * s->capacity * s->shape->hidden;
}

static size_t heads_in_all(const decoder_settings *s)
{
    return (size_t)columns(s) * shape_heads(s->shape);
}

/* Products of a kind are alike in all layers, but for their numbers. */
void decoder_count(const decoder_settings *s, memory_count *count)
{
    const double h = s->shape->hidden, L = s->shape->layers, C = columns(s);
    *count = (memory_count){{0}, 0};
    for (int i = 0; i < NUM_PRODUCTS; i++) {
        const weight_spec w = decoder_weights(s, 0, (enum layer_product)i);
        count->bytes[MEMORY_WEIGHTS] += L * product_expected_bytes(&w, s->kind, columns(s));
        count->bytes[MEMORY_WORKSPACE] += L * product_workspace_bytes(&w, s->kind, columns(s));
        count->making = fmax(count->making, product_making_bytes(&w, s->kind));
    }
    count->bytes[MEMORY_WORKSPACE] += CUBLAS_BYTES;
    count->bytes[MEMORY_EMBEDDING] = HALF * h * (shape_padded(s->shape) + s->shape->positions);
    count->bytes[MEMORY_PARAMETERS] =
        HALF * h * NUM_PARAMETERS * (L + 1) + sizeof(float) * 4 * h * L;
    count->bytes[MEMORY_CACHE] = 2.0 * HALF * (double)cache_numbers(s);
    count->bytes[MEMORY_ACTIVATIONS] =
        C * (HALF * h * NUM_ROOMS + sizeof(float) * shape_padded(s->shape)) +
        (double)heads_in_all(s) * (sizeof(unsigned) + sizeof(float) * PARTIAL_NUMBERS * splits(s)) +
        sizeof(int) * (double)s->sequences * (s->capacity + s->prompt);
}

double memory_sum(const memory_count *count)
{
    double sum = 0;
    for (int i = 0; i < NUM_MEMORY; i++)
        sum += count->bytes[i];
    return sum;
}

/* Weights are made before cache and activations are there. */
double memory_peak(const memory_count *count)
{
    const double later = count->bytes[MEMORY_CACHE] + count->bytes[MEMORY_ACTIVATIONS];
    return memory_sum(count) + fmax(count->making - later, 0);
}

static const double GIB = 1024.0 * 1024 * 1024;

static enum status check_memory(const decoder_settings *s, error_text *error)
{
    memory_count count;
    size_t available, total;
    decoder_count(s, &count);
    TRY_CUDA(cudaMemGetInfo(&available, &total));
    if (memory_peak(&count) <= (double)available) return STATUS_OK;
    return fail(
        error, STATUS_MEMORY,
        "%s with %s weights, %d sequences of %d tokens: %.1f GiB (weights %.1f, cache %.1f), "
        "and %.1f are free; try a smaller --batch, --out or another --kernel",
        s->shape->name, kernel_name(s->kind), s->sequences, s->capacity, memory_peak(&count) / GIB,
        count.bytes[MEMORY_WEIGHTS] / GIB, count.bytes[MEMORY_CACHE] / GIB,
        (double)available / GIB);
}

/* ---- making ------------------------------------------------------------------------------------ */

static float *up_bias(const decoder *d, int layer)
{
    return d->d_up_bias + (size_t)layer * shape_rows(d->settings.shape, PRODUCT_UP);
}

/* Returns that of the first feed-forward product; other biases are added where their sums are read, at no cost. */
static row_epilogue epilogue_of(const decoder *d, int layer, enum layer_product which)
{
    if (which != PRODUCT_UP || !d->settings.fused) return (row_epilogue){NULL, false};
    return (row_epilogue){up_bias(d, layer), true};
}

static enum status make_products(decoder *d, const csr_scratch *scratch, error_text *error)
{
    const decoder_settings *s = &d->settings;
    for (int l = 0; l < s->shape->layers; l++) {
        progress_show(l, s->shape->layers, "making weights");
        for (int i = 0; i < NUM_PRODUCTS; i++) {
            const weight_spec w = decoder_weights(s, l, (enum layer_product)i);
            const cudaError_t made =
                product_create(&w, s->kind, columns(s), epilogue_of(d, l, (enum layer_product)i),
                               scratch, &d->products[l * NUM_PRODUCTS + i]);
            if (made == cudaErrorNotSupported)
                return fail(error, STATUS_SKIPPED, "%s: no such kernel on this device",
                            kernel_name(s->kind));
            TRY_CUDA(made);
        }
    }
    return STATUS_OK;
}

/* The most rows and nonzeros of a product of a layer. */
static enum status make_weights(decoder *d, error_text *error)
{
    const decoder_settings *s = &d->settings;
    csr_scratch scratch = {NULL, NULL, NULL};
    int most_rows = 0;
    int64_t most = 0;
    d->products = calloc((size_t)s->shape->layers * NUM_PRODUCTS, sizeof *d->products);
    if (!d->products) return fail(error, STATUS_MEMORY, "no memory for the list of products");
    for (int i = 0; i < NUM_PRODUCTS; i++) {
        const weight_spec w = decoder_weights(s, 0, (enum layer_product)i);
        most_rows = w.rows > most_rows ? w.rows : most_rows;
        most = (int64_t)w.rows * w.kept > most ? (int64_t)w.rows * w.kept : most;
    }
    const cudaError_t made =
        s->kind == KERNEL_DENSE ? cudaSuccess : scratch_create(most_rows, most, &scratch);
    const enum status status = made == cudaSuccess
                                   ? make_products(d, &scratch, error)
                                   : device_fail(made, "making room for CSR", error);
    progress_clear();
    scratch_destroy(&scratch);
    return status;
}

static char *parameter_at(const decoder *d, int layer, enum parameter which)
{
    const size_t rooms = (size_t)layer * NUM_PARAMETERS + which;
    return (char *)d->d_parameters + rooms * d->settings.shape->hidden * HALF;
}

/* Rooms of a parameter; those of biases follow each other. */
static int parameter_rooms(int which)
{
    return which == QKV_BIAS ? 3 : which == UP_BIAS ? 4 : 1;
}

static enum status make_parameters(decoder *d, error_text *error)
{
    const decoder_settings *s = &d->settings;
    const int64_t h = s->shape->hidden, rows = shape_padded(s->shape);
    const size_t layers = (size_t)s->shape->layers + 1;
    const int64_t up = shape_rows(s->shape, PRODUCT_UP);
    TRY_CUDA(cudaMalloc((void **)&d->d_up_bias, (layers - 1) * up * sizeof(float)));
    for (int l = 0; l < s->shape->layers; l++)
        TRY_CUDA(weights_make_bias(layer_seed(s, l, NUM_PRODUCTS + UP_BIAS), up, 0, SPREAD,
                                   up_bias(d, l)));
    TRY_CUDA(cudaMalloc(&d->d_embedding, HALF * rows * h));
    TRY_CUDA(cudaMalloc(&d->d_positions, HALF * s->shape->positions * h));
    TRY_CUDA(cudaMalloc(&d->d_parameters, HALF * layers * NUM_PARAMETERS * h));
    TRY_CUDA(weights_make_parameters(random_substream(s->seed, EMBEDDING), rows * h, 0,
                                     embedding_spread(s), d->d_embedding));
    TRY_CUDA(weights_make_parameters(random_substream(s->seed, POSITIONS), s->shape->positions * h,
                                     0, embedding_spread(s), d->d_positions));
    for (int l = 0; l < (int)layers; l++)
        for (int i = 0; i < NUM_PARAMETERS; i += parameter_rooms(i))
            TRY_CUDA(weights_make_parameters(
                layer_seed(s, l, NUM_PRODUCTS + i), parameter_rooms(i) * h,
                is_gain((enum parameter)i) ? 1 : 0, SPREAD, parameter_at(d, l, (enum parameter)i)));
    return STATUS_OK;
}

static enum status make_cache(decoder *d, error_text *error)
{
    const decoder_settings *s = &d->settings;
    const size_t bytes = HALF * cache_numbers(s), heads = heads_in_all(s);
    attention_args *const a = &d->attention;
    TRY_CUDA(cudaMalloc(&d->d_K, bytes));
    TRY_CUDA(cudaMalloc(&d->d_V, bytes));
    TRY_CUDA(cudaMemset(d->d_K, 0xff, bytes)); /* NaN: who reads what nobody wrote is found */
    TRY_CUDA(cudaMemset(d->d_V, 0xff, bytes));
    a->heads = shape_heads(s->shape);
    a->splits = splits(s);
    TRY_CUDA(
        cudaMalloc((void **)&a->partial, heads * a->splits * PARTIAL_NUMBERS * sizeof *a->partial));
    TRY_CUDA(cudaMalloc((void **)&a->arrived, heads * sizeof *a->arrived));
    TRY_CUDA(cudaMemset(a->arrived, 0, heads * sizeof *a->arrived));
    return STATUS_OK;
}

static enum status make_tokens(decoder *d, error_text *error)
{
    const decoder_settings *s = &d->settings;
    pass_columns *const p = &d->pass;
    argmax_args *const a = &d->argmax;
    const size_t count = (size_t)s->sequences * s->prompt;
    const size_t chosen = (size_t)s->sequences * s->capacity * sizeof *p->chosen;
    const size_t best = columns(s) * sizeof *a->best;
    *p = (pass_columns){.sequences = s->sequences,
                        .tokens = s->tokens,
                        .capacity = s->capacity,
                        .prompt_length = s->prompt,
                        .early = s->early};
    TRY_CUDA(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking));
    TRY_CUDA(cudaMalloc((void **)&p->t, sizeof *p->t));
    TRY_CUDA(cudaMalloc((void **)&p->chosen, chosen));
    TRY_CUDA(cudaMalloc((void **)&d->d_prompt, count * sizeof(int)));
    p->prompt = d->d_prompt;
    TRY_CUDA(cudaMalloc((void **)&a->best, best));
    TRY_CUDA(cudaMalloc((void **)&a->arrived, sizeof *a->arrived));
    TRY_CUDA(cudaMemset(a->best, 0, best));
    TRY_CUDA(cudaMemset(a->arrived, 0, sizeof *a->arrived));
    int *const prompt = malloc(count * sizeof *prompt);
    if (!prompt) return fail(error, STATUS_MEMORY, "no memory for the prompt");
    for (int i = 0; i < s->sequences; i++)
        for (int at = 0; at < s->prompt; at++)
            prompt[(size_t)i * s->prompt + at] = decoder_prompt(s, i, at);
    const cudaError_t copied =
        cudaMemcpy(d->d_prompt, prompt, count * sizeof *prompt, cudaMemcpyHostToDevice);
    free(prompt);
    TRY_CUDA(copied);
    a->vocabulary = s->shape->vocabulary;
    a->pitch = shape_padded(s->shape);
    return STATUS_OK;
}

static enum status make_activations(decoder *d, error_text *error)
{
    const decoder_settings *s = &d->settings;
    const size_t C = columns(s), bytes = HALF * C * s->shape->hidden * NUM_ROOMS;
    const size_t logits = C * shape_padded(s->shape) * sizeof *d->d_logits;
    TRY_CUDA(cudaMalloc(&d->d_activations, bytes));
    TRY_CUDA(cudaMemset(d->d_activations, 0xff, bytes));
    TRY_CUDA(cudaMalloc((void **)&d->d_logits, logits));
    TRY_CUDA(cudaMemset(d->d_logits, 0xff, logits));
    d->argmax.logits = d->d_logits;
    decoder_lay_out(d, s->by_column);
    TRY_CUDA(cudaMalloc(&d->d_blas_room, CUBLAS_BYTES));
    if (cublasCreate(&d->blas) != CUBLAS_STATUS_SUCCESS)
        return fail(error, STATUS_RUNTIME, "cuBLAS does not start");
    return STATUS_OK;
}

void decoder_lay_out(decoder *d, bool by_column)
{
    const size_t C = columns(&d->settings), h = d->settings.shape->hidden;
    const struct {
        strided *array;
        int room, rooms;
    } all[] = {{&d->x, X_ROOM, 1},           {&d->normed, NORMED_ROOM, 1},
               {&d->qkv, QKV_ROOM, 3},       {&d->attended, ATTENDED_ROOM, 1},
               {&d->update, UPDATE_ROOM, 1}, {&d->up, UP_ROOM, 4}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i].array = (strided){(char *)d->d_activations + HALF * C * h * all[i].room,
                                  by_column ? 1 : C, by_column ? all[i].rooms * h : 1};
    d->settings.by_column = by_column;
    d->attention.qkv = d->qkv;
    d->attention.out = d->attended;
    graph_destroy(d->step);
    d->step = NULL;
}

enum status decoder_create(const decoder_settings *s, decoder *d, error_text *error)
{
    *d = (decoder){.settings = *s};
    enum status status = check_memory(s, error);
    if (status == STATUS_OK) status = make_parameters(d, error); /* plans borrow a bias */
    if (status == STATUS_OK) status = make_weights(d, error);
    if (status == STATUS_OK) status = make_cache(d, error);
    if (status == STATUS_OK) status = make_tokens(d, error);
    if (status == STATUS_OK) status = make_activations(d, error);
    if (status == STATUS_OK) status = decoder_reset(d, error);
    if (status != STATUS_OK) decoder_destroy(d);
    return status;
}

void decoder_destroy(decoder *d)
{
    graph_destroy(d->step);
    for (int i = 0; d->products && i < d->settings.shape->layers * NUM_PRODUCTS; i++)
        product_destroy(&d->products[i]);
    free(d->products);
    void *const arrays[] = {d->d_blas_room,
                            d->d_up_bias,
                            d->d_embedding,
                            d->d_positions,
                            d->d_parameters,
                            d->d_K,
                            d->d_V,
                            d->d_activations,
                            d->d_logits,
                            d->attention.partial,
                            d->attention.arrived,
                            d->pass.t,
                            d->pass.chosen,
                            d->d_prompt,
                            d->argmax.best,
                            d->argmax.arrived};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        cudaFree(arrays[i]);
    if (d->blas) cublasDestroy(d->blas);
    if (d->pass.stream) cudaStreamDestroy(d->pass.stream);
    *d = (decoder){.blas = NULL};
}

enum status decoder_reset(decoder *d, error_text *error)
{
    const decoder_settings *s = &d->settings;
    const size_t chosen = (size_t)s->sequences * s->capacity * sizeof(int);
    TRY_CUDA(cudaMemsetAsync(d->pass.t, 0, sizeof(int), d->pass.stream));
    TRY_CUDA(cudaMemsetAsync(d->pass.chosen, 0, chosen, d->pass.stream)); /* a token, in any case */
    TRY_CUDA(cudaDeviceSynchronize()); /* for what was made on the default stream, too */
    return STATUS_OK;
}

/* ---- a step ------------------------------------------------------------------------------------ */

/* One walk over the parts of a step. */
typedef struct walk {
    decoder *d;
    unsigned parts;
    watcher *w;
    error_text *error;
} walk;

/* Enqueues a call that is a part, if it is wanted, and tells the watcher. */
#define PART(layer, part, call)                               \
    do {                                                      \
        if (!(k->parts >> (part)&1)) break;                   \
        TRY_CUDA(call);                                       \
        if (k->w) TRY(k->w->after(k->w, layer, part, error)); \
    } while (0)

static cudaError_t multiply(decoder *d, int layer, enum layer_product which, const strided *x,
                            strided *y)
{
    return product_run(&d->products[layer * NUM_PRODUCTS + which], d->blas, columns(&d->settings),
                       x, y, d->pass.stream);
}

/* The norm before a product, which adds the update of the product before. layer = layers: the last one. */
static cudaError_t norm(decoder *d, int layer, bool second, const void *bias)
{
    const norm_args a = {.x = d->x,
                         .update = bias ? d->update : (strided){NULL, 0, 0},
                         .y = d->normed,
                         .bias = bias,
                         .gain = parameter_at(d, layer, second ? SECOND_GAIN : FIRST_GAIN),
                         .shift = parameter_at(d, layer, second ? SECOND_SHIFT : FIRST_SHIFT),
                         .hidden = d->settings.shape->hidden};
    return run_norm(&d->pass, &a);
}

static cudaError_t embed(decoder *d)
{
    const embed_args a = {d->d_embedding, d->d_positions, d->settings.shape->hidden, d->x};
    return run_embed(&d->pass, &a);
}

static cudaError_t attend(decoder *d, int layer)
{
    const size_t bytes = HALF * cache_numbers(&d->settings) / d->settings.shape->layers;
    attention_args a = d->attention;
    a.bias = parameter_at(d, layer, QKV_BIAS);
    a.K = (char *)d->d_K + layer * bytes;
    a.V = (char *)d->d_V + layer * bytes;
    return run_attention(&d->pass, &a);
}

static cudaError_t bias_relu(decoder *d, int layer)
{
    const relu_args a = {d->up, up_bias(d, layer), shape_rows(d->settings.shape, PRODUCT_UP)};
    return run_bias_relu(&d->pass, &a);
}

static cudaError_t head(decoder *d)
{
    const llm_shape *m = d->settings.shape;
    return dense_product(d->blas, d->d_embedding, shape_padded(m), m->hidden, columns(&d->settings),
                         &d->normed, d->d_logits, 1, CUDA_R_32F, d->settings.most_products);
}

static enum status layer(walk *k, int l)
{
    decoder *const d = k->d;
    error_text *const error = k->error;
    PART(l, PART_NORM, norm(d, l, false, l > 0 ? parameter_at(d, l - 1, DOWN_BIAS) : NULL));
    PART(l, PART_QKV, multiply(d, l, PRODUCT_QKV, &d->normed, &d->qkv));
    PART(l, PART_ATTENTION, attend(d, l));
    PART(l, PART_OUT, multiply(d, l, PRODUCT_OUT, &d->attended, &d->update));
    PART(l, PART_NORM, norm(d, l, true, parameter_at(d, l, OUT_BIAS)));
    PART(l, PART_UP, multiply(d, l, PRODUCT_UP, &d->normed, &d->up));
    if (!product_finishes(&d->products[l * NUM_PRODUCTS + PRODUCT_UP]))
        PART(l, PART_RELU, bias_relu(d, l));
    PART(l, PART_DOWN, multiply(d, l, PRODUCT_DOWN, &d->up, &d->update));
    return STATUS_OK;
}

/* A new stream takes its workspace back from cuBLAS. Without one it would allocate in a capture. */
static cudaError_t use_stream(decoder *d)
{
    CUBLAS_TRY(cublasSetStream(d->blas, d->pass.stream));
    CUBLAS_TRY(cublasSetWorkspace(d->blas, d->d_blas_room, CUBLAS_BYTES));
    return cudaSuccess;
}

enum status decoder_enqueue(decoder *d, unsigned parts, watcher *w, error_text *error)
{
    walk all = {d, parts, w, error}, *const k = &all;
    const int layers = d->settings.shape->layers;
    TRY_CUDA(use_stream(d));
    PART(0, PART_EMBED, embed(d));
    for (int l = 0; l < layers; l++)
        TRY(layer(k, l));
    PART(layers, PART_NORM, norm(d, layers, false, parameter_at(d, layers - 1, DOWN_BIAS)));
    PART(layers, PART_HEAD, head(d));
    PART(layers, PART_ARGMAX, run_argmax(&d->pass, &d->argmax));
    return STATUS_OK;
}

/* Captures the whole step. The error's text is lost: what was enqueued once can be enqueued again. */
static cudaError_t whole_step(void *arg, cudaStream_t stream)
{
    error_text text;
    (void)stream; /* the decoder's own */
    return decoder_enqueue(arg, ALL_PARTS, NULL, &text) == STATUS_OK ? cudaSuccess
                                                                     : cudaErrorUnknown;
}

enum status decoder_step(decoder *d, error_text *error)
{
    if (!d->step) TRY_CUDA(graph_record(whole_step, d, d->pass.stream, &d->step));
    TRY_CUDA(graph_launch(d->step));
    return STATUS_OK;
}

double decoder_weight_bytes(const decoder *d)
{
    double bytes = 0;
    for (int i = 0; i < d->settings.shape->layers * NUM_PRODUCTS; i++)
        bytes += product_bytes(&d->products[i]);
    return bytes;
}

double decoder_step_bytes(const decoder_settings *s, double weight_bytes, double context)
{
    const double of_token = 2.0 * HALF * s->shape->hidden * s->shape->layers;
    return weight_bytes + HALF * (double)s->shape->hidden * shape_padded(s->shape) +
           context * s->sequences * of_token;
}
