/*
 * cusparse_status.h - cuSPARSE's status as one of the CUDA runtime, and its names of precisions.
 */
#ifndef BASELINES_CUSPARSE_STATUS_H
#define BASELINES_CUSPARSE_STATUS_H

#include "device/cuda_try.h"
#include "ops/precision.h"

#include <cusparse.h>

/* Says "not supported", a skip and no failure of ours, where the library cannot do this problem. */
static inline cudaError_t cusparse_as_cuda_error(cusparseStatus_t status)
{
    switch (status) {
    case CUSPARSE_STATUS_SUCCESS:
        return cudaSuccess;
    case CUSPARSE_STATUS_ALLOC_FAILED:
    case CUSPARSE_STATUS_INSUFFICIENT_RESOURCES:
        return cudaErrorMemoryAllocation;
    case CUSPARSE_STATUS_INVALID_VALUE:
    case CUSPARSE_STATUS_ARCH_MISMATCH:
    case CUSPARSE_STATUS_NOT_SUPPORTED:
        return cudaErrorNotSupported;
    default:
        return cudaErrorUnknown;
    }
}

#define CUSPARSE_TRY(call) CUDA_TRY(cusparse_as_cuda_error(call))

static inline cudaDataType cusparse_type(enum precision precision)
{
    switch (precision) {
    case PRECISION_FP16:
        return CUDA_R_16F;
    case PRECISION_BF16:
        return CUDA_R_16BF;
    default:
        return CUDA_R_32F;
    }
}

#endif
