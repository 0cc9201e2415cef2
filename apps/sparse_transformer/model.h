/*
 * model.h - a transformer's layers on one sequence, as the sparse transformer was measured: fp32, batch 1, random
 * weights.
 *
 *   for each layer:  x += attention(norm(x)) W_out         x += relu(norm(x) W_up + b_up) W_down + b_down
 *   at the end:      y = norm(x)
 *
 * x is [rows][hidden], a token a row. Sparse and dense models differ in attention alone (attend.h); products are
 * cuBLAS's in both. There is no embedding and no prediction of tokens: neither depends on the mask.
 */
#ifndef SPARSE_TRANSFORMER_MODEL_H
#define SPARSE_TRANSFORMER_MODEL_H

#include "attend.h"

typedef struct model_shape {
    int rows, layers, heads, hidden, filter;
} model_shape;

/* Weights of a layer, in one array; of a product x W, W is [inputs][outputs]. */
typedef struct layer_weights {
    const float *qkv;     /* [3][hidden][hidden]: of Q, K and V */
    const float *out;     /* [hidden][hidden] */
    const float *up;      /* [hidden][filter] */
    const float *down;    /* [filter][hidden] */
    const float *up_bias; /* [filter] */
    const float *down_bias;
    const float *gain[2],
        *shift[2]; /* of the norms before attention and before the feed-forward layer */
} layer_weights;

typedef struct model {
    model_shape shape;
    cublasHandle_t cublas;
    rooms rooms;
    float *d_weights; /* of all layers; gain and shift of the last norm */
    float *d_input, *d_x;
    float *d_normed;  /* a norm's result; then attention's */
    float *d_scratch; /* Q, K and V; then what is inside the feed-forward layer */
    attend attention;
} model;

/* Floats of a layer's weights, and where they are in an array of them. */
size_t layer_floats(const model_shape *s);
layer_weights layer_in(const model_shape *s, const float *weights);

/* Numbers of a layer, and of the input, by the seed: uniform, with a variance of 1 over the inputs of a product. */
void layer_fill(const model_shape *s, uint64_t seed, int layer, float *weights);
void input_fill(const model_shape *s, uint64_t seed, float *input);

/* Builds the model on the device. `whose` names it in messages. STATUS_MEMORY, with the sum, where it does not fit. *m must
 * stay where it is. On failure nothing is left. */
enum status model_open(model *m, const model_shape *s, const attend_settings *attention,
                       uint64_t seed, const char *whose, error_text *error);
void model_close(model *m);

/* Bytes of device memory that the model has allocated; all of them live through a pass, so they are its peak. cuBLAS's own
 * workspace is not among them: it is the same in both models. */
size_t model_bytes(const model *m);

/* Enqueues the copy of the input to x, and a layer; or all of a pass, whose result is in d_normed. */
cudaError_t model_input(model *m, watcher *w);
cudaError_t model_layer(model *m, int layer, watcher *w);
cudaError_t model_pass(model *m, watcher *w);

#endif
