/*
 * cublas_peak.h - the rate of cuBLAS's dense products: a peak of the tensor cores.
 */
#ifndef BASELINES_CUBLAS_PEAK_H
#define BASELINES_CUBLAS_PEAK_H

#include "ops/precision.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Measures the highest rate, in GFLOP/s, of five products on tensor cores. Each multiplies two square
 * matrices of 8192 rows, in fp16, bf16 or (of fp32 operands) tf32. Sums are formed in fp32. The operands
 * are zero, which draws the least power, so that the clock stays up. Takes up to 768 MB of device memory
 * and frees it. cudaErrorNotSupported where the device has no such units. */
cudaError_t cublas_tensor_gflops(enum precision precision, double *gflops);

#ifdef __cplusplus
}
#endif
#endif
