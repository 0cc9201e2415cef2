/*
 * network.h - a network on the device: forward and backward pass, and a step of training. Dense products are cuBLAS's;
 * sparse ones are plans of library/sparse_plan.h. All of it runs in fp32, on the legacy default stream.
 */
#ifndef GAT_NETWORK_H
#define GAT_NETWORK_H

#include "model.h"
#include "training/contest.h"

/* A training problem: the network, its graph and how it is trained. */
typedef struct gat_problem {
    const char *model; /* "gat", "gcn" */
    int layers, heads, hidden, steps;
    double rate;
    uint64_t seed;
    graph g;
    model m;
    float *start; /* parameters before the first step */
} gat_problem;

/* Kernels of the suite are each their operation's best by rule. Others are a pipeline of three: an SpMM and an SDDMM by
 * name, and between them the softmax of the suite, which cuSPARSE lacks. */
extern const trained_kind gat_kind;

#endif
