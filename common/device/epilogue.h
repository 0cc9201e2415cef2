/*
 * epilogue.h - work on a product's result where it is stored: c = max(0, sum + bias of the row).
 *
 * A kernel that does it itself calls apply_epilogue (device/epilogue.cuh) on sums that are complete. Behind any other
 * product epilogue_run does it, which reads and writes the result once more.
 * Source: T. Gale et al., "Sparse GPU Kernels for Deep Learning", SC 2020: bias and ReLU of a 1 x 1 convolution.
 */
#ifndef DEVICE_EPILOGUE_H
#define DEVICE_EPILOGUE_H

#include <cuda_runtime_api.h>
#include <library_types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero: none. */
typedef struct row_epilogue {
    const float *
        d_bias; /* on the device, a number a row, in fp32 whatever the result's precision; NULL: 0. Borrowed */
    bool relu; /* negative results become 0; NaN stays */
} row_epilogue;

static inline bool epilogue_is_none(const row_epilogue *e)
{
    return !e->d_bias && !e->relu;
}

/* Applies it to C, rows x N, row-major, of CUDA_R_32F, CUDA_R_16F or CUDA_R_16BF, whose first element is aligned as
 * cudaMalloc aligns: enqueued on `stream`. In 16 bits every element is rounded once more. */
cudaError_t epilogue_run(const row_epilogue *e, cudaDataType type, int rows, int N, void *C,
                         cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
