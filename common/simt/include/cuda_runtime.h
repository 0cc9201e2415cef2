/*
 * cuda_runtime.h - CUDA C++ for an ordinary C++ compiler: the runtime's interface and, in C++, the
 * device language. nvcc includes its file of this name before every .cu; the build does the same
 * for the CPU backend (g++ -include cuda_runtime.h).
 */
#ifndef SIMT_CUDA_RUNTIME_H
#define SIMT_CUDA_RUNTIME_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus

/* Headers that a .cu may use without including them. */
#include <assert.h>
#include <initializer_list>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utility>

#include "simt/arithmetic.h"
#include "simt/atomics.h"
#include "simt/base.h"
#include "simt/launch.h"
#include "simt/memory.h"
#include "simt/tensor.h"
#include "simt/vector_types.h"
#include "simt/warp.h"

/* ---- the runtime's C++ overloads ----------------------------------------------------------- */

template <class T> SIMT_INLINE cudaError_t cudaMalloc(T **pointer, size_t bytes)
{
    return cudaMalloc((void **)pointer, bytes);
}
template <class T> SIMT_INLINE cudaError_t cudaMallocHost(T **pointer, size_t bytes)
{
    return cudaMallocHost((void **)pointer, bytes);
}
template <class T>
SIMT_INLINE cudaError_t cudaFuncSetAttribute(T *kernel, enum cudaFuncAttribute attribute, int value)
{
    return cudaFuncSetAttribute((const void *)kernel, attribute, value);
}
template <class T>
SIMT_INLINE cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, T *kernel)
{
    return cudaFuncGetAttributes(attributes, (const void *)kernel);
}
template <class T>
SIMT_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T *kernel,
                                                                      int block_threads,
                                                                      size_t dynamic_shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)kernel,
                                                         block_threads, dynamic_shared_bytes);
}

/* A __device__ or __constant__ variable is an ordinary one. */
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes,
                                           size_t offset = 0,
                                           enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    if (offset > sizeof symbol || bytes > sizeof symbol - offset) return cudaErrorInvalidValue;
    return cudaMemcpy((char *)&symbol + offset, from, bytes, kind);
}
template <class T>
SIMT_INLINE cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes,
                                             size_t offset = 0,
                                             enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    if (offset > sizeof symbol || bytes > sizeof symbol - offset) return cudaErrorInvalidValue;
    return cudaMemcpy(to, (const char *)&symbol + offset, bytes, kind);
}
template <class T> SIMT_INLINE cudaError_t cudaGetSymbolAddress(void **pointer, T &symbol)
{
    *pointer = (void *)&symbol;
    return cudaSuccess;
}
template <class T> SIMT_INLINE cudaError_t cudaGetSymbolSize(size_t *bytes, T &symbol)
{
    *bytes = sizeof symbol;
    return cudaSuccess;
}

#endif
#endif
