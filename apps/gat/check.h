/*
 * check.h - whether a network's gradient is the derivative of its loss: by differences of the loss in fp64, which
 * model.c computes another way.
 */
#ifndef GAT_CHECK_H
#define GAT_CHECK_H

#include "network.h"
#include "training/differences.h"

/* Gives the network these parameters, makes its gradient and checks it. */
enum status check_gradient(network *net, const model *m, const graph *g, const float *parameters,
                           amount how_much, uint64_t seed, verdict *v, error_text *error);

#endif
