/*
 * model.h - a perceptron of block-sparse layers: its layouts, its start, its schedule, and the loss in fp64 that it is checked
 * by.
 *
 *   H1 = tanh(W1^T X + b1)    H2 = tanh(W2^T H1 + b2)    logits = W3^T H2 + b3    loss = the mean cross entropy
 *
 * Features of every layer are filled up to whole blocks: pixels and classes beyond the real ones are 0, or nobody reads them.
 */
#ifndef BLOCK_PRUNING_MODEL_H
#define BLOCK_PRUNING_MODEL_H

#include "matrix/block_layout.h"
#include "training/differences.h"

/* The last layer is small and stays dense. */
enum { NUM_LAYERS = 3, NUM_PRUNED = NUM_LAYERS - 1, NUM_TENSORS = 2 * NUM_LAYERS };

/* Layouts as they begin. Parameters lie in one array: W1, b1, W2, b2, W3, b3; W in the order of layers' blocks. */
typedef struct model {
    int block;
    int features[NUM_LAYERS + 1]; /* of X, H1, H2 and the logits */
    csr_matrix layout[NUM_LAYERS];
} model;

/* Makes layouts of that density in the layers that are pruned, by round(density * blocks) of them. The caller frees it, also
 * after an error. */
enum status model_make(int hidden, int block, double density, uint64_t seed, model *m,
                       error_text *error);
void model_free(model *m);

/* Lays out parameters of these layouts in one array: the tensors, and how many numbers they are in all. */
int64_t model_tensors(const model *m, const block_layout *const layout[NUM_LAYERS],
                      tensor_range tensors[NUM_TENSORS]);

/* Fills parameters[] of the layouts as they begin: weights uniform, scaled by the mean number of a feature's weights, as
 * X. Glorot and Y. Bengio do; biases 0. */
void model_start(const model *m, uint64_t seed, float *parameters);

/* The loss of one batch in fp64, of layers with these layouts. It shares no code with the kernels. NAN: no memory. */
double model_loss(const model *m, const block_layout *const layout[NUM_LAYERS], const float *X,
                  const int *label, int N, const double *parameters);

/* The density that the schedule wants at a share `at` of the way, 0 to 1: it falls from `from` to `to` like a cube, fast while
 * there is much to drop. Source: M. Zhu, S. Gupta: To prune, or not to prune, 2017. */
double model_density(double from, double to, double at);

#endif
