/*
 * shape.h - models of the OPT family as numbers: layers, widths, and the four products of a layer.
 *
 * Source: S. Zhang et al., OPT: Open Pre-trained Transformer Language Models, 2022, table 1. Weights are random here: the
 * time of a step does not depend on their values.
 */
#ifndef LLM_DECODE_SHAPE_H
#define LLM_DECODE_SHAPE_H

#include "matrix/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HEAD_WIDTH = 128, /* features of a head of attention, in every model */
    MAX_COLUMNS = 4096,
};

typedef struct llm_shape {
    const char *name;
    int layers, hidden;
    int vocabulary; /* tokens */
    int positions;  /* the longest context */
} llm_shape;

/* Products of a layer in their order: rows x columns of the weights are 3h x h, h x h, 4h x h and h x 4h. */
enum layer_product { PRODUCT_QKV, PRODUCT_OUT, PRODUCT_UP, PRODUCT_DOWN, NUM_PRODUCTS };

/* "qkv", "out", "up", "down". */
const char *layer_product_name(enum layer_product which);

int shape_rows(const llm_shape *s, enum layer_product which);
int shape_cols(const llm_shape *s, enum layer_product which);

static inline int shape_heads(const llm_shape *s)
{
    return s->hidden / HEAD_WIDTH;
}

/* The vocabulary, padded to a multiple of 64: rows of the head's product. */
static inline int shape_padded(const llm_shape *s)
{
    return (s->vocabulary + 63) / 64 * 64;
}

/* The model of that name. STATUS_USAGE, with the nearest name. */
enum status shape_find(const char *name, const llm_shape **found, error_text *error);

/* The models in the order of their size; NULL behind the last one. */
const llm_shape *shape_at(int index);

#ifdef __cplusplus
}
#endif
#endif
