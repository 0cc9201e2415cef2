/*
 * cublas.c - the dense product of NVIDIA's cuBLAS beside the sparse ones: what A's zeros cost, and at
 * which sparsity leaving them out begins to pay.
 *
 * prepare stores A with its zeros; run is cublasGemmEx alone, on all of them. GFLOP/s count the
 * nonzeros only, as for every contender, so that rates compare as times do.
 * Source: the cuBLAS documentation of cublasGemmEx, CUDA 12 and 13.
 */
#include "baselines/dense.h"
#include "device/cuda_try.h"

#include <cublas_v2.h>
#include <stdlib.h>

/* Of A with its zeros: the largest of the recurrent layers, 32768 x 8192, takes half of it. */
#define MOST_BYTES 0x1p31

typedef struct cublas_contender {
    spmm_contender spmm;
    cublasComputeType_t compute;
} cublas_contender;

typedef struct cublas_state {
    cublasHandle_t handle;
    float *d_A; /* rows x cols, row-major */
} cublas_state;

static cudaError_t as_cuda_error(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return cudaSuccess;
    case CUBLAS_STATUS_ALLOC_FAILED:
        return cudaErrorMemoryAllocation;
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return cudaErrorNotSupported;
    default:
        return cudaErrorUnknown;
    }
}

#define CUBLAS_TRY(call) CUDA_TRY(as_cuda_error(call))

/* B holds NaN and infinities where A's column is empty (ops/spmm.c). A sparse product never reads
 * them; a dense one multiplies them by zero, which gives NaN. */
static const char *unsuited(const problem *p)
{
    const csr_matrix *A = p->A;
    if ((double)A->rows * (double)A->cols * sizeof(float) > MOST_BYTES)
        return "too large to store densely (more than 2 GiB)";
    if (A->nnz == 0 || p->has_empty_column)
        return "A has empty columns, and B no numbers in their rows: a dense product would read "
               "them";
    return NULL;
}

static void release(spmm_plan *plan)
{
    cublas_state *s = plan->state;
    if (!s) return;
    if (s->handle) cublasDestroy(s->handle);
    cudaFree(s->d_A);
    free(s);
    plan->state = NULL;
}

static cudaError_t fill_state(const spmm_matrix *A, cublas_state *s)
{
    CUBLAS_TRY(cublasCreate(&s->handle));
    CUDA_TRY(cudaMalloc((void **)&s->d_A, (size_t)A->rows * A->cols * sizeof *s->d_A));
    CUDA_TRY(dense_from_csr(A, s->d_A));
    return cudaSuccess;
}

static cudaError_t prepare(spmm_plan *plan)
{
    plan->state = calloc(1, sizeof(cublas_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    cudaError_t error = fill_state(&plan->A, plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

/* cuBLAS stores by columns, to which the row-major A, B and C are their transposes: C' = B' A'. */
static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    static const float one = 1, zero = 0;
    const cublas_contender *self = (const cublas_contender *)plan->contender;
    const cublas_state *s = plan->state;
    const int rows = plan->A.rows, cols = plan->A.cols, N = plan->N;
    CUBLAS_TRY(cublasSetStream(s->handle, stream));
    CUBLAS_TRY(cublasGemmEx(s->handle, CUBLAS_OP_N, CUBLAS_OP_N, N, rows, cols, &one, B, CUDA_R_32F,
                            N, s->d_A, CUDA_R_32F, cols, &zero, C, CUDA_R_32F, N, self->compute,
                            CUBLAS_GEMM_DEFAULT));
    return cudaSuccess;
}

#define PRODUCT(title, compute_type, factor, capability)        \
    {                                                           \
        .spmm = {.base = {.name = title,                        \
                          .min_compute_capability = capability, \
                          .dense = true,                        \
                          .bound_factor = factor,               \
                          .unsuited = unsuited},                \
                 .prepare = prepare,                            \
                 .run = run,                                    \
                 .release = release},                           \
        .compute = compute_type                                 \
    }

/* COMPUTE_32F leaves the tensor cores alone; if it did not, the error bound of fp32 would show it.
 * tf32 keeps 11 of the 24 significant bits of each operand, cut or rounded: a product is off by up to
 * 2 * 2^-10 of itself, which 2^-11 (n + 4) sum |a||b| covers, 2^13 times the bound of fp32. */
static cublas_contender products[] = {
    PRODUCT("cuBLAS SGEMM (dense)", CUBLAS_COMPUTE_32F, 1, 0),
    PRODUCT("cuBLAS SGEMM TF32 (dense)", CUBLAS_COMPUTE_32F_FAST_TF32, 0x1p13, 80),
};

__attribute__((constructor)) static void register_cublas(void)
{
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        contender_register(&products[i].spmm.base, &spmm_operation);
}
