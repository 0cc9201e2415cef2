#include "baselines/lt_product.h"

#include "baselines/cublas_status.h"

#include <math.h>
#include <stdlib.h>

enum { TRIES = 4, WORKSPACE_BYTES = 32 << 20 };

struct lt_product {
    lt_gemm gemm;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t what;
    cublasLtMatrixLayout_t A, B, D; /* C is as D */
    cublasLtMatmulHeuristicResult_t list[LT_LISTED];
    int listed;
    cublasLtMatmulAlgo_t algorithm; /* the one that is used */
    void *d_workspace;
};

void lt_product_destroy(lt_product *p)
{
    if (!p) return;
    if (p->A) cublasLtMatrixLayoutDestroy(p->A);
    if (p->B) cublasLtMatrixLayoutDestroy(p->B);
    if (p->D) cublasLtMatrixLayoutDestroy(p->D);
    if (p->what) cublasLtMatmulDescDestroy(p->what);
    if (p->handle) cublasLtDestroy(p->handle);
    cudaFree(p->d_workspace);
    free(p);
}

static cudaError_t multiply(const lt_product *p, const cublasLtMatmulAlgo_t *algorithm,
                            const void *A, const void *B, const void *C, void *D,
                            cudaStream_t stream)
{
    CUBLAS_TRY(cublasLtMatmul(p->handle, p->what, &p->gemm.alpha, A, p->A, B, p->B, &p->gemm.beta,
                              C ? C : D, p->D, D, p->D, algorithm, p->d_workspace, WORKSPACE_BYTES,
                              stream));
    return cudaSuccess;
}

cudaError_t lt_product_run(const lt_product *p, const void *A, const void *B, const void *C,
                           void *D, cudaStream_t stream)
{
    return multiply(p, &p->algorithm, A, B, C, D, stream);
}

/* ---- the list ---------------------------------------------------------------------------------- */

static cudaError_t set(lt_product *p, cublasLtMatmulDescAttributes_t attribute, const void *value,
                       size_t bytes)
{
    return cublas_as_cuda_error(cublasLtMatmulDescSetAttribute(p->what, attribute, value, bytes));
}

static cudaError_t make_layout(const lt_gemm *g, bool transposed, int rows, int cols,
                               cublasLtMatrixLayout_t *layout)
{
    const int32_t order = CUBLASLT_ORDER_ROW;
    const int stored_rows = transposed ? cols : rows, stored_cols = transposed ? rows : cols;
    CUBLAS_TRY(cublasLtMatrixLayoutCreate(layout, g->type, stored_rows, stored_cols,
                                          g->by_rows ? stored_cols : stored_rows));
    if (g->by_rows)
        CUBLAS_TRY(cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order,
                                                    sizeof order));
    return cudaSuccess;
}

static cudaError_t describe(lt_product *p)
{
    const lt_gemm *g = &p->gemm;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    CUBLAS_TRY(cublasLtCreate(&p->handle));
    CUBLAS_TRY(cublasLtMatmulDescCreate(&p->what, g->compute, CUDA_R_32F));
    if (g->transpose_A)
        CUDA_TRY(set(p, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    if (g->transpose_B)
        CUDA_TRY(set(p, CUBLASLT_MATMUL_DESC_TRANSB, &transposed, sizeof transposed));
    if (g->epilogue)
        CUDA_TRY(set(p, CUBLASLT_MATMUL_DESC_EPILOGUE, &g->epilogue, sizeof g->epilogue));
    if (g->d_bias)
        CUDA_TRY(set(p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &g->d_bias, sizeof g->d_bias));
    CUDA_TRY(make_layout(g, g->transpose_A, g->m, g->k, &p->A));
    CUDA_TRY(make_layout(g, g->transpose_B, g->k, g->n, &p->B));
    return make_layout(g, false, g->m, g->n, &p->D);
}

static cudaError_t list_algorithms(lt_product *p)
{
    const size_t workspace = WORKSPACE_BYTES;
    cublasLtMatmulPreference_t preference = NULL;
    CUBLAS_TRY(cublasLtMatmulPreferenceCreate(&preference));
    cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasLtMatmulAlgoGetHeuristic(p->handle, p->what, p->A, p->B, p->D, p->D,
                                                preference, LT_LISTED, p->list, &p->listed);
    cublasLtMatmulPreferenceDestroy(preference);
    return status == CUBLAS_STATUS_SUCCESS && p->listed == 0 ? cudaErrorNotSupported
                                                             : cublas_as_cuda_error(status);
}

static cudaError_t fill(lt_product *p)
{
    CUDA_TRY(describe(p));
    CUDA_TRY(list_algorithms(p));
    return cudaMalloc(&p->d_workspace, WORKSPACE_BYTES);
}

cudaError_t lt_product_create(const lt_gemm *gemm, lt_product **product)
{
    lt_product *p = calloc(1, sizeof *p);
    *product = NULL;
    if (!p) return cudaErrorMemoryAllocation;
    p->gemm = *gemm;
    const cudaError_t error = fill(p);
    if (error == cudaSuccess)
        *product = p;
    else
        lt_product_destroy(p);
    return error;
}

/* ---- the fastest of it ------------------------------------------------------------------------- */

typedef struct trial {
    cudaEvent_t start, stop;
    void *d_A, *d_B, *d_D;
    void *d_flush; /* NULL: the cache stays as it is */
    size_t flush_bytes;
} trial;

static void trial_destroy(trial *t)
{
    if (t->start) cudaEventDestroy(t->start);
    if (t->stop) cudaEventDestroy(t->stop);
    cudaFree(t->d_A);
    cudaFree(t->d_B);
    cudaFree(t->d_D);
    cudaFree(t->d_flush);
}

static cudaError_t make_zeros(const lt_gemm *g, int rows, int cols, void **d_matrix)
{
    const size_t bytes = (size_t)rows * cols * (g->type == CUDA_R_32F ? 4 : 2);
    CUDA_TRY(cudaMalloc(d_matrix, bytes));
    return cudaMemset(*d_matrix, 0, bytes);
}

static cudaError_t trial_create(const lt_gemm *g, bool cold, trial *t)
{
    int device, l2_bytes;
    CUDA_TRY(cudaEventCreate(&t->start));
    CUDA_TRY(cudaEventCreate(&t->stop));
    CUDA_TRY(make_zeros(g, g->m, g->k, &t->d_A));
    CUDA_TRY(make_zeros(g, g->k, g->n, &t->d_B));
    CUDA_TRY(make_zeros(g, g->m, g->n, &t->d_D));
    if (!cold) return cudaSuccess;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device));
    t->flush_bytes = 2 * (size_t)l2_bytes + 1;
    return cudaMalloc(&t->d_flush, t->flush_bytes);
}

/* The least of TRIES runs, in ms. */
static cudaError_t time_algorithm(const lt_product *p, const cublasLtMatmulAlgo_t *algorithm,
                                  const trial *t, float *least)
{
    *least = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        float ms;
        if (t->d_flush) CUDA_TRY(cudaMemsetAsync(t->d_flush, 0, t->flush_bytes, 0));
        CUDA_TRY(cudaEventRecord(t->start, 0));
        CUDA_TRY(multiply(p, algorithm, t->d_A, t->d_B, NULL, t->d_D, 0));
        CUDA_TRY(cudaEventRecord(t->stop, 0));
        CUDA_TRY(cudaEventSynchronize(t->stop));
        CUDA_TRY(cudaEventElapsedTime(&ms, t->start, t->stop));
        *least = fminf(*least, ms);
    }
    return cudaSuccess;
}

/* An algorithm that does not run is passed over. */
static cudaError_t find_fastest(const lt_product *p, bool cold, int *place)
{
    float best = INFINITY, ms;
    trial t = {0};
    cudaError_t error = trial_create(&p->gemm, cold, &t);
    for (int i = 0; i < p->listed && error == cudaSuccess; i++) {
        if (time_algorithm(p, &p->list[i].algo, &t, &ms) != cudaSuccess || !(ms < best)) continue;
        *place = i + 1;
        best = ms;
    }
    (void)cudaGetLastError(); /* what a refused algorithm left behind */
    trial_destroy(&t);
    return error;
}

cudaError_t lt_product_choose(lt_product *p, bool cold, int *place)
{
    if (*place == 0) CUDA_TRY(find_fastest(p, cold, place));
    if (*place == 0 || *place > p->listed) return cudaErrorNotSupported;
    p->algorithm = p->list[*place - 1].algo;
    return cudaSuccess;
}
