/*
 * shape.h - a mixture of experts: its sizes, and what they come to.
 *
 * A token has `features` numbers. A router gives it a logit for each expert, and it goes to the `chosen` experts of the
 * largest. An expert is a perceptron of its own:  y = relu(x W1[e]) W2[e],  hidden in between. A token's result is the sum
 * of its experts' y, each times its gate: the share that the softmax over all experts gives it. No token is dropped.
 */
#ifndef MOE_SHAPE_H
#define MOE_SHAPE_H

#include "matrix/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MOST_EXPERTS = 256, MOST_CHOSEN = 8, TILE_ROWS = 256, FEATURE_STEP = 64 };

typedef struct moe_shape {
    int tokens, features, hidden, experts, chosen;
    int block;   /* rows of an expert are filled up to a multiple: 16, 32, 64 or 128 */
    double skew; /* expert e has bias - skew * log(e + 1) at the router; 0: all alike */
    uint64_t seed;
} moe_shape;

/* Sets the sizes of a published model. STATUS_USAGE, which names all: there is none of that name. */
enum status shape_of_model(const char *name, moe_shape *s, error_text *error);

/* STATUS_USAGE: features or hidden are no multiple of FEATURE_STEP, the block is none of four, or more are chosen than there
 * are. tokens: at most 2^24, so that 32 bits count all rows. */
enum status shape_check(const moe_shape *s, error_text *error);

/* Choices: a row of each, before any is filled up. */
static inline int shape_slots(const moe_shape *s)
{
    return s->tokens * s->chosen;
}

/* Rows and tiles of rows that suffice for any routing: each expert adds less than a block, and less than a tile. */
int shape_most_rows(const moe_shape *s);
int shape_most_tiles(const moe_shape *s);

/* Floating-point operations of both products of so many rows. */
double shape_flops(const moe_shape *s, double rows);

/* Bytes of all weights of the experts. */
double shape_weight_bytes(const moe_shape *s);

#ifdef __cplusplus
}
#endif
#endif
