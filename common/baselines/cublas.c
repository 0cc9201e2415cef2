/*
 * cublas.c - the dense product of NVIDIA's cuBLAS beside the sparse ones: what A's zeros cost, and at
 * which sparsity leaving them out begins to pay.
 *
 * prepare stores A with its zeros; run is cublasGemmEx alone, on all of them. GFLOP/s count the
 * nonzeros only, as for every contender, so that rates compare as times do. B comes in both layouts, since
 * none is the faster one everywhere: a column-major copy is made by rebind, as a user would keep B.
 * Source: the cuBLAS documentation of cublasGemmEx, CUDA 12 and 13.
 */
#include "baselines/cublas_status.h"
#include "baselines/dense.h"
#include "baselines/sums_rounded.h"

#include <stdlib.h>

typedef struct cublas_contender {
    spmm_contender spmm;
    cudaDataType type;
    cublasComputeType_t compute;
} cublas_contender;

typedef struct cublas_state {
    cublasHandle_t handle;
    void *d_A; /* rows x cols, row-major */
    void *d_B; /* cols x N, column-major; NULL: run takes B as it is */
} cublas_state;

static void release(spmm_plan *plan)
{
    cublas_state *s = plan->state;
    if (!s) return;
    if (s->handle) cublasDestroy(s->handle);
    cudaFree(s->d_A);
    cudaFree(s->d_B);
    free(s);
    plan->state = NULL;
}

static cudaError_t fill_state(const spmm_plan *plan, cublas_state *s)
{
    CUBLAS_TRY(cublasCreate(&s->handle));
    CUDA_TRY(dense_from_csr(plan, &s->d_A));
    return cudaSuccess;
}

static cudaError_t prepare(spmm_plan *plan)
{
    plan->state = calloc(1, sizeof(cublas_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    cudaError_t error = fill_state(plan, plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

static cudaError_t rebind(spmm_plan *plan, const void *B)
{
    return dense_by_columns(plan, B, &((cublas_state *)plan->state)->d_B);
}

/* cuBLAS stores by columns, to which the row-major A, B and C are their transposes: C' = B' A'. A
 * column-major B is none, and is transposed by its flag. */
static cudaError_t run16(const spmm_plan *plan, const void *B, void *C, cudaStream_t stream)
{
    static const float one = 1, zero = 0;
    const cublas_contender *self = (const cublas_contender *)plan->contender;
    const cublas_state *s = plan->state;
    const int rows = plan->A.rows, cols = plan->A.cols, N = plan->N;
    const cudaDataType type = self->type;
    const bool columns = dense_wants_columns(plan);
    CUBLAS_TRY(cublasSetStream(s->handle, stream));
    CUBLAS_TRY(cublasGemmEx(s->handle, columns ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, N, rows,
                            cols, &one, columns ? s->d_B : B, type, columns ? cols : N, s->d_A,
                            type, cols, &zero, C, type, N, self->compute, CUBLAS_GEMM_DEFAULT));
    return cudaSuccess;
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    return run16(plan, B, C, stream);
}

#define PRODUCT(title, again, kind, where, data_type, compute_type, factor, capability) \
    {                                                                                   \
        .spmm = {.base = {.name = title " (dense)",                                     \
                          .precision = PRECISION_##kind,                                \
                          .min_compute_capability = capability,                         \
                          .unit = UNIT_##where,                                         \
                          .dense = true,                                                \
                          .bound_factor = factor,                                       \
                          .unsuited = dense_unsuited},                                  \
                 .prepare = prepare,                                                    \
                 .rebind = again,                                                       \
                 .run = run,                                                            \
                 .run16 = run16,                                                        \
                 .release = release},                                                   \
        .type = data_type, .compute = compute_type                                      \
    }

/* Products with a row-major B, and with a column-major one. */
#define PRODUCTS(title, ...) \
    PRODUCT(title, NULL, __VA_ARGS__), PRODUCT(title DENSE_COLUMNS, rebind, __VA_ARGS__)

/* COMPUTE_32F leaves the tensor cores alone in fp32; if it did not, the error bound would show it. tf32
 * keeps 11 of the 24 significant bits of each operand, cut or rounded: a product is off by up to
 * 2 * 2^-10 of itself, which 2^-11 (n + 4) sum |a||b| covers, 2^13 times the bound of fp32. */
static cublas_contender products[] = {
    PRODUCTS("cuBLAS SGEMM", FP32, CUDA_CORES, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1, 0),
    PRODUCTS("cuBLAS SGEMM TF32", FP32, TENSOR_CORES, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32,
             0x1p13, 80),
    PRODUCTS("cuBLAS GemmEx", FP16, TENSOR_CORES, CUDA_R_16F, CUBLAS_COMPUTE_32F, FP16_SUMS_ROUNDED,
             0),
    PRODUCTS("cuBLAS GemmEx", BF16, TENSOR_CORES, CUDA_R_16BF, CUBLAS_COMPUTE_32F,
             BF16_SUMS_ROUNDED, 80),
};

__attribute__((constructor)) static void register_cublas(void)
{
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        contender_register(&products[i].spmm.base, &spmm_operation);
}
