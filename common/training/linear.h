/*
 * linear.h - a linear layer that trains, in fp32: Y = W X with a sparse W [rows][cols], X [cols][N] and Y [rows][N], and the
 * two products of its backward pass. N is the batch.
 *
 * The layer holds W's values and their gradient on the device. Its products are plans of library/sparse_plan.h; or dense
 * products of cuBLAS on W with its zeros, as the rival that knows no pattern. Both give gradients on the pattern alone.
 * Arrays of a caller lie on the device, row-major. All work is enqueued on the legacy default stream.
 */
#ifndef TRAINING_LINEAR_H
#define TRAINING_LINEAR_H

#include "library/sparse_plan.h"
#include "matrix/csr.h"

#include <cublas_v2.h>
#include <stdbool.h>

/* Kernels of a layer by name. NULL is the choice of the suite's rule: of SpMM, among those that read values in place. */
typedef struct linear_kernels {
    const char *spmm, *transposed, *sddmm;
    bool dense; /* cuBLAS, whatever the names */
} linear_kernels;

typedef struct linear linear;

/* Host milliseconds of what another pattern costs, the device's work included. */
typedef struct pattern_cost {
    double upload_ms; /* the pattern to the device, or the places of a dense W */
    double plans_ms;  /* all three plans: the transpose, and the formats that kernels want */
} pattern_cost;

/* Makes a layer of the pattern, without duplicates, and its values; *cost may be NULL. The handle must outlive it, and
 * the pattern need not. The caller destroys *made; on error it is NULL. STATUS_SKIPPED: a kernel by name cannot take the
 * pattern. STATUS_MEMORY: it does not fit. */
enum status linear_create(const csr_matrix *pattern, const float *values, int N,
                          const linear_kernels *kernels, cublasHandle_t blas, linear **made,
                          pattern_cost *cost, error_text *error);
void linear_destroy(linear *l);

/* Y = W X. */
enum status linear_forward(const linear *l, const float *X, float *Y, error_text *error);
/* dX = W^T dY. */
enum status linear_input_gradient(const linear *l, const float *dY, float *dX, error_text *error);
/* The gradient by W, dY X^T on the pattern: it replaces the layer's own, or is added to it. */
enum status linear_weight_gradient(linear *l, const float *dY, const float *X, bool add,
                                   error_text *error);
/* W -= rate * gradient, and tells the plans. */
enum status linear_update(linear *l, float rate, error_text *error);

/* G [rows][cols] = dY X^T, zeros of W included: what would grow? */
enum status linear_full_gradient(const linear *l, const float *dY, const float *X, float *G,
                                 error_text *error);

/* Brings the values to the order of the transpose, as the transposed product does in each run: to time that alone. Lab 40
 * moves values, and cuSPARSE sorts them anew. STATUS_SKIPPED: the layer is dense, or its kernel reads them in place. */
enum status linear_move_values(linear *l, error_text *error);

/* Replaces the values. Host arrays of nnz numbers in the pattern's order. */
enum status linear_set_values(linear *l, const float *values, error_text *error);
/* Waits, and fetches the values or the gradient. */
enum status linear_fetch_values(const linear *l, float *values, error_text *error);
enum status linear_fetch_gradient(const linear *l, float *gradient, error_text *error);

/* Gives the layer another pattern with as many nonzeros, and its values. It keeps its arrays, and makes the pattern and
 * its plans anew. On error it must be destroyed. */
enum status linear_change_pattern(linear *l, const csr_matrix *pattern, const float *values,
                                  pattern_cost *cost, error_text *error);

/* The names of its kernels: "length_bins, transposed_spmm, sddmm_balanced". */
void linear_kernel_names(const linear *l, char *text, size_t bytes);

#endif
