/*
 * network.h - the perceptron on the device: its gradient and check, and training with changes of its layouts. All of it runs
 * in fp32, on the legacy default stream.
 */
#ifndef BLOCK_PRUNING_NETWORK_H
#define BLOCK_PRUNING_NETWORK_H

#include "layer.h"
#include "model.h"
#include "training/digits.h"

#include <stdio.h>

/* Everything that a network is made of, and how it trains. */
typedef struct pruning_problem {
    model m;
    images d;
    uint64_t seed;
    int hidden, block, batch, samples, steps;
    int change;           /* steps between changes of the layouts; 0: they stay */
    double start, target; /* density of pruned layers at the beginning, and in the end */
    double
        share; /* of the blocks that are to stay: dropped in a change, and grown again elsewhere */
    double rate;      /* what a gradient is multiplied by */
    const char *grow; /* "importance" or "random" */
    const char *norm; /* "max" or "l2" */
} pruning_problem;

typedef struct network network;

/* Makes it with the layouts and weights of the beginning. The caller destroys *made; on error it is NULL. */
enum status network_make(const pruning_problem *p, network **made, error_text *error);
void network_destroy(network *net);

/* Checks the gradient of the first batch at the weights and layouts as they are. */
enum status network_check(network *net, amount how_much, verdict *v, error_text *error);

/* Results of training. */
typedef struct training_result {
    double first_loss, last_loss; /* of the first batch, or of the first step's */
    double held_out;              /* share of right answers */
    int changes;
    block_change cost; /* of all changes: milliseconds */
} training_result;

/* Trains, and prints how the loss falls; a line a step goes to `curve`, unless that is NULL: its loss before the update, the
 * density after it, and the last share of right answers. */
enum status network_train(network *net, FILE *curve, training_result *r, error_text *error);

/* One step on the next batch, enqueued. */
enum status network_step(network *net, error_text *error);

/* The share of blocks that exist in the layers that are pruned. */
double network_density(const network *net);

#endif
