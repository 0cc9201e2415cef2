/*
 * differences.h - whether a gradient in fp32 is the derivative of a loss: by central differences of the loss in fp64, which
 * must be computed another way.
 */
#ifndef TRAINING_DIFFERENCES_H
#define TRAINING_DIFFERENCES_H

#include <stdbool.h>
#include <stdint.h>

/* A group of parameters in the array of all: a matrix of weights, a vector of biases. */
typedef struct tensor_range {
    char name[48]; /* "W of layer 1" */
    int64_t first, count;
} tensor_range;

typedef struct verdict {
    bool passed;
    double loss, exact_loss;
    double worst;   /* the largest error as a share of its bound */
    int checked;    /* derivatives that were formed */
    char where[96]; /* that of the largest error: "W of layer 1, along a direction" */
} verdict;

/* How much to check: of each tensor some directions, in which all its elements move by +-h, and some elements alone. */
typedef struct amount {
    int directions, elements;
} amount;

/* A loss and its gradient at one point. */
typedef struct differences {
    double (*loss)(const void *context, const double *at); /* in fp64; NAN: no memory */
    const void *context;
    const tensor_range *tensors;
    int num_tensors;
    double *at;            /* the point: moved, and put back */
    const float *gradient; /* as long */
    double computed_loss;  /* that of the fp32 computation */
} differences;

/* Checks the loss and the gradient. The signs of directions come from `seed`. */
void differences_check(const differences *d, amount how_much, uint64_t seed, verdict *v);

#endif
