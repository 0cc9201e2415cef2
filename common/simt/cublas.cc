/*
 * cublas.cc - the dense products of include/cublas_v2.h, on all cores.
 *
 * op(A) is packed once as fp32 by columns. So the innermost loop adds a multiple of one column to
 * another, whatever the types and the transposition.
 */
#include "simt/simt.h"

#include <cublas_v2.h>
#include <omp.h>
#include <stdlib.h>

#include "simt/float16.h"

struct cublasContext {
    cudaStream_t stream;
};

/* A matrix by columns, in elements of a type. */
struct matrix {
    char *data;
    cudaDataType type;
    int rows, cols, ld;
    long long stride; /* elements to the next matrix of a batch */
};

static size_t element_bytes(cudaDataType type)
{
    return type == CUDA_R_32F ? 4 : 2;
}

static char *place(const matrix &m, int row, int col, int batch)
{
    return m.data + ((size_t)batch * m.stride + row + (size_t)col * m.ld) * element_bytes(m.type);
}

static float load(const matrix &m, int row, int col, int batch)
{
    const char *at = place(m, row, col, batch);
    if (m.type == CUDA_R_32F) return *(const float *)at;
    const uint16_t bits = *(const uint16_t *)at;
    return m.type == CUDA_R_16F ? simt_fp16_to_float(bits) : simt_bf16_to_float(bits);
}

static void store(const matrix &m, int row, int col, int batch, float x)
{
    char *at = place(m, row, col, batch);
    if (m.type == CUDA_R_32F)
        *(float *)at = x;
    else
        *(uint16_t *)at = m.type == CUDA_R_16F ? simt_fp16_from_float(x) : simt_bf16_from_float(x);
}

/* The unit ignores the 13 low bits of a tf32 number. */
static float operand(float x, bool tf32)
{
    return tf32 ? simt_bits_float(simt_float_bits(x) & 0xffffe000u) : x;
}

static bool well_formed(const matrix &m)
{
    return m.rows >= 0 && m.cols >= 0 && m.ld >= max(1, m.rows);
}

/* Whether all matrices of a batch lie in one live allocation. */
static bool on_device(const matrix &m, int count)
{
    if (m.rows == 0 || m.cols == 0) return true;
    const size_t last = (size_t)(count - 1) * m.stride + (size_t)(m.cols - 1) * m.ld + m.rows;
    return simt_memory_valid(m.data, last * element_bytes(m.type));
}

/* One product. packed: m * k floats for op(A); sums: m floats for each thread. */
static void multiply(const matrix &A, bool transpose_a, const matrix &B, bool transpose_b,
                     const matrix &C, int batch, float alpha, float beta, bool tf32, float *packed,
                     float *sums)
{
    const int m = C.rows, n = C.cols, k = transpose_a ? A.rows : A.cols;
#pragma omp parallel for
    for (int p = 0; p < k; p++)
        for (int i = 0; i < m; i++)
            packed[(size_t)p * m + i] =
                operand(transpose_a ? load(A, p, i, batch) : load(A, i, p, batch), tf32);
#pragma omp parallel for
    for (int j = 0; j < n; j++) {
        float *sum = sums + (size_t)omp_get_thread_num() * m;
        for (int i = 0; i < m; i++)
            sum[i] = 0;
        for (int p = 0; p < k; p++) {
            const float b =
                operand(transpose_b ? load(B, j, p, batch) : load(B, p, j, batch), tf32);
            const float *column = packed + (size_t)p * m;
#pragma omp simd
            for (int i = 0; i < m; i++)
                sum[i] += column[i] * b;
        }
        for (int i = 0; i < m; i++)
            store(C, i, j, batch, alpha * sum[i] + (beta == 0 ? 0 : beta * load(C, i, j, batch)));
    }
}

/* The products of a batch, of checked operands. */
static cublasStatus_t multiply_all(const matrix &A, bool transpose_a, const matrix &B,
                                   bool transpose_b, const matrix &C, int count, float alpha,
                                   float beta, bool tf32)
{
    const size_t k = transpose_a ? A.rows : A.cols;
    float *packed = (float *)malloc(4 * max(k * C.rows, (size_t)1));
    float *sums = (float *)malloc(4 * max((size_t)omp_get_max_threads() * C.rows, (size_t)1));
    if (!packed || !sums) {
        free(packed);
        free(sums);
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    simt_memory_open();
    for (int batch = 0; batch < count; batch++) {
        multiply(A, transpose_a, B, transpose_b, C, batch, alpha, beta, tf32, packed, sums);
        for (int j = 0; simt_observer && j < C.cols; j++)
            simt_observer->written(place(C, 0, j, batch), C.rows * element_bytes(C.type));
    }
    simt_memory_close();
    free(packed);
    free(sums);
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
    if (simt_sticky_error()) return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = (cublasHandle_t)calloc(1, sizeof **handle);
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    const bool is_known =
        mode == CUBLAS_DEFAULT_MATH || mode == CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    return is_known ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    free(handle);
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    return bytes && !simt_memory_valid(workspace, bytes) ? CUBLAS_STATUS_INVALID_VALUE
                                                         : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void *alpha, const void *A, cudaDataType Atype, int lda, long long strideA, const void *B,
    cudaDataType Btype, int ldb, long long strideB, const void *beta, void *C, cudaDataType Ctype,
    int ldc, long long strideC, int count, cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
    (void)algo;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (simt_sticky_error()) return CUBLAS_STATUS_EXECUTION_FAILED;
    const bool ta = transa == CUBLAS_OP_T, tb = transb == CUBLAS_OP_T;
    const bool tf32 = computeType == CUBLAS_COMPUTE_32F_FAST_TF32;
    if (m < 0 || n < 0 || k < 0 || count < 0 || !alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
    const matrix a = {(char *)A, Atype, ta ? k : m, ta ? m : k, lda, strideA};
    const matrix b = {(char *)B, Btype, tb ? n : k, tb ? k : n, ldb, strideB};
    const matrix c = {(char *)C, Ctype, m, n, ldc, strideC};
    if (!well_formed(a) || !well_formed(b) || !well_formed(c)) return CUBLAS_STATUS_INVALID_VALUE;
    if (Atype != Btype || (Ctype != Atype && Ctype != CUDA_R_32F) || (tf32 && Atype != CUDA_R_32F))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (m == 0 || n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
    if (!on_device(a, count) || !on_device(b, count) || !on_device(c, count))
        return CUBLAS_STATUS_INVALID_VALUE;
    const cublasStatus_t status =
        multiply_all(a, ta, b, tb, c, count, *(const float *)alpha, *(const float *)beta, tf32);
    if (status) return status;
    return simt_enqueued(handle->stream) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void *alpha,
                            const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C,
                            cudaDataType Ctype, int ldc, cublasComputeType_t computeType,
                            cublasGemmAlgo_t algo)
{
    return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, 0, B,
                                      Btype, ldb, 0, beta, C, Ctype, ldc, 0, 1, computeType, algo);
}

cublasStatus_t cublasGemmGroupedBatchedEx(
    cublasHandle_t handle, const cublasOperation_t transa[], const cublasOperation_t transb[],
    const int m[], const int n[], const int k[], const void *alpha, const void *const A[],
    cudaDataType Atype, const int lda[], const void *const B[], cudaDataType Btype, const int ldb[],
    const void *beta, void *const C[], cudaDataType Ctype, const int ldc[], int group_count,
    const int group_size[], cublasComputeType_t computeType)
{
    int at = 0, count = 0;
    for (int g = 0; g < group_count; g++)
        count += group_size[g];
    const size_t bytes = count * sizeof(void *);
    if (count && (!simt_memory_valid(A, bytes) || !simt_memory_valid(B, bytes) ||
                  !simt_memory_valid(C, bytes)))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int g = 0; g < group_count; g++)
        for (int i = 0; i < group_size[g]; i++, at++) {
            simt_memory_open();
            const void *const a = A[at], *const b = B[at];
            void *const c = C[at];
            simt_memory_close();
            const cublasStatus_t status = cublasGemmEx(
                handle, transa[g], transb[g], m[g], n[g], k[g], (const float *)alpha + g, a, Atype,
                lda[g], b, Btype, ldb[g], (const float *)beta + g, c, Ctype, ldc[g], computeType,
                CUBLAS_GEMM_DEFAULT);
            if (status) return status;
        }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const float *alpha, const float *A, int lda,
                                         long long strideA, const float *B, int ldb,
                                         long long strideB, const float *beta, float *C, int ldc,
                                         long long strideC, int count)
{
    return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, CUDA_R_32F, lda,
                                      strideA, B, CUDA_R_32F, ldb, strideB, beta, C, CUDA_R_32F,
                                      ldc, strideC, count, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k, const float *alpha,
                           const float *A, int lda, const float *B, int ldb, const float *beta,
                           float *C, int ldc)
{
    return cublasSgemmStridedBatched(handle, transa, transb, m, n, k, alpha, A, lda, 0, B, ldb, 0,
                                     beta, C, ldc, 0, 1);
}
}
