/*
 * cublas_v2.h - dense products on the CPU backend, under the names of NVIDIA's cuBLAS. Applications need
 * them beside the suite's sparse products; a CUDA build finds NVIDIA's file of the same name instead.
 *
 * Names, numbers and meanings are those of the cuBLAS documentation:
 *   - Matrices are stored by columns: element (i, j) of A is A[i + j * lda]. A row-major matrix is its
 *     transpose.
 *   - C = alpha op(A) op(B) + beta C, where op(A) is m x k, op(B) is k x n and C is m x n. alpha and beta are
 *     floats in host memory. With beta = 0 nothing is read of C.
 *   - CUBLAS_STATUS_INVALID_VALUE: a size is negative, a leading dimension too small, or an operand is no
 *     device memory. CUBLAS_STATUS_NOT_SUPPORTED: types that do not go together.
 * What differs here: a call completes before it returns, and sums of one element are formed in the order of k.
 */
#ifndef SIMT_CUBLAS_V2_H
#define SIMT_CUBLAS_V2_H

#include <cuda_runtime_api.h>

#include "library_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
} cublasStatus_t;

typedef enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;

/* In what the products are formed. FAST_TF32 leaves 10 bits of each operand's fraction. */
typedef enum cublasComputeType_t {
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
} cublasComputeType_t;

typedef enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 } cublasGemmAlgo_t;

typedef enum cublasMath_t {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;

typedef struct cublasContext *cublasHandle_t;

cublasStatus_t cublasCreate(cublasHandle_t *handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
/* Sums are formed in the type of the computation here, whatever the mode. */
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
/* The stream of later calls; without it the default stream. */
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
/* Device memory for later calls on that stream, so that a capture allocates nothing. Nothing is written to it here. */
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes);

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k, const float *alpha,
                           const float *A, int lda, const float *B, int ldb, const float *beta,
                           float *C, int ldc);

/* `count` products: operands of the next begin `stride` elements later. */
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const float *alpha, const float *A, int lda,
                                         long long strideA, const float *B, int ldb,
                                         long long strideB, const float *beta, float *C, int ldc,
                                         long long strideC, int count);

/* A and B are of one type. C is of that type, too, or of fp32. Sums are formed in fp32. */
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void *alpha,
                            const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C,
                            cudaDataType Ctype, int ldc, cublasComputeType_t computeType,
                            cublasGemmAlgo_t algo);

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void *alpha, const void *A, cudaDataType Atype, int lda, long long strideA, const void *B,
    cudaDataType Btype, int ldb, long long strideB, const void *beta, void *C, cudaDataType Ctype,
    int ldc, long long strideC, int count, cublasComputeType_t computeType, cublasGemmAlgo_t algo);

/* Groups of products, each group with sizes of its own, in one call. What differs between groups is an array of host memory
 * with an element a group; alpha and beta are floats there. Pointers to operands lie on the device, those of a group behind
 * those of the one before, group_size of them. */
cublasStatus_t cublasGemmGroupedBatchedEx(
    cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[],
    const int m[], const int n[], const int k[], const void *alpha, const void *const A[],
    cudaDataType Atype, const int lda[], const void *const B[], cudaDataType Btype, const int ldb[],
    const void *beta, void *const C[], cudaDataType Ctype, const int ldc[], int group_count,
    const int group_size[], cublasComputeType_t computeType);

#ifdef __cplusplus
}
#endif
#endif
