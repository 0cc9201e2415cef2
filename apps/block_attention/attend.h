/*
 * attend.h - attention of all heads at the blocks of a pattern, in four ways behind one call.
 *
 *   O[h][i] = sum over the keys j that query i attends to of p[j] V[h][j]      p = softmax of <Q[h][i], K[h][j]> / sqrt(d)
 *
 *   three_steps      S = Q K^T at the blocks: a plan of bsmm_update, whose dW are the scores. softmax_rows. O = P V: a plan of bsmm
 *                    with PASS=bprop, whose W are the shares. All heads are one layout, squares along its diagonal
 *   one_pass         one kernel, without scores in memory
 *   dense            Q K^T and P V of all pairs by cuBLAS, softmax_rows between them
 *   dense_one_pass   the one kernel with all blocks up to the diagonal
 *
 * Q, K, V and O are [heads][length][d], for block products in 16 bits [d][heads][length]: token-major, the features of these
 * products being queries and keys. A projection can write either.
 */
#ifndef BLOCK_ATTENTION_ATTEND_H
#define BLOCK_ATTENTION_ATTEND_H

#include "harness/rooms.h"
#include "kernels.h"
#include "library/sparse_plan.h"
#include "matrix/block_layout.h"
#include "ops/precision.h"
#include "pattern.h"

#include <cublas_v2.h>

enum variant { THREE_STEPS, ONE_PASS, DENSE, DENSE_ONE_PASS, NUM_VARIANTS };

/* Steps of a run; one pass has the last one alone. */
enum part { PART_SCORES, PART_SOFTMAX, PART_SUM, NUM_PARTS };

/* "three_steps", for tables and the command line; "scores". */
const char *variant_name(enum variant v);
const char *part_name(enum part p);

typedef struct attend_settings {
    enum variant variant;
    enum precision precision;
    block_pattern pattern; /* as asked for; dense variants have all blocks up to the diagonal */
    int heads, d;          /* d: 32, 64 or 128 */
    int unit;              /* enum one_pass_unit; NUM_ONE_PASS_UNITS: the first that suits */
    const char
        *product; /* kernel of the last of three steps, of the operation bsmm; NULL: the rule's */
} attend_settings;

typedef struct attend {
    attend_settings is;
    block_pattern pattern; /* that counts */
    csr_matrix A;          /* of all heads, or of one where they share a list */
    block_layout layout;   /* three steps */
    sparse_matrix *matrix;
    sparse_plan *scores, *sum;
    cublasHandle_t cublas;
    rooms rooms;
    void *d_Q, *d_K, *d_V, *d_O, *d_S;
    int *d_row_ptr, *d_list; /* blocks of block rows: their numbers, or their columns */
} attend;

/* Says what is in the way of this variant; NULL: nothing. Chooses the unit of one pass where it is open. */
const char *attend_unsuited(attend_settings *is);

/* Counts the bytes, then makes arrays, lists and plans. STATUS_MEMORY, with the sum: they do not fit. On failure nothing is
 * left. */
enum status attend_open(attend *a, const attend_settings *is, error_text *error);
void attend_close(attend *a);

/* Bytes of all arrays and plans, and of those that hold scores. */
size_t attend_bytes(const attend *a);
size_t attend_score_bytes(const attend *a);

/* Numbers of Q, of K, of V and of O. */
static inline size_t attend_count(const attend *a)
{
    return (size_t)a->is.heads * a->pattern.length * a->is.d;
}

/* Brings Q, K and V, floats [heads][length][d] of the precision, to the device; NULL: that one stays. O becomes NaN. */
enum status attend_upload(const attend *a, const float *Q, const float *K, const float *V,
                          error_text *error);

/* Waits for the device and brings O back, likewise. */
enum status attend_fetch(const attend *a, float *O, error_text *error);

/* Enqueue a run, and one part of it, on the default stream. */
enum status attend_run(const attend *a, error_text *error);
enum status attend_part(const attend *a, enum part part, error_text *error);

/* Names the kernel of a part: a contender of the suite, "cuBLAS", "own", or the unit of one pass; "": there is no such part. It lives
 * as long as the program. */
const char *attend_kernel(const attend *a, enum part part);

#endif
