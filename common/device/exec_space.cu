/*
 * exec_space.cu - the few things that a plan needs beyond parallel_for(): memory, sort, scan and copies, on the GPU
 * or on the host.
 */
#include "device/exec_space.cuh"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <new>
#include <vector>

cudaError_t space_allocate(exec_space where, void **array, size_t bytes, int fill)
{
    *array = where == ON_HOST ? malloc(bytes) : NULL;
    if (where == ON_HOST && !*array) return cudaErrorMemoryAllocation;
    if (where == ON_DEVICE) CUDA_TRY(cudaMalloc(array, bytes));
    return space_fill(where, *array, fill, bytes);
}

cudaError_t space_fill(exec_space where, void *array, int fill, size_t bytes)
{
    if (where == ON_DEVICE) return cudaMemset(array, fill, bytes);
    memset(array, fill, bytes);
    return cudaSuccess;
}

void space_free(exec_space where, void *array)
{
    if (where == ON_HOST)
        free(array);
    else
        cudaFree(array);
}

cudaError_t space_argsort(exec_space where, const int *key, int largest_key, int *order, int count)
{
    if (where == ON_DEVICE) return device_argsort(key, largest_key, order, count, 0);
    try {
        std::stable_sort(order, order + count, [key](int a, int b) { return key[a] < key[b]; });
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

cudaError_t space_identity(exec_space where, int *order, int count)
{
    if (where == ON_DEVICE) return device_identity(order, count, 0);
    for (int i = 0; i < count; i++)
        order[i] = i;
    return cudaSuccess;
}

cudaError_t space_exclusive_scan(exec_space where, int *data, int count)
{
    if (where == ON_DEVICE) return device_exclusive_scan(data, count, 0);
    for (int i = 0, sum = 0; i < count; i++) {
        const int own = data[i];
        data[i] = sum;
        sum += own;
    }
    return cudaSuccess;
}

cudaError_t space_fetch(exec_space where, void *to, const void *from, size_t bytes)
{
    if (where == ON_DEVICE) return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost);
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t space_publish(exec_space *where, const array_ref *arrays, int count)
{
    constexpr int MOST = 16;
    void *d_copy[MOST] = {};
    cudaError_t error = cudaSuccess;
    if (*where == ON_DEVICE) return cudaSuccess;
    for (int i = 0; i < count; i++) {
        CUDA_TRY_GOTO(error, failed, cudaMalloc(&d_copy[i], arrays[i].bytes + 1));
        CUDA_TRY_GOTO(
            error, failed,
            cudaMemcpy(d_copy[i], *arrays[i].array, arrays[i].bytes, cudaMemcpyHostToDevice));
    }
    for (int i = 0; i < count; i++) {
        free(*arrays[i].array);
        *arrays[i].array = d_copy[i];
    }
    *where = ON_DEVICE;
    return cudaSuccess;
failed:
    for (int i = 0; i < count; i++)
        cudaFree(d_copy[i]);
    return error;
}
