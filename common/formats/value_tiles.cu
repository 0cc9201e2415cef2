/*
 * value_tiles.cu - two stable sorts: by place, then by tile.
 */
#include "formats/value_tiles.h"

#include "device/exec_space.cuh"

struct find_tile {
    int length;
    int *tile;

    __device__ void operator()(int64_t z) const { tile[z] = (int)(z / length); }
};

struct describe_values {
    int length;
    const int *to, *order;
    int *sorted_to;
    uint16_t *at;

    __device__ void operator()(int64_t i) const
    {
        sorted_to[i] = to[order[i]];
        at[i] = (uint16_t)(order[i] % length);
    }
};

static cudaError_t fill(const int *d_to, int count, int *d_tile, int *d_order, value_tiles *t)
{
    CUDA_TRY(device_identity(d_order, count, 0));
    CUDA_TRY(device_argsort(d_to, INT32_MAX, d_order, count, 0));
    CUDA_TRY(device_parallel_for(count, find_tile{t->length, d_tile}, 0));
    CUDA_TRY(device_argsort(d_tile, t->count - 1, d_order, count, 0));
    CUDA_TRY(
        device_parallel_for(count, describe_values{t->length, d_to, d_order, t->d_to, t->d_at}, 0));
    return cudaDeviceSynchronize();
}

cudaError_t value_tiles_build(const int *d_to, int count, int length, value_tiles *t)
{
    int *d_tile = NULL, *d_order = NULL;
    cudaError_t error;
    *t = {};
    if (count == 0) return cudaSuccess;
    t->count = (count - 1) / length + 1;
    t->length = length;
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &t->d_to, count));
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &t->d_at, count));
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &d_tile, count));
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &d_order, count));
    CUDA_TRY_GOTO(error, done, fill(d_to, count, d_tile, d_order, t));
done:
    cudaFree(d_tile);
    cudaFree(d_order);
    if (error != cudaSuccess) value_tiles_free(t);
    return error;
}

void value_tiles_free(value_tiles *t)
{
    cudaFree(t->d_to);
    cudaFree(t->d_at);
    *t = {};
}
