/*
 * inputs.h - what problems of every operation make their inputs of: numbers of a precision, and the
 * CSR arrays of the dataset as the device takes them.
 */
#ifndef OPS_INPUTS_H
#define OPS_INPUTS_H

#include "ops/device_csr.h"
#include "ops/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Nonzeros, or numbers of all heads on them. Kernels step through a row in int, a tile at a time: the end plus a tile
 * must not overflow. */
enum { MAX_NNZ = INT32_MAX - 4096 };

/* ---- numbers --------------------------------------------------------------------------------- */

/* An array in host memory. Once rounded, each float is exactly what the device has, so that an
 * oracle may read the floats in every precision. */
typedef struct numbers {
    enum precision precision;
    size_t count;
    const float *floats;
    float *own;   /* the same array, if it is to be freed; NULL: borrowed */
    void *narrow; /* the same numbers in 16 bits; NULL in fp32 */
} numbers;

/* Returns the bytes that numbers_alloc takes for them. */
size_t numbers_bytes(enum precision precision, size_t count);

/* Room for `count` of them, not filled. False: there is none; numbers_free frees what there is. */
bool numbers_alloc(numbers *n, enum precision precision, size_t count);

/* fp32 numbers that somebody else keeps. */
void numbers_borrow(numbers *n, const float *floats, size_t count);

void numbers_free(numbers *n);

/* Number `at` of that stream of random.h. With `most` 0 it is uniform in [-1, 1); else a whole number from -most to
 * most, and none is 0. */
float input_number(int most, uint64_t stream, uint64_t at);

/* Fills n->own with such numbers as a matrix of `rows` rows of `width`, row-major, except in rows whose `used` is 0.
 * Those hold NaN and infinities, which a correct kernel never reads into a result. */
void numbers_fill_rows(numbers *n, int64_t rows, int width, const uint8_t *used, int most,
                       uint64_t stream);

/* Replaces each by the nearest number of the precision. */
void numbers_round(numbers *n);

/* The array as the device gets it. */
operand numbers_operand(const numbers *n, const char *name);

/* ---- the dataset ----------------------------------------------------------------------------- */

/* Refuses what no contender can take: more nonzeros than 32-bit offsets address, values that are
 * not finite. STATUS_SKIPPED: values that are not in the problem's precision, while others may take them.
 * `labs`: whose limit that is, as "SpMM". */
enum status dataset_check(const problem *p, const char *labs, error_text *error);

/* The same for an operation that takes any number of nonzeros: values alone. */
enum status dataset_check_values(const problem *p, error_text *error);

/* Nonzeros of a row: what operation.row_length is where rows of the outputs are the dataset's. */
int64_t dataset_row_length(const problem *p, int64_t row);

/* Row offsets in 32 bits; the caller frees them. NULL: no memory. */
int32_t *dataset_offsets(const csr_matrix *A);

/* A flag for each column, or row: whether it has a nonzero. The caller frees it. NULL: no memory.
 * The first also sets p->used_columns and p->has_empty_column. */
uint8_t *dataset_mark_columns(problem *p);
uint8_t *dataset_mark_rows(const problem *p);

/* The operands of its offsets, which dataset_offsets made, and of its columns. */
operand dataset_offsets_operand(const csr_matrix *A, int32_t *offsets, const char *name);
operand dataset_columns_operand(const csr_matrix *A, const char *name);

/* The same on the device; d_values may be NULL. */
device_csr dataset_on_device(const problem *p, const void *d_row_ptr, const void *d_col_idx,
                             const void *d_values);

#ifdef __cplusplus
}
#endif
#endif
