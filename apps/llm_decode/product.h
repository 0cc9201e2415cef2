/*
 * product.h - y = W x with pruned weights: dense by cuBLAS, or by the kernel of a lab, which the registry finds by name.
 *
 * A lab's plan is made from CSR, which takes more memory than the weights with their zeros. So the arrays of CSR are a
 * scratch that all products share, and are gone before the first step: only kernels may be named here whose `run` reads
 * nothing of CSR.
 */
#ifndef LLM_DECODE_PRODUCT_H
#define LLM_DECODE_PRODUCT_H

#include "kernels.h"
#include "ops/spmm.h"
#include "weights.h"

#include <cublas_v2.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kernel_kind { KERNEL_DENSE, KERNEL_BITMAP, KERNEL_LANE_MAJOR, NUM_KINDS };

/* "dense", "bitmap", "lane_major". */
const char *kernel_name(enum kernel_kind kind);

/* One product, made. All zero: none. */
typedef struct product {
    weight_spec weights;
    enum kernel_kind kind;
    void *d_dense;  /* of KERNEL_DENSE: row-major */
    spmm_plan plan; /* of the others */
} product;

/* Room on the device for the CSR arrays of any product of a model: see scratch_create. */
typedef struct csr_scratch {
    int *d_row_ptr, *d_col_idx;
    void *d_values;
} csr_scratch;

cudaError_t scratch_create(int most_rows, int64_t most_nonzeros, csr_scratch *s);
void scratch_destroy(csr_scratch *s);

/* Makes the weights and the plan for so many columns. `epilogue`, whose bias is borrowed, is applied by the plan if its
 * kernel can: see product_finishes. cudaErrorNotSupported: this program, or the device, has no such kernel. On error p is
 * all zero. Waits for the device. */
cudaError_t product_create(const weight_spec *w, enum kernel_kind kind, int columns,
                           row_epilogue epilogue, const csr_scratch *scratch, product *p);
void product_destroy(product *p);

/* Bytes of the weights as the kernel reads them, all of them in every run. */
double product_bytes(const product *p);

/* Whether product_run applies an epilogue; else it is the caller's. */
bool product_finishes(const product *p);

/* Enqueues y = W x. The labs' kernels want both row-major: feature = columns, column = 1. Dense ones take either layout,
 * feature = 1 being the other, of both alike. They run on the stream of `blas`, labs' on the given
 * one. */
cudaError_t product_run(const product *p, cublasHandle_t blas, int columns, const strided *x,
                        strided *y, cudaStream_t stream);

/* y = W x of dense weights, row-major rows x cols in fp16; y in fp16 or fp32. Sums of more than `most` products are added up in
 * parts, rounded to y's precision in between. In fp32 no rounding hides what a tensor core cuts of a long sum: 0 is the
 * most that labs 9, 23 and 24 allow themselves (device/split_sums.cuh). */
cudaError_t dense_product(cublasHandle_t blas, const void *W, int rows, int cols, int columns,
                          const strided *x, void *y, size_t y_feature, cudaDataType y_type,
                          int most);

/* The columns of W in a part: as many in each, and a multiple of 8, for cuBLAS wants 16 bytes. most: as above. */
int dense_part(int cols, int most);

/* ---- counting, before anything is made -------------------------------------------------------- */

/* Bytes of the format, by its formula. Lane-major's depends on how its banks fill: it is an estimate. */
double product_expected_bytes(const weight_spec *w, enum kernel_kind kind, int columns);

/* Bytes that its plan takes beside it: B in another order, sums of blocks that share rows. */
double product_workspace_bytes(const weight_spec *w, enum kernel_kind kind, int columns);

/* Bytes that making it takes, and gives back: CSR, and the bitmap format that lane-major is made from. */
double product_making_bytes(const weight_spec *w, enum kernel_kind kind);

#ifdef __cplusplus
}
#endif
#endif
