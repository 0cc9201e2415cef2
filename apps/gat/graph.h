/*
 * graph.h - what a network is trained on: a graph, features and labels of its vertices.
 */
#ifndef GAT_GRAPH_H
#define GAT_GRAPH_H

#include "matrix/dataset.h"

#include <stdint.h>

/* The graph of a square matrix: an edge in both directions for each of its nonzeros, each once, and one from every
 * vertex to itself, as GCN and GAT want it.
 *
 * No dataset of the suite has features or labels, so both are made, and can be learnt. `classes` random vertices are
 * centres; a vertex has the label of the nearest one, by edges. In a component without a centre all vertices have one
 * random label. Each class has a random vector of +-1; a vertex's features are noise of [-1, 1) plus SIGNAL times the
 * vector of its class. Alone they tell little, and together with those of the neighbours much. One vertex in two is
 * trained on, the others are held out. */
typedef struct graph {
    char name[128], source[1024];
    enum dataset_origin origin;
    csr_matrix A; /* vertices x vertices, columns ascending, without values */
    int features, classes;
    float *X;     /* [vertices][features] */
    int *label;   /* of each vertex */
    int *trained; /* the label, or -1 where the vertex is held out */
    int64_t num_trained;
} graph;

/* Opens a dataset by the name or path that users give. STATUS_DATASET: there is none, or it is not square, or has too
 * few vertices for so many classes. */
enum status graph_open(const char *spec, const char *data_dir, int features, int classes,
                       uint64_t seed, graph *g, error_text *error);
void graph_close(graph *g);

/* The values of GCN: 1 / sqrt(degree of row * degree of column) for each nonzero. The caller frees them; NULL: no
 * memory. */
float *graph_gcn_values(const graph *g);

/* The pattern of `heads` heads: see kernels.h. */
enum status graph_of_heads(const graph *g, int heads, csr_matrix *E, error_text *error);

#endif
