/*
 * cublas_lt_layer.c - lt_layer.h by cublasLtMatmul with its epilogues.
 *
 * The library adds a bias to rows of its column-major result. Row-major C is one of ORDER_ROW, for which it may know no
 * such epilogue. Then C' = B' W' + bias', whose bias is a matrix of C's shape that is read once more, has its ReLU fused.
 * Source: the cuBLAS documentation of cublasLtMatmul and cublasLtEpilogue_t, CUDA 12 and 13.
 */
#include "baselines/cublas_status.h"
#include "baselines/lt_layer.h"

#include <cublasLt.h>
#include <math.h>
#include <stdlib.h>

enum { LISTED = 8, TRIES = 4, WORKSPACE_BYTES = 32 << 20 };

struct lt_layer {
    lt_layer_shape shape;
    bool by_rows; /* ORDER_ROW, bias in the epilogue */
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t W, B, C;
    cublasLtMatmulHeuristicResult_t list[LISTED];
    cublasLtMatmulAlgo_t algorithm; /* the fastest of the list */
    int listed;
    void *d_workspace;
    void *d_bias; /* rows x N; NULL: by_rows */
};

static size_t element(const lt_layer *l)
{
    return l->shape.type == CUDA_R_16F ? 2 : 4;
}

static void forget_layouts(lt_layer *l)
{
    if (l->W) cublasLtMatrixLayoutDestroy(l->W);
    if (l->B) cublasLtMatrixLayoutDestroy(l->B);
    if (l->C) cublasLtMatrixLayoutDestroy(l->C);
    if (l->product) cublasLtMatmulDescDestroy(l->product);
    l->W = l->B = l->C = NULL;
    l->product = NULL;
}

void lt_layer_destroy(lt_layer *l)
{
    if (!l) return;
    forget_layouts(l);
    if (l->handle) cublasLtDestroy(l->handle);
    cudaFree(l->d_workspace);
    cudaFree(l->d_bias);
    free(l);
}

static cudaError_t multiply(const lt_layer *l, const cublasLtMatmulAlgo_t *algorithm, const void *B,
                            void *C, cudaStream_t stream)
{
    const float one = 1, zero = 0;
    const void *const W = l->shape.d_W;
    CUBLAS_TRY(cublasLtMatmul(l->handle, l->product, &one, l->by_rows ? W : B,
                              l->by_rows ? l->W : l->B, l->by_rows ? B : W,
                              l->by_rows ? l->B : l->W, l->by_rows ? &zero : &one,
                              l->by_rows ? C : l->d_bias, l->C, C, l->C, algorithm, l->d_workspace,
                              WORKSPACE_BYTES, stream));
    return cudaSuccess;
}

cudaError_t lt_layer_run(const lt_layer *l, const void *B, void *C, cudaStream_t stream)
{
    return multiply(l, &l->algorithm, B, C, stream);
}

const char *lt_layer_epilogue(const lt_layer *l)
{
    return l->by_rows ? "bias in the epilogue" : "bias as a matrix";
}

/* ---- the product ------------------------------------------------------------------------------- */

/* A row-major matrix, or its transpose by columns, which has the same numbers in the same places. */
static cudaError_t make_layout(const lt_layer *l, int rows, int cols,
                               cublasLtMatrixLayout_t *layout)
{
    const int32_t order = CUBLASLT_ORDER_ROW;
    CUBLAS_TRY(cublasLtMatrixLayoutCreate(layout, l->shape.type, l->by_rows ? rows : cols,
                                          l->by_rows ? cols : rows, cols));
    if (l->by_rows)
        CUBLAS_TRY(cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order,
                                                    sizeof order));
    return cudaSuccess;
}

static cudaError_t describe(lt_layer *l)
{
    const lt_layer_shape *s = &l->shape;
    const cublasLtEpilogue_t epilogue =
        l->by_rows ? s->relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS
        : s->relu  ? CUBLASLT_EPILOGUE_RELU
                   : CUBLASLT_EPILOGUE_DEFAULT;
    CUBLAS_TRY(cublasLtMatmulDescCreate(
        &l->product, s->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CUBLAS_TRY(cublasLtMatmulDescSetAttribute(l->product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                              sizeof epilogue));
    if (l->by_rows)
        CUBLAS_TRY(cublasLtMatmulDescSetAttribute(l->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                  &s->d_bias, sizeof s->d_bias));
    CUDA_TRY(make_layout(l, s->rows, s->cols, &l->W));
    CUDA_TRY(make_layout(l, s->cols, s->N, &l->B));
    return make_layout(l, s->rows, s->N, &l->C);
}

static cudaError_t list_algorithms(lt_layer *l)
{
    const size_t workspace = WORKSPACE_BYTES;
    cublasLtMatmulPreference_t preference = NULL;
    CUBLAS_TRY(cublasLtMatmulPreferenceCreate(&preference));
    cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasLtMatmulAlgoGetHeuristic(l->handle, l->product, l->by_rows ? l->W : l->B,
                                                l->by_rows ? l->B : l->W, l->C, l->C, preference,
                                                LISTED, l->list, &l->listed);
    cublasLtMatmulPreferenceDestroy(preference);
    return status != CUBLAS_STATUS_SUCCESS || l->listed == 0 ? cudaErrorNotSupported : cudaSuccess;
}

/* Writes the bias of each row into all its columns. A row doubles what it has until it is full. */
static cudaError_t spread_bias(lt_layer *l)
{
    const lt_layer_shape *s = &l->shape;
    const size_t bytes = element(l), pitch = s->N * bytes;
    char *const to = l->d_bias;
    CUDA_TRY(cudaMemcpy2D(to, pitch, s->d_bias, bytes, bytes, s->rows, cudaMemcpyDeviceToDevice));
    for (size_t done = bytes; done < pitch; done *= 2) {
        const size_t next = done < pitch - done ? done : pitch - done;
        CUDA_TRY(
            cudaMemcpy2D(to + done, pitch, to, pitch, next, s->rows, cudaMemcpyDeviceToDevice));
    }
    return cudaSuccess;
}

/* ---- the fastest algorithm --------------------------------------------------------------------- */

typedef struct trial {
    cudaEvent_t start, stop;
    void *d_B, *d_C;
} trial;

static cudaError_t trial_create(const lt_layer *l, trial *t)
{
    const lt_layer_shape *s = &l->shape;
    const size_t of_B = (size_t)s->cols * s->N * element(l);
    CUDA_TRY(cudaEventCreate(&t->start));
    CUDA_TRY(cudaEventCreate(&t->stop));
    CUDA_TRY(cudaMalloc(&t->d_B, of_B));
    CUDA_TRY(cudaMemset(t->d_B, 0, of_B));
    return cudaMalloc(&t->d_C, (size_t)s->rows * s->N * element(l));
}

static void trial_destroy(trial *t)
{
    if (t->start) cudaEventDestroy(t->start);
    if (t->stop) cudaEventDestroy(t->stop);
    cudaFree(t->d_B);
    cudaFree(t->d_C);
}

/* The least of TRIES runs, in ms. */
static cudaError_t time_algorithm(const lt_layer *l, const cublasLtMatmulAlgo_t *algorithm,
                                  const trial *t, float *least)
{
    *least = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        float ms;
        CUDA_TRY(cudaEventRecord(t->start, 0));
        CUDA_TRY(multiply(l, algorithm, t->d_B, t->d_C, 0));
        CUDA_TRY(cudaEventRecord(t->stop, 0));
        CUDA_TRY(cudaEventSynchronize(t->stop));
        CUDA_TRY(cudaEventElapsedTime(&ms, t->start, t->stop));
        *least = fminf(*least, ms);
    }
    return cudaSuccess;
}

/* An algorithm that does not run is passed over. */
static cudaError_t choose(lt_layer *l)
{
    float best = INFINITY, ms;
    trial t = {0};
    cudaError_t error = trial_create(l, &t);
    for (int i = 0; i < l->listed && error == cudaSuccess; i++) {
        if (time_algorithm(l, &l->list[i].algo, &t, &ms) != cudaSuccess || !(ms < best)) continue;
        l->algorithm = l->list[i].algo;
        best = ms;
    }
    trial_destroy(&t);
    return error == cudaSuccess && isinf(best) ? cudaErrorNotSupported : error;
}

static cudaError_t fill(lt_layer *l)
{
    CUBLAS_TRY(cublasLtCreate(&l->handle));
    CUDA_TRY(cudaMalloc(&l->d_workspace, WORKSPACE_BYTES));
    l->by_rows = true;
    CUDA_TRY(describe(l));
    if (list_algorithms(l) == cudaSuccess && choose(l) == cudaSuccess) return cudaSuccess;
    (void)cudaGetLastError(); /* what a refused algorithm left behind */
    forget_layouts(l);
    l->by_rows = false;
    CUDA_TRY(describe(l));
    CUDA_TRY(list_algorithms(l));
    CUDA_TRY(cudaMalloc(&l->d_bias, (size_t)l->shape.rows * l->shape.N * element(l)));
    CUDA_TRY(spread_bias(l));
    return choose(l);
}

cudaError_t lt_layer_create(const lt_layer_shape *shape, lt_layer **layer)
{
    *layer = NULL;
    lt_layer *made = calloc(1, sizeof *made);
    if (!made) return cudaErrorMemoryAllocation;
    made->shape = *shape;
    const cudaError_t error = fill(made);
    if (error == cudaSuccess)
        *layer = made;
    else
        lt_layer_destroy(made);
    return error;
}
