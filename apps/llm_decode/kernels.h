/*
 * kernels.h - what stands between the products of a decoding step: embedding, norms, attention over the cache, argmax.
 *
 * A pass has columns: `tokens` of each of `sequences`, side by side. Column c is token c % tokens of sequence c / tokens.
 * Its position is *t + c % tokens, where *t, in device memory, counts the tokens that are in the cache. So one CUDA graph
 * serves all steps. A step of decoding has one token of each sequence; a pass over a prompt has several.
 *
 * All numbers are fp16, sums are formed in fp32. With `early` a kernel may start before the one before it in the stream
 * has ended (device/pdl.cuh). Until it waits it loads only parameters, and what earlier steps left: a step begins with
 * run_embed, which starts when all before it has ended.
 */
#ifndef LLM_DECODE_KERNELS_H
#define LLM_DECODE_KERNELS_H

#include "shape.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Activations: feature f of column c lies at data[f * feature + c * column], in fp16. The sparse products want their
 * right operand row-major, features x columns: feature = columns, column = 1. Frameworks keep a token's features side
 * by side: feature = 1. */
typedef struct strided {
    void *data;
    size_t feature, column;
} strided;

/* The columns of a pass, and where each sequence is. */
typedef struct pass_columns {
    int sequences, tokens;
    int capacity;        /* positions of the cache, for each sequence */
    int *t;              /* on the device: positions that are filled */
    const int *prompt;   /* [sequences][prompt_length]; the first tokens of each sequence ... */
    int prompt_length;   /* ... at least 1 */
    int *chosen;         /* [sequences][capacity]: the token chosen behind each position */
    cudaStream_t stream; /* not the default one */
    bool early;
} pass_columns;

static inline int columns_of(const pass_columns *p)
{
    return p->sequences * p->tokens;
}

static const float NORM_EPSILON = 1e-5f;

/* x = embedding of the column's token + that of its position: rows of `hidden` numbers each. */
typedef struct embed_args {
    const void *embedding, *position;
    int hidden;
    strided x;
} embed_args;
cudaError_t run_embed(const pass_columns *p, const embed_args *a);

/* x += update + bias, rounded to fp16; then y = (x - mean) / sqrt(variance + NORM_EPSILON) * gain + shift of each column.
 * update.data = NULL: x stays. hidden is a multiple of HEAD_WIDTH, NORM_MOST_HIDDEN at most. */
enum { NORM_MOST_HIDDEN = 16384 };
typedef struct norm_args {
    strided x, update, y;
    const void *bias, *gain, *shift; /* hidden numbers each */
    int hidden;
} norm_args;
cudaError_t run_norm(const pass_columns *p, const norm_args *a);

/* y = max(0, y + bias), in either layout: behind a product that does not do it itself. The bias is fp32, as epilogues
 * have it (device/epilogue.h). */
typedef struct relu_args {
    strided y;
    const float *bias;
    int features;
} relu_args;
cudaError_t run_bias_relu(const pass_columns *p, const relu_args *a);

enum { MAX_SPLITS = 16 };

/* out = softmax(q K^T / sqrt(128)) V over positions 0 to the column's own, of each head, and appends the column's k and v to
 * the cache. q, k and v are those of `qkv` plus bias; k and v are rounded to fp16, as the cache has them. */
typedef struct attention_args {
    strided qkv;       /* 3 hidden features: q of all heads, then k, then v */
    const void *bias;  /* 3 hidden */
    void *K, *V;       /* [sequences][heads][capacity][128] */
    strided out;       /* hidden features */
    float *partial;    /* [columns][heads][splits][130]; unused with one split */
    unsigned *arrived; /* [columns][heads], 0 before and after */
    int heads, splits;
} attention_args;
cudaError_t run_attention(const pass_columns *p, const attention_args *a);

/* Blocks that share a head of a column, so that small batches fill the device, too: 1 to MAX_SPLITS. */
int attention_splits(int heads, int columns, int capacity);

/* The largest of `vocabulary` logits, and the first of equal ones, goes to `chosen`; then *t grows by p->tokens. */
typedef struct argmax_args {
    const float *logits; /* [columns][pitch] */
    int vocabulary;
    size_t pitch;
    unsigned long long *best; /* [columns], 0 before and after */
    unsigned *arrived;        /* one, likewise */
} argmax_args;
cudaError_t run_argmax(const pass_columns *p, const argmax_args *a);

#ifdef __cplusplus
}
#endif
#endif
