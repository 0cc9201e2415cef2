/*
 * network.h - the perceptron on the device: passes, steps, training with changes of its pattern, and its check. All of it
 * runs in fp32, on the legacy default stream.
 */
#ifndef MLP_NETWORK_H
#define MLP_NETWORK_H

#include "model.h"
#include "training/contest.h"

/* Everything that a network is made of, and how it trains. */
typedef struct mlp_problem {
    model m;
    images d;
    float *start; /* parameters before the first step */
    uint64_t seed;
    int hidden, batch, samples, steps;
    int change;             /* steps between changes of the pattern; 0: it stays */
    double sparsity, rate;  /* zeros of both layers; what a gradient is multiplied by */
    double share;           /* of the weights that a change drops */
    const char *grow;       /* "gradient" or "random" */
    const char *curve_path; /* gets a line a step; NULL: no file */
} mlp_problem;

/* The functions of contest.h. Their context is a mlp_problem. */
extern const trained_kind mlp_kind;

#endif
