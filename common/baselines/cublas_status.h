/*
 * cublas_status.h - cuBLAS's status as one of the CUDA runtime.
 */
#ifndef BASELINES_CUBLAS_STATUS_H
#define BASELINES_CUBLAS_STATUS_H

#include "device/cuda_try.h"

#include <cublas_v2.h>

static inline cudaError_t cublas_as_cuda_error(cublasStatus_t status)
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

#define CUBLAS_TRY(call) CUDA_TRY(cublas_as_cuda_error(call))

#endif
