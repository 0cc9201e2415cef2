/*
 * model.h - the multilayer perceptron: its sparse layers, its start, its data, and the loss in fp64 that it is checked by.
 *
 *   H = tanh(W1 X + b1)      logits = W2 H + b2      loss = the mean cross entropy of softmax(logits)
 *
 * X [784][N] has an image a column, H [hidden][N], logits [10][N]. Both W have zeros.
 */
#ifndef MLP_MODEL_H
#define MLP_MODEL_H

#include "matrix/csr.h"
#include "training/differences.h"
#include "training/digits.h"

enum { NUM_LAYERS = 2, NUM_TENSORS = 2 * NUM_LAYERS };

/* The sparse layers as they begin. Parameters lie in one array: W1, b1, W2, b2. */
typedef struct model {
    int hidden;
    csr_matrix W[NUM_LAYERS];
    tensor_range tensors[NUM_TENSORS]; /* of layer l: W at 2 l, its biases at 2 l + 1 */
    int64_t parameters;
} model;

/* Makes patterns of exactly that share of zeros, uniform at random. The caller frees it, also after an error. */
enum status model_make(int hidden, double sparsity, uint64_t seed, model *m, error_text *error);
void model_free(model *m);

/* Fills parameters[]: weights uniform, scaled by the mean length of a row, as X. Glorot and Y. Bengio do; biases 0. */
void model_start(const model *m, uint64_t seed, float *parameters);

/* The images of that seed. The caller frees them, also after an error. */
enum status model_images(int N, int batches, int held_out, uint64_t seed, images *d,
                         error_text *error);

/* The loss of one batch in fp64, of layers with the patterns W[NUM_LAYERS]. It shares no code with the kernels. NAN: no
 * memory. */
double model_loss(const model *m, const csr_matrix *W, const float *X, const int *label, int N,
                  const double *parameters);

#endif
