/*
 * lt_product.h - cuBLASLt's dense product by the fastest of the algorithms that its heuristics propose: cublasGemmEx takes
 * the first of that list, which is not always the fastest.
 *
 * Source: the cuBLAS documentation of cublasLtMatmul and cublasLtMatmulAlgoGetHeuristic, CUDA 12 and 13.
 */
#ifndef BASELINES_LT_PRODUCT_H
#define BASELINES_LT_PRODUCT_H

#include "ops/operation.h"

#include <cublasLt.h>

/* Algorithms that are listed at most. With 0, "the fastest", their places are the values of a tunable. */
enum { LT_LISTED = MAX_TUNABLE_VALUES - 1 };
#define LT_TUNABLES                                                   \
    {                                                                 \
        {                                                             \
            "ALGORITHM", "place in cuBLASLt's list; 0: the fastest",  \
                {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, LT_LISTED + 1 \
        }                                                             \
    }

/* D = epilogue(alpha op(A) op(B) + beta C): D is m x n, and an element of op(A) op(B) has k products. */
typedef struct lt_gemm {
    int m, n, k;
    bool transpose_A, transpose_B; /* A is stored as k x m, B as n x k */
    bool by_rows;      /* matrices are stored by rows, else by columns; packed in either way */
    cudaDataType type; /* of all four: CUDA_R_32F, CUDA_R_16F or CUDA_R_16BF */
    cublasComputeType_t compute;
    float alpha, beta;
    cublasLtEpilogue_t epilogue; /* 0: none */
    const void *d_bias;          /* of an epilogue with a bias: m numbers of `type`. Borrowed */
} lt_gemm;

typedef struct lt_product lt_product;

/* Asks for the list, and makes the workspace. The caller destroys *product, which is NULL on failure.
 * cudaErrorNotSupported: the library proposes nothing. */
cudaError_t lt_product_create(const lt_gemm *gemm, lt_product **product);

/* Takes the algorithm at *place, counted from 1. At place 0 it runs all of them on zeros of the problem's shape, on the
 * legacy default stream. Where `cold`, the L2 cache is emptied before each run. It takes the fastest, and *place becomes
 * its own. cudaErrorNotSupported: none runs, or the list is shorter. */
cudaError_t lt_product_choose(lt_product *product, bool cold, int *place);

/* Enqueues the product. Where beta is 0, C is not read and may be NULL; D may be C. */
cudaError_t lt_product_run(const lt_product *product, const void *A, const void *B, const void *C,
                           void *D, cudaStream_t stream);

void lt_product_destroy(lt_product *product); /* NULL is allowed */

#endif
