/*
 * network.h - a recurrent network on the device: T time steps forward, T back, their gradients summed, and one update. All
 * of it runs in fp32, on the legacy default stream.
 */
#ifndef RNN_NETWORK_H
#define RNN_NETWORK_H

#include "model.h"
#include "training/contest.h"

typedef struct rnn_problem {
    recurrent r;
    int updates; /* of training */
    double rate;
    uint64_t seed;
} rnn_problem;

/* The functions of contest.h. Their context is a rnn_problem. */
extern const trained_kind rnn_kind;

#endif
