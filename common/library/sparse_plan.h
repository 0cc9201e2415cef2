/*
 * sparse_plan.h - the suite's kernels as a library: plans of sparse products, for programs in C and C++.
 *
 *   sparse_matrix *A;  sparse_plan *product;
 *   sparse_matrix_create(rows, cols, row_ptr, col_idx, &A);
 *   sparse_plan_create(A, &(sparse_request){.operation = "spmm", .width = N, .values = d_values}, &product);
 *   sparse_plan_run(product, (const void *[]){d_B}, (void *[]){d_C}, stream);
 *
 * docs/use-it.md has a whole program, and the commands that build it. `make lib` makes the library.
 *
 * Operations   common/ops/NAME.h defines each of them. Arrays are row-major and lie on the device.
 *
 *   operation            width  settings          inputs                   outputs
 *   spmm                 N      -                 B                        C
 *   transposed_spmm      N      -                 B                        C
 *   sddmm                K      -                 X, Y                     D
 *   softmax              H      -                 S                        P, lse
 *   attention            d      HEADS MODE BIAS   dot: Q, K, V             O, lse
 *                                                 gat: el, er, V           O, lse
 *                                                 gatv2: Q, a, V           O, lse
 *                                                 weighted: V              O
 *   attention_backward   d      HEADS             Q, K, V, O, dO, lse      dQ, dK, dV
 *   sparse_layer         N      STEPS ORDERS      X, dY                    Y, dX, the new W
 *   bsmm                 N      BLOCK PASS GATES  fprop: W, X, gate        Y
 *                                                 bprop: W, dY, gate       dX
 *   bsmm_update          N      BLOCK PAIRS GATES X, dY, U, gate           dW
 *                               ALPHA BETA
 *   block_importance     N      BLOCK PAIRS NORM  X, dY, W, old            importance, norm
 *                               SCALE BETA
 *
 * The matrix of the last three is a layout: a nonzero is a block, numbered in z-order. Without GATES there is no gate, and
 * without BETA neither U nor old.
 *
 * Ownership    The caller owns every array that it passes. A matrix copies the pattern. A plan borrows its matrix and
 *              the values: both must outlive it.
 * Errors       Every function that can fail returns a status. It prints nothing, and never ends the program.
 *              sparse_error_text has the reason. After an error the result is NULL and nothing is left allocated.
 * Streams      Creating a plan and updating its values works on the legacy default stream, and may wait for the device.
 *              A run enqueues work on the given stream, allocates nothing and does not wait. Two runs of one plan must
 *              not overlap: it has one workspace. A fault in a kernel appears at the caller's next synchronisation.
 * Devices      A matrix and its plans belong to the device that was current when the matrix was created. Every call
 *              must have it as the current one, and all arrays must lie in its memory.
 * Threads      Any thread may call any function. Calls wait for each other, but their kernels do not. A plan or
 *              matrix must not be destroyed while another thread uses it.
 */
#ifndef LIBRARY_SPARSE_PLAN_H
#define LIBRARY_SPARSE_PLAN_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sparse_status {
    SPARSE_OK,
    SPARSE_INVALID,   /* an argument makes no sense: the text names it */
    SPARSE_UNSUITED,  /* no kernel, or not the named one, takes this matrix, width or device */
    SPARSE_NO_MEMORY, /* on the host or on the device */
    SPARSE_DEVICE     /* another error of the CUDA runtime */
};

/* The last failure of this thread in one line: what failed, and why. Never NULL. It lives until the next failure. */
const char *sparse_error_text(void);

/* ---- matrices -------------------------------------------------------------------------------- */

/* The pattern of a sparse matrix, in host and device memory. */
typedef struct sparse_matrix sparse_matrix;

/* Copies a pattern in CSR from host memory: rows + 1 offsets, of which the first is 0, and row_ptr[rows] columns,
 * counted from 0. Columns of a row may come in any order, and twice: then both count. Fewer than 2^31 - 4096 nonzeros.
 * The caller destroys *matrix. SPARSE_INVALID: it is no CSR; the text names the first wrong row. */
enum sparse_status sparse_matrix_create(int64_t rows, int64_t cols, const int64_t *row_ptr,
                                        const int32_t *col_idx, sparse_matrix **matrix);

/* Makes the transposed pattern, which does not need A any more. The caller destroys *transposed. */
enum sparse_status sparse_matrix_transpose(const sparse_matrix *A, sparse_matrix **transposed);

/* Brings values from A's order to that of T, its transposed pattern: `bytes` (2 or 4) each. Both arrays lie on the
 * device. SPARSE_INVALID: T was not made by sparse_matrix_transpose. */
enum sparse_status sparse_values_transpose(const sparse_matrix *T, size_t bytes, const void *values,
                                           void *transposed, cudaStream_t stream);

/* The pattern on the device, for kernels of the caller: rows + 1 offsets, and the columns. */
const int *sparse_matrix_row_ptr(const sparse_matrix *A);
const int *sparse_matrix_col_idx(const sparse_matrix *A);
int64_t sparse_matrix_rows(const sparse_matrix *A);
int64_t sparse_matrix_cols(const sparse_matrix *A);
int64_t sparse_matrix_nnz(const sparse_matrix *A);

/* Frees it. NULL is allowed. */
void sparse_matrix_destroy(sparse_matrix *A);

/* ---- plans ----------------------------------------------------------------------------------- */

/* The format of values, inputs and outputs; lse, el, er and a are fp32 always. Sums are formed in fp32. */
enum sparse_precision { SPARSE_FP32, SPARSE_FP16, SPARSE_BF16 };

/* Arguments of sparse_plan_create. Zero is the usual choice of each but for `operation` and `width`. */
typedef struct sparse_request {
    const char *operation; /* "spmm": the first column of the table above */
    const char *kernel;    /* a lab's contender, as "split_rows"; NULL: the rule chooses */
    const char
        *settings; /* "HEADS=4,MODE=gat"; with a kernel its tunables, too; NULL: initial values */
    enum sparse_precision precision;
    int width; /* columns of B and C, or as the operation calls it */
    /* On the device, a number for each nonzero in the order of the pattern. Both SpMM and the mode weighted need them; SDDMM
     * multiplies by them, and softmax and BIAS=1 add them; NULL: there are none. */
    const void *values;
    /* Epilogue of spmm: C = max(0, A * B + bias). The bias is fp32, on the device, a number for each row of A; NULL: none. It
     * may change between runs. relu: whether negative results become 0. */
    const float *bias;
    int relu;
} sparse_request;

/* One prepared product. */
typedef struct sparse_plan sparse_plan;

/* Chooses a kernel, makes the format it wants and allocates its workspace. By rule it takes the kernel with the least
 * estimate that accepts the matrix, and without estimates the latest lab's. The caller destroys *plan. */
enum sparse_status sparse_plan_create(const sparse_matrix *A, const sparse_request *request,
                                      sparse_plan **plan);

/* Enqueues one run: defines every element of all outputs. Arrays stand in the order of the table, and begin at a
 * multiple of 256 bytes, as cudaMalloc makes them. */
enum sparse_status sparse_plan_run(sparse_plan *plan, const void *const *inputs,
                                   void *const *outputs, cudaStream_t stream);

/* Tells the plan that its values have changed, at the same address. Where the kernel cannot take them over, the plan
 * is prepared anew. On error the plan has its old values. */
enum sparse_status sparse_plan_update_values(sparse_plan *plan);

/* Enqueues the first part of a transposed_spmm's run alone, which brings the values to the order of the transpose: to time
 * it. SPARSE_UNSUITED: the plan's kernel moves none. */
enum sparse_status sparse_plan_move_values(sparse_plan *plan, cudaStream_t stream);

/* Bytes of device memory that the plan holds beside its matrix and the caller's arrays. Attention counts its own
 * arrays. Of other operations this is the fall of the device's free memory while the plan was made: in steps of the
 * driver, and with what other threads allocated meanwhile; 0 on the CPU backend. */
size_t sparse_plan_workspace_bytes(const sparse_plan *plan);

/* The name of its kernel; the names of its inputs and outputs, NULL behind the last one. They live as long as the program. */
const char *sparse_plan_kernel(const sparse_plan *plan);
const char *sparse_plan_input(const sparse_plan *plan, int index);
const char *sparse_plan_output(const sparse_plan *plan, int index);

/* Waits for nothing: the last run must have ended. NULL is allowed. */
void sparse_plan_destroy(sparse_plan *plan);

/* The kernels that `operation` can name in that precision, the labs in their order. NULL behind the last one, and of an
 * unknown operation. */
const char *sparse_kernel_name(const char *operation, enum sparse_precision precision, int index);

#ifdef __cplusplus
}
#endif
#endif
