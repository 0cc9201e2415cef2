/*
 * attend.h - attention of all heads of a layer, sparse or dense, behind one call.
 *
 *   O[i][h] = sum over the keys j that query i may attend to of p[j] V[j][h]     p = softmax of <Q[i][h], K[j][h]> / sqrt(d)
 *
 * Sparse: a contender of the suite's operation attention (ops/attention.h), on the pattern of a mask. Dense: logits of
 * all pairs by cuBLAS, masked_softmax, shares times V by cuBLAS, all pairs again. Q, K, V and O are fp32 arrays
 * [rows][heads][d]; in fp16 attention works on copies.
 */
#ifndef SPARSE_TRANSFORMER_ATTEND_H
#define SPARSE_TRANSFORMER_ATTEND_H

#include "harness/rooms.h"
#include "ops/attention.h"
#include "parts.h"

#include <cublas_v2.h>

typedef struct attend_settings {
    const attention_contender *sparse; /* NULL: dense */
    enum precision precision;          /* fp32 or fp16; the contender's, too */
    const csr_matrix *
        mask; /* borrowed; dense attention may have none: a query attends to all before it, and itself */
    const row_stats *stats; /* of the mask, borrowed */
    bool in_place;          /* dense: shares replace logits */
    int rows, heads, d;
} attend_settings;

typedef struct attend {
    attend_settings is;
    attention_plan plan; /* sparse */
    int *d_row_ptr, *d_col_idx;
    float *d_lse;
    uint32_t *d_allowed; /* dense, with a mask: see masked_softmax */
    void *d_logits, *d_shares;
    void *d_narrow; /* fp16: Q, K, V and O */
} attend;

/* Elements from one of several arrays [rows][heads][d] to the next: what keeps each 256-byte aligned. */
size_t attend_stride(int rows, int heads, int d);

/* Notes the arrays that attention needs. `a` must stay where it is until they are closed. */
void attend_plan_rooms(attend *a, const attend_settings *is, rooms *r);

/* Once the arrays are there: uploads the mask and prepares the contender's plan. STATUS_SKIPPED: it cannot take
 * such heads. The caller calls attend_close. */
enum status attend_open(attend *a, error_text *error);

/* Bytes that the contender's plan has taken beside the arrays; 0: dense, or it does not say. */
size_t attend_plan_bytes(const attend *a);

/* Enqueues attention on the default stream. Q, K and V are attend_stride() apart from `qkv` on. */
cudaError_t attend_run(const attend *a, cublasHandle_t cublas, const float *qkv, float *O,
                       watcher *w);

/* Releases the plan; the arrays belong to the rooms. */
void attend_close(attend *a);

#endif
