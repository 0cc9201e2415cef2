/*
 * cublas_lt_layer.c - lt_layer.h by cuBLASLt's product with its epilogues.
 *
 * The library adds a bias to rows of its column-major result. Row-major C is one of ORDER_ROW, for which it may know no
 * such epilogue. Then C' = B' W' + bias', whose bias is a matrix of C's shape that is read once more, has its ReLU fused.
 * Source: the cuBLAS documentation of cublasLtEpilogue_t, CUDA 12 and 13.
 */
#include "baselines/lt_layer.h"
#include "baselines/lt_product.h"
#include "device/cuda_try.h"

#include <stdlib.h>

struct lt_layer {
    lt_layer_shape shape;
    lt_product *product;
    void *d_bias; /* rows x N; NULL: by rows, bias in the epilogue */
};

static size_t element(const lt_layer *l)
{
    return l->shape.type == CUDA_R_16F ? 2 : 4;
}

void lt_layer_destroy(lt_layer *l)
{
    if (!l) return;
    lt_product_destroy(l->product);
    cudaFree(l->d_bias);
    free(l);
}

cudaError_t lt_layer_run(const lt_layer *l, const void *B, void *C, cudaStream_t stream)
{
    const void *const W = l->shape.d_W;
    return l->d_bias ? lt_product_run(l->product, B, W, l->d_bias, C, stream)
                     : lt_product_run(l->product, W, B, NULL, C, stream);
}

const char *lt_layer_epilogue(const lt_layer *l)
{
    return l->d_bias ? "bias as a matrix" : "bias in the epilogue";
}

/* The fastest algorithm of a product, if there is one. */
static cudaError_t make_product(lt_layer *l, const lt_gemm *gemm)
{
    int place = 0;
    CUDA_TRY(lt_product_create(gemm, &l->product));
    const cudaError_t error = lt_product_choose(l->product, false, &place);
    if (error == cudaSuccess) return cudaSuccess;
    lt_product_destroy(l->product);
    l->product = NULL;
    return error;
}

static cudaError_t make_by_rows(lt_layer *l)
{
    const lt_layer_shape *s = &l->shape;
    const lt_gemm gemm = {.m = s->rows,
                          .n = s->N,
                          .k = s->cols,
                          .by_rows = true,
                          .type = s->type,
                          .compute = s->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                          .alpha = 1,
                          .epilogue =
                              s->relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS,
                          .d_bias = s->d_bias};
    return make_product(l, &gemm);
}

/* Writes the bias of each row into all its columns. A row doubles what it has until it is full. */
static cudaError_t spread_bias(lt_layer *l)
{
    const lt_layer_shape *s = &l->shape;
    const size_t bytes = element(l), pitch = s->N * bytes;
    CUDA_TRY(cudaMalloc(&l->d_bias, s->rows * pitch));
    char *const to = l->d_bias;
    CUDA_TRY(cudaMemcpy2D(to, pitch, s->d_bias, bytes, bytes, s->rows, cudaMemcpyDeviceToDevice));
    for (size_t done = bytes; done < pitch; done *= 2) {
        const size_t next = done < pitch - done ? done : pitch - done;
        CUDA_TRY(
            cudaMemcpy2D(to + done, pitch, to, pitch, next, s->rows, cudaMemcpyDeviceToDevice));
    }
    return cudaSuccess;
}

static cudaError_t make_transposed(lt_layer *l)
{
    const lt_layer_shape *s = &l->shape;
    const lt_gemm gemm = {.m = s->N,
                          .n = s->rows,
                          .k = s->cols,
                          .type = s->type,
                          .compute = s->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                          .alpha = 1,
                          .beta = 1,
                          .epilogue = s->relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT};
    CUDA_TRY(spread_bias(l));
    return make_product(l, &gemm);
}

cudaError_t lt_layer_create(const lt_layer_shape *shape, lt_layer **layer)
{
    *layer = NULL;
    lt_layer *made = calloc(1, sizeof *made);
    if (!made) return cudaErrorMemoryAllocation;
    made->shape = *shape;
    cudaError_t error = make_by_rows(made);
    if (error != cudaSuccess) error = make_transposed(made);
    if (error == cudaSuccess)
        *layer = made;
    else
        lt_layer_destroy(made);
    return error;
}
