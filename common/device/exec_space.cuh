/*
 * exec_space.cuh - where a plan is made: on the GPU, or on the host for comparison. The steps of a plan are
 * written once, as functions of an index; parallel_for() runs them over all indices in either space. Sums and
 * sorts are exact in integers, so both make the same plan to the bit.
 */
#ifndef DEVICE_EXEC_SPACE_CUH
#define DEVICE_EXEC_SPACE_CUH

#include "device/argsort.h"
#include "device/cuda_try.h"
#include "device/exec_space.h"
#include "device/parallel_for.cuh"
#include "device/scan.h"

#include <stdint.h>

/* f(0), f(1) ... f(count - 1), in any order: f may not read what another index writes. */
template <class F> static cudaError_t parallel_for(exec_space where, int64_t count, const F &f)
{
    if (where == ON_DEVICE) return device_parallel_for(count, f, 0);
    for (int64_t i = 0; i < count; i++)
        f(i);
    return cudaSuccess;
}

/* An array of the space's, all bytes `fill`; one element more than asked for, so that none is empty. */
cudaError_t space_allocate(exec_space where, void **array, size_t bytes, int fill);
void space_free(exec_space where, void *array);

template <class T>
static cudaError_t allocate(exec_space where, T **array, int64_t count, int fill = 0)
{
    return space_allocate(where, (void **)array, (size_t)(count + 1) * sizeof(T), fill);
}

cudaError_t space_fill(exec_space where, void *array, int fill, size_t bytes);

/* device_argsort, device_identity and device_exclusive_scan, or what they do, on the host. */
cudaError_t space_argsort(exec_space where, const int *key, int largest_key, int *order, int count);
cudaError_t space_identity(exec_space where, int *order, int count);
cudaError_t space_exclusive_scan(exec_space where, int *data, int count);

/* Copies from an array of the space to ordinary memory. */
cudaError_t space_fetch(exec_space where, void *to, const void *from, size_t bytes);

/* An array of a plan, and its size. */
struct array_ref {
    void **array;
    size_t bytes;
};

/* Moves what was made on the host to the GPU, all or nothing; *where says where the arrays are. */
cudaError_t space_publish(exec_space *where, const array_ref *arrays, int count);

#endif
