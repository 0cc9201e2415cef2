/*
 * primitives.h - what the tests in this folder share.
 *
 * Each .cu here checks one group of CUDA primitives against its definition in the CUDA C++
 * Programming Guide or the PTX ISA. The definition is written out on the host. They run on the CPU
 * backend and, as they are, on a GPU: there they check our reading of the definitions.
 */
#ifndef TESTS_PRIMITIVES_H
#define TESTS_PRIMITIVES_H

#include "tests/tap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A call that must succeed for the test to make sense. */
#define CUDA(call)                                                         \
    do {                                                                   \
        cudaError_t error_ = (call);                                       \
        if (error_ != cudaSuccess) {                                       \
            printf("Bail out! %s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(error_));                            \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

/* After a launch. */
#define FINISH()                       \
    do {                               \
        CUDA(cudaGetLastError());      \
        CUDA(cudaDeviceSynchronize()); \
    } while (0)

template <class T> static T *device_zeros(size_t count)
{
    T *d;
    CUDA(cudaMalloc(&d, count * sizeof(T)));
    CUDA(cudaMemset(d, 0, count * sizeof(T)));
    return d;
}

template <class T> static T *to_device(const T *host, size_t count)
{
    T *d;
    CUDA(cudaMalloc(&d, count * sizeof(T)));
    CUDA(cudaMemcpy(d, host, count * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}

/* Copies back and frees. */
template <class T> static void to_host(T *host, T *device, size_t count)
{
    CUDA(cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost));
    CUDA(cudaFree(device));
}

static inline int compute_capability(void)
{
    int major, minor;
    CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    return 10 * major + minor;
}

/* Reproducible numbers: splitmix64. */
static inline uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif
