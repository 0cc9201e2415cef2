/*
 * cublas_sddmm.c - the dense product of NVIDIA's cuBLAS beside the sampled ones: all of X * Y^T, of
 * which a small kernel picks the elements that the pattern names. It shows at which density forming
 * every element begins to pay.
 *
 * run is cublasGemmEx and that kernel. GFLOP/s count the nonzeros only, as for every contender, so
 * that rates compare as times do.
 * Source: the cuBLAS documentation of cublasGemmEx, CUDA 12 and 13.
 */
#include "baselines/cublas_status.h"
#include "baselines/sampled.h"
#include "baselines/sums_rounded.h"

#include <stdlib.h>

/* Limit of the dense product: 8192 x 8192 in fp32 takes a sixteenth of it, ddi a sixtieth. */
static const double MOST_BYTES = 0x1p32;

typedef struct cublas_contender {
    sddmm_contender sddmm;
    cudaDataType type;
    cublasComputeType_t compute;
} cublas_contender;

typedef struct cublas_state {
    cublasHandle_t handle;
    void *d_product; /* rows x cols, row-major, of the contender's precision */
} cublas_state;

static void release(sddmm_plan *plan)
{
    cublas_state *s = plan->state;
    if (!s) return;
    if (s->handle) cublasDestroy(s->handle);
    cudaFree(s->d_product);
    free(s);
    plan->state = NULL;
}

static cudaError_t fill_state(const sddmm_plan *plan, cublas_state *s)
{
    const size_t element = precision_format(plan->contender->base.precision)->bytes;
    CUBLAS_TRY(cublasCreate(&s->handle));
    CUDA_TRY(cudaMalloc(&s->d_product, (size_t)plan->W.rows * plan->W.cols * element));
    return cudaSuccess;
}

static cudaError_t prepare(sddmm_plan *plan)
{
    plan->state = calloc(1, sizeof(cublas_state));
    if (!plan->state) return cudaErrorMemoryAllocation;
    const cudaError_t error = fill_state(plan, plan->state);
    if (error != cudaSuccess) release(plan);
    return error;
}

/* cuBLAS stores by columns, to which row-major matrices are their transposes: P' = Y X'. Rows of X
 * and Y without numbers spoil rows and columns of the product that the pattern never names. */
static cudaError_t run16(const sddmm_plan *plan, const void *X, const void *Y, void *D,
                         cudaStream_t stream)
{
    static const float one = 1, zero = 0;
    const cublas_contender *self = (const cublas_contender *)plan->contender;
    const cublas_state *s = plan->state;
    const int rows = plan->W.rows, cols = plan->W.cols, K = plan->K;
    CUBLAS_TRY(cublasSetStream(s->handle, stream));
    CUBLAS_TRY(cublasGemmEx(s->handle, CUBLAS_OP_T, CUBLAS_OP_N, cols, rows, K, &one, Y, self->type,
                            K, X, self->type, K, &zero, s->d_product, self->type, cols,
                            self->compute, CUBLAS_GEMM_DEFAULT));
    CUDA_TRY(sampled_pick(plan, s->d_product, D, stream));
    return cudaSuccess;
}

static cudaError_t run(const sddmm_plan *plan, const float *X, const float *Y, float *D,
                       cudaStream_t stream)
{
    return run16(plan, X, Y, D, stream);
}

static const char *unsuited(const problem *p)
{
    size_t room, total;
    const double element = (double)precision_format(p->precision)->bytes;
    const double bytes = (double)p->A->rows * (double)p->A->cols * element;
    if (p->A->nnz == 0) return "the pattern is empty";
    if (bytes > MOST_BYTES) return "the dense product is too large (more than 4 GiB)";
    if (cudaMemGetInfo(&room, &total) != cudaSuccess || bytes > (double)room / 4)
        return "the dense product would take more than a quarter of the free device memory";
    return NULL;
}

#define PRODUCT(title, kind, where, data_type, compute_type, factor, capability) \
    {                                                                            \
        .sddmm = {.base = {.name = title,                                        \
                           .precision = PRECISION_##kind,                        \
                           .min_compute_capability = capability,                 \
                           .unit = UNIT_##where,                                 \
                           .dense = true,                                        \
                           .bound_factor = factor,                               \
                           .unsuited = unsuited},                                \
                  .prepare = prepare,                                            \
                  .run = run,                                                    \
                  .run16 = run16,                                                \
                  .release = release},                                           \
        .type = data_type, .compute = compute_type                               \
    }

/* COMPUTE_32F leaves the tensor cores alone in fp32; if it did not, the error bound would show it.
 * tf32 is off by up to 2 * 2^-10 of each product: 2^13 times the bound covers that, as in
 * cublas.c. */
static cublas_contender products[] = {
    PRODUCT("cuBLAS SGEMM + sampling (dense)", FP32, CUDA_CORES, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1,
            0),
    PRODUCT("cuBLAS SGEMM TF32 + sampling (dense)", FP32, TENSOR_CORES, CUDA_R_32F,
            CUBLAS_COMPUTE_32F_FAST_TF32, 0x1p13, 80),
    PRODUCT("cuBLAS GemmEx + sampling (dense)", FP16, TENSOR_CORES, CUDA_R_16F, CUBLAS_COMPUTE_32F,
            FP16_SUMS_ROUNDED, 0),
    PRODUCT("cuBLAS GemmEx + sampling (dense)", BF16, TENSOR_CORES, CUDA_R_16BF, CUBLAS_COMPUTE_32F,
            BF16_SUMS_ROUNDED, 80),
};

__attribute__((constructor)) static void register_cublas_sddmm(void)
{
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        contender_register(&products[i].sddmm.base, &sddmm_operation);
}
