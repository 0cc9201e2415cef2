/*
 * tca_bme.h - TCA-BME, a pruned matrix for tensor cores: one bit for every element, and the values of
 * those that are stored. 16-bit values only, which are kept bit by bit: zeros, -0 and NaN too.
 *
 *     bitmap tile    8 x 8    a word of 64 bits: bit 8 r + c says whether element (r, c) is stored
 *     mma tile     16 x 16    four bitmap tiles by columns (top left, bottom left, top right, bottom
 *                             right): the words a[0] to a[3] of mma.cuh's fragment of A
 *     strip        16 x 64    four mma tiles from left to right: a warp's share of a group
 *     group        64 x 64    four strips from top to bottom: what a block takes at a time
 *
 * Groups come row by row of groups; the last ones are filled up with elements that are not stored.
 * Values come in the order of the bits. Those of a group begin at a multiple of 8 (16 bytes, one
 * asynchronous copy), with zeros after the last. Bytes: 4 (groups + 1) + 8 bitmaps + 2 values.
 *
 * CSR may name an element twice, and a bitmap cannot. The first of such values is stored as all are.
 * Adding the others to it would round the sum to 16 bits, so they are kept apart, in CSR ("repeats");
 * pruned weights have none.
 *
 * R. Fan et al., "SpInfer: Leveraging Low-Level Sparsity for Efficient Large Language Model Inference
 * on GPUs", EuroSys 2025, section 4.2.
 */
#ifndef FORMATS_TCA_BME_H
#define FORMATS_TCA_BME_H

#include "matrix/csr.h"
#include "ops/spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BITMAP_SIDE = 8,
    MMA_SIDE = 16,
    GROUP_SIDE = 64,
    STRIPS = GROUP_SIDE / MMA_SIDE,
    STRIP_BITMAPS = 16,
    GROUP_BITMAPS = STRIPS * STRIP_BITMAPS,
    GROUP_ALIGNMENT = 8 /* values */
};

/* In host memory, or on the device. All zero: none. */
typedef struct tca_bme {
    int rows, cols;   /* of the matrix */
    int down, across; /* rows of groups; groups in each */
    int num_values;   /* with those that fill up groups */
    int longest;      /* values of the longest group, likewise */
    int *offset;      /* down * across + 1: where a group's values begin */
    uint64_t *bitmap; /* down * across * GROUP_BITMAPS */
    uint16_t *values; /* num_values */
    /* Values of elements that have one already, in the order of the matrix. On the device these are
     * NULL if there are none. */
    int num_repeats;
    int *repeat_ptr; /* rows + 1 */
    int *repeat_col; /* num_repeats */
    uint16_t *repeat_value;
} tca_bme;

/* Counts groups side by side that hold `cols` columns, or one below the other `rows` rows. */
static inline int groups_of(int64_t elements)
{
    return (int)((elements + GROUP_SIDE - 1) / GROUP_SIDE);
}

static inline int64_t tca_bme_groups(const tca_bme *m)
{
    return (int64_t)m->down * m->across;
}

/* Returns the bytes of all arrays, exactly. */
static inline int64_t tca_bme_bytes(const tca_bme *m)
{
    const int64_t groups = tca_bme_groups(m), repeats = m->num_repeats;
    return 4 * (groups + 1) + 8 * GROUP_BITMAPS * groups + 2 * (int64_t)m->num_values +
           (repeats ? 4 * ((int64_t)m->rows + 1) + 6 * repeats : 0);
}

/* Whether the bits for elements that are not stored are too many: more than 4 times the bytes of CSR
 * with 16-bit values, and more than 16 MB, which take no time. Or more than 2 GiB in any case. */
static inline bool tca_bme_unsuited(int64_t rows, int64_t cols, int64_t nnz)
{
    const double bitmaps = (double)rows * (double)cols / 8;
    const double csr = 4 * ((double)rows + 1) + 6 * (double)nnz;
    return bitmaps > 0x1p31 || (bitmaps > 0x1p24 && bitmaps > 4 * csr);
}

/* ---- on the host (tca_bme_host.c): plain, one thread, what the device's is held against ---------- */

/* Encodes the pattern of A with values[A->nnz]. STATUS_MEMORY, also where 32 bits do not count the
 * values; then *m is all zero. */
enum status tca_bme_encode(const csr_matrix *A, const uint16_t *values, tca_bme *m,
                           error_text *error);

/* The matrix again: in each row columns ascend, and repeats follow. The caller frees *A, which has no
 * values of its own, and *values. */
enum status tca_bme_decode(const tca_bme *m, csr_matrix *A, uint16_t **values, error_text *error);

void tca_bme_free(tca_bme *m);

/* ---- on the device (tca_bme.cu) ------------------------------------------------------------------ */

/* Encodes A, whose values have 16 bits; the same bits as on the host. On error *m is all zero. New values of
 * the same pattern need a new encoding: a value's place depends on the bits before it, which are not kept
 * for each value. */
cudaError_t tca_bme_create(const spmm_matrix *A, tca_bme *m);

/* d_used[c / 64] gets bit c % 64 where column c < m->cols has an element; groups_of(m->cols) words. */
cudaError_t tca_bme_used_columns(const tca_bme *m, uint64_t *d_used);

/* Frees all but the repeats: for a format made from this one, which cannot say them either. */
void tca_bme_keep_repeats(tca_bme *m);

void tca_bme_destroy(tca_bme *m);

#ifdef __cplusplus
}
#endif
#endif
