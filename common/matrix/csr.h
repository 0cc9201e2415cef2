/*
 * csr.h - the compressed-sparse-row matrix that every part of the suite shares.
 *
 * Row i owns the nonzeros row_ptr[i] .. row_ptr[i+1]-1. Columns inside a row may come in any order
 * and may repeat (a repeated entry counts twice, as in the sum a matrix stands for).
 */
#ifndef MATRIX_CSR_H
#define MATRIX_CSR_H

#include "matrix/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct csr_matrix {
    int64_t rows, cols; /* 0 .. INT32_MAX each */
    int64_t nnz;        /* == row_ptr[rows] */
    int64_t *row_ptr;   /* rows + 1 offsets, 64-bit: products of large graphs pass 2^31 */
    int32_t *col_idx;   /* nnz column numbers, 0-based */
    float *values;      /* nnz values, or NULL: only the pattern is known */
    void *mapping;      /* non-NULL: a read-only file mapping; the arrays that lie inside it ... */
    size_t mapping_bytes; /* ... belong to it, the others to the heap */
    int block; /* side of the blocks that the nonzeros stand for, where the matrix is a layout that names it; else 0 */
} csr_matrix;

/* Allocates the arrays of a rows x cols matrix with nnz entries; values only if asked for.
 * row_ptr is zeroed, the other arrays are not. Fails with STATUS_MEMORY when the machine has less
 * memory available than the arrays take (Linux would grant them and kill the process later). Fails
 * with STATUS_DATASET for sizes outside the ranges above. On failure *A is all zero. */
enum status csr_alloc(csr_matrix *A, int64_t rows, int64_t cols, int64_t nnz, bool with_values,
                      error_text *error);

/* STATUS_DATASET if a file of `entries` nonzeros cannot mean so many rows or columns: `side` ("rows"),
 * `count` of them. A side that a file only claims costs it a few digits, but costs memory in
 * proportion here. Empty rows are honest up to 2^23, whose offsets take 64 MB, and beyond that up to
 * 1000 for each nonzero. To be asked before such memory is touched. */
enum status csr_check_side(const char *side, int64_t count, int64_t entries, const char *source,
                           error_text *error);

/* Frees what *A owns and zeroes it. A zeroed matrix may be freed. */
void csr_free(csr_matrix *A);

/* Leaves the pattern alone: frees the values, if there are any. */
void csr_drop_values(csr_matrix *A);

/* Checks every invariant above: sizes in range, row_ptr[0] == 0, row_ptr monotone and ending at
 * nnz, every column in [0, cols). The message names `source`, the first bad
 * row (0-based) and the reason. */
enum status csr_validate(const csr_matrix *A, const char *source, error_text *error);

/* STATUS_DATASET, naming the first such row, if a value is infinite or NaN: files may hold those,
 * but a product with them can be checked against no bound. */
enum status csr_require_finite(const csr_matrix *A, error_text *error);

/* A list of coordinates, as text formats give them; grown by coo_push, turned into CSR once. */
typedef struct coo_list {
    int64_t count, capacity;
    int32_t *row, *col;
    float *value; /* NULL: pattern */
} coo_list;

/* Makes room for `capacity` entries: a hint that is cut at a million, because it often comes from a
 * file's header, which proves nothing. coo_push grows the list as needed and fails with
 * STATUS_MEMORY when the machine has no more room. */
enum status coo_init(coo_list *list, int64_t capacity, bool with_values, error_text *error);
enum status coo_push(coo_list *list, int32_t row, int32_t col, float value, error_text *error);
void coo_free(coo_list *list);

/* Builds the CSR matrix of a coordinate list: rows by counting sort, columns ascending inside a
 * row, duplicates kept in the order they were pushed. Frees the list's arrays as soon as they are
 * no longer needed, so that the peak is about one copy of each form. Coordinates outside rows x
 * cols are refused with the offending entry in the message. On return the list is empty. */
enum status csr_from_coo(coo_list *list, int64_t rows, int64_t cols, csr_matrix *A,
                         const char *source, error_text *error);

/* T = A transposed, with columns ascending inside each row of T; values follow if A has any.
 * The caller frees T. O(nnz + rows + cols). */
enum status csr_transpose(const csr_matrix *A, csr_matrix *T, error_text *error);

#ifdef __cplusplus
}
#endif
#endif
