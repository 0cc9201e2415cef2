/*
 * layer.h - a block-sparse layer that trains, in fp32: Y = W^T X, its two gradients, and another layout of blocks.
 *
 * W is [blocks][B][B], a row an input feature; blocks are numbered in z-order (matrix/block_layout.h). X [C][N] and Y [K][N]
 * are feature-major. Products are plans of library/sparse_plan.h: labs 50 and 51, and 55 for what drops and grows. Arrays of
 * a caller lie on the device. All work is enqueued on the legacy default stream.
 */
#ifndef BLOCK_PRUNING_LAYER_H
#define BLOCK_PRUNING_LAYER_H

#include "library/sparse_plan.h"
#include "matrix/block_layout.h"
#include "training/arrays.h"

#include <stdbool.h>

typedef struct block_layer {
    csr_matrix pattern; /* a nonzero a block; values have room for norms */
    block_layout layout;
    int block, N;
    const char *norm; /* "max" or "l2": what blocks are measured by */
    float *W, *dW;    /* on the device, with room for the blocks of the beginning */
    float *d_norm, *d_importance;
    sparse_matrix *matrix;
    sparse_plan *fprop, *bprop, *update, *importance;
    device_arrays arrays;
} block_layer;

/* How a layout changes, and what that cost in host milliseconds, the device's work included. */
typedef struct block_change {
    int64_t drops, grows;
    bool by_importance; /* else at random places of seed */
    uint64_t seed;
    double measure_ms, choose_ms, plans_ms; /* added to */
} block_change;

/* Makes a layer of the pattern, whose columns ascend, and its weights on the host; it copies both. block_layer_free also
 * after an error. */
enum status block_layer_make(block_layer *l, const csr_matrix *pattern, int block, int N,
                             const char *norm, const float *W, error_text *error);
void block_layer_free(block_layer *l);

/* Numbers of W now. */
int64_t block_layer_weights(const block_layer *l);

/* Y = W^T X; dX = W dY; dW = X dY^T at the blocks. */
enum status block_layer_forward(const block_layer *l, const float *X, float *Y, error_text *error);
enum status block_layer_input_gradient(const block_layer *l, const float *dY, float *dX,
                                       error_text *error);
enum status block_layer_weight_gradient(const block_layer *l, const float *X, const float *dY,
                                        error_text *error);

/* Drops the blocks of least norm, and grows absent ones with weights of 0: those of greatest importance to X and dY, or any.
 * There must never be more blocks than at the beginning. On error the layer must be freed. */
enum status block_layer_change(block_layer *l, const float *X, const float *dY, block_change *c,
                               error_text *error);

#endif
