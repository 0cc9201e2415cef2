/*
 * model.h - the networks: their layers and parameters, and the loss in fp64 that both are checked by.
 *
 *   GAT   Z = X W      O[i][h] = sum over the edges (i, j) of p * Z[j][h]      p = softmax of leaky(el[i][h] + er[j][h])
 *         el[i][h] = <Z[i][h], left[h]>      er[j][h] = <Z[j][h], right[h]>
 *   GCN   Z = X W      O[i] = sum over the edges (i, j) of Z[j] / sqrt(degree(i) degree(j))
 *
 * Hidden layers have H heads of d features, and O goes through ELU (GAT) or ReLU (GCN) to the next layer. The last layer
 * has one head, whose features are the logits of the classes. A GCN of the same width has one head of H * d features.
 *
 * Source: P. Velickovic et al., Graph Attention Networks, 2018; T. Kipf, M. Welling, Semi-Supervised Classification with
 * Graph Convolutional Networks, 2017. Both without dropout and biases.
 */
#ifndef GAT_MODEL_H
#define GAT_MODEL_H

#include "graph.h"
#include "kernels.h"

enum { MAX_LAYERS = 8, MAX_TENSORS = 3 * MAX_LAYERS };

enum model_kind { MODEL_GAT, MODEL_GCN };

typedef struct layer {
    int in, heads, d, out; /* features; out = heads * d */
    enum activation f;
} layer;

/* Parameters lie in one array, a tensor behind the other, each at a multiple of 256 bytes. */
typedef struct tensor {
    int layer;
    const char *name;
    int64_t first, count; /* in floats */
    int rows; /* what its random start is scaled by: features that a number is a sum over */
} tensor;

enum part { PART_W, PART_LEFT, PART_RIGHT };

typedef struct model {
    enum model_kind kind;
    int num_layers;
    layer layers[MAX_LAYERS];
    int num_tensors;
    tensor tensors[MAX_TENSORS];
    int64_t floats; /* of the array of parameters */
} model;

model model_make(enum model_kind kind, int num_layers, int heads, int hidden, int features,
                 int classes);

/* Where a part of a layer's parameters begins in the array. */
int64_t model_part(const model *m, int layer, enum part which);

/* How many parameters there are. */
int64_t model_parameters(const model *m);

/* Fills an array of parameters: uniform, as X. Glorot and Y. Bengio scale it; 0 between the tensors. */
void model_start(const model *m, uint64_t seed, float *parameters);

/* The mean cross entropy over all trained vertices, in fp64. It shares no code with the kernels. NAN: no memory. */
double model_loss(const model *m, const graph *g, const double *parameters);

#endif
