/*
 * decoder.h - an OPT-shaped decoder on the device: weights, cache, and a step as one CUDA graph.
 *
 * Layer, on a stream of activations x:   x += down(relu(up(norm(x)))) after x += out(attention(qkv(norm(x)))). Sums with x
 * are part of the norm that follows. The head is the embedding again (tied); argmax feeds the next step.
 */
#ifndef LLM_DECODE_DECODER_H
#define LLM_DECODE_DECODER_H

#include "device/graph.h"
#include "product.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct decoder_settings {
    const llm_shape *shape;
    double sparsity; /* of every layer's products; embedding and head are dense */
    enum kernel_kind kind;
    int sequences, tokens; /* of a pass: see kernels.h */
    int capacity, prompt;  /* positions of the cache; known tokens of each sequence */
    uint64_t seed;
    bool by_column;    /* a column's features side by side; dense products only */
    bool early;        /* kernels start before the one before them has ended */
    bool fused;        /* products apply bias and ReLU where they store, if they can */
    int most_products; /* of a logit's sum at once: longer ones have parts. 0: the rule (product.h) */
} decoder_settings;

/* Parts of a step. A layer has those from NORM to DOWN, of which NORM comes twice, and once more before the head. */
enum part {
    PART_EMBED,
    PART_NORM,
    PART_QKV,
    PART_ATTENTION,
    PART_OUT,
    PART_UP,
    PART_RELU, /* bias and ReLU, where the product has not applied them */
    PART_DOWN,
    PART_HEAD,
    PART_ARGMAX,
    NUM_PARTS
};
enum { ALL_PARTS = (1 << NUM_PARTS) - 1 };

const char *step_part_name(enum part part);

/* ---- memory ------------------------------------------------------------------------------------ */

enum memory_use {
    MEMORY_WEIGHTS,     /* of all layers, in the kernel's format */
    MEMORY_EMBEDDING,   /* of tokens and positions; the head is the first */
    MEMORY_PARAMETERS,  /* biases and norms */
    MEMORY_CACHE,       /* K and V */
    MEMORY_ACTIVATIONS, /* logits, tokens and partial sums among them */
    MEMORY_WORKSPACE,   /* of plans and cuBLAS */
    NUM_MEMORY
};

const char *memory_name(enum memory_use use);

/* Bytes of device memory. `making`: what weights take while they are made, beside themselves and their workspace. */
typedef struct memory_count {
    double bytes[NUM_MEMORY], making;
} memory_count;

/* Counts without touching the device; formats by their formulas. */
void decoder_count(const decoder_settings *s, memory_count *count);

/* The sum of all; the most that is taken at any time. */
double memory_sum(const memory_count *count);
double memory_peak(const memory_count *count);

/* ---- the decoder ------------------------------------------------------------------------------- */

/* Small parameters of a layer, in rooms of `hidden` numbers. */
enum parameter {
    QKV_BIAS = 0,
    OUT_BIAS = 3,
    UP_BIAS = 4, /* in fp32, in d_up_bias: its rooms are unused */
    DOWN_BIAS = 8,
    FIRST_GAIN = 9,
    FIRST_SHIFT = 10,
    SECOND_GAIN = 11,
    SECOND_SHIFT = 12,
    NUM_PARAMETERS = 13
};

/* Who is told of each part as soon as it is enqueued. */
typedef struct watcher {
    enum status (*after)(struct watcher *self, int layer, enum part part, error_text *error);
} watcher;

typedef struct decoder {
    decoder_settings settings;
    pass_columns pass;
    product *products; /* [layers][NUM_PRODUCTS] */
    void *d_embedding, *d_positions, *d_parameters, *d_K, *d_V;
    float *d_up_bias; /* [layers][4 hidden] */
    strided x, normed, qkv, attended, update, up;
    void *d_activations;
    float *d_logits;
    attention_args attention; /* of layer 0 */
    argmax_args argmax;
    int *d_prompt;
    cublasHandle_t blas;
    void *d_blas_room; /* its workspace */
    graph *step;
} decoder;

/* Counts the memory, then makes everything; shows its progress on a terminal. STATUS_MEMORY, with the sum, where it does
 * not fit: nothing is allocated then. STATUS_SKIPPED: there is no such kernel on this device. On failure d is all zero. */
enum status decoder_create(const decoder_settings *s, decoder *d, error_text *error);
void decoder_destroy(decoder *d);

/* Begins all sequences anew. */
enum status decoder_reset(decoder *d, error_text *error);

/* Enqueues those parts of a step whose bits are set. With a watcher, which may be NULL, `error` must not be. */
enum status decoder_enqueue(decoder *d, unsigned parts, watcher *w, error_text *error);

/* Launches the whole step as a graph, which the first call records. */
enum status decoder_step(decoder *d, error_text *error);

/* Chooses the layout of activations of a dense decoder; the graph is recorded again. */
void decoder_lay_out(decoder *d, bool by_column);

/* Bytes of all layers' weights, as they are. */
double decoder_weight_bytes(const decoder *d);

/* Bytes that a step must read at a context of so many tokens: weights and head once, the cache, nothing else. */
double decoder_step_bytes(const decoder_settings *s, double weight_bytes, double context);

/* ---- for the checks ---------------------------------------------------------------------------- */

/* The weights of a product before they are made. */
weight_spec decoder_weights(const decoder_settings *s, int layer, enum layer_product which);

/* Number `index` of an array of small numbers, before it is rounded to fp16, as all are but UP_BIAS. layer = layers: the last norm's gain and
 * shift, as FIRST_GAIN and FIRST_SHIFT. index < hidden, or a bias's length. */
float decoder_parameter(const decoder_settings *s, int layer, enum parameter which, int index);
float decoder_embedding(const decoder_settings *s, int token, int feature);
float decoder_position(const decoder_settings *s, int at, int feature);
int decoder_prompt(const decoder_settings *s, int sequence, int at);

#ifdef __cplusplus
}
#endif
#endif
