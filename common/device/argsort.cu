/*
 * argsort.cu - a stable radix sort, 8 bits a pass, from the lowest digit to the highest.
 *
 * A pass is three kernels: every warp counts the digits in its own tile of places; a scan over
 * the counts, all tiles of digit 0 first, then all tiles of digit 1, ... says where each tile's
 * items of each digit go; and every warp moves its tile there, 32 places at a time and in order,
 * which is what makes the sort stable. (Satish, Harris, Garland: Designing Efficient Sorting
 * Algorithms for Manycore GPUs, 2009.)
 */
#include "device/argsort.h"

#include "device/cuda_try.h"
#include "device/scan.h"
#include "device/warp.cuh"

constexpr int DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS;
constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;

/* Places of a warp. A warp walks through its tile, so small arrays have small tiles, which fill the device; in large
 * ones counts would outweigh items. */
static int places_of(int count)
{
    return count <= 1 << 18 ? 128 : 1024;
}

static __device__ int digit_of(const int *key, int item, int shift)
{
    return key[item] >> shift & (DIGITS - 1);
}

/* count[digit * tiles + tile]: how many items of the tile have the digit. */
static __global__ void count_digits_kernel(const int *__restrict__ key,
                                           const int *__restrict__ order, int count, int shift,
                                           int places, int tiles, int *digit_count)
{
    __shared__ int mine[WARPS][DIGITS];
    const int warp = warp_id(), tile = blockIdx.x * WARPS + warp;
    if (tile >= tiles) return;
    for (int d = lane_id(); d < DIGITS; d += WARP_SIZE)
        mine[warp][d] = 0;
    __syncwarp();
    for (int i = tile * places + lane_id(); i < min(count, (tile + 1) * places); i += WARP_SIZE)
        atomicAdd(&mine[warp][digit_of(key, order[i], shift)], 1);
    __syncwarp();
    for (int d = lane_id(); d < DIGITS; d += WARP_SIZE)
        digit_count[d * tiles + tile] = mine[warp][d];
}

/* place[digit * tiles + tile]: where the tile's first item of the digit goes. */
static __global__ void move_kernel(const int *__restrict__ key, const int *__restrict__ order,
                                   int count, int shift, int places, int tiles,
                                   const int *__restrict__ place, int *moved)
{
    __shared__ int next[WARPS][DIGITS]; /* where the next item of each digit goes */
    const int warp = warp_id(), tile = blockIdx.x * WARPS + warp;
    if (tile >= tiles) return;
    for (int d = lane_id(); d < DIGITS; d += WARP_SIZE)
        next[warp][d] = place[d * tiles + tile];
    __syncwarp();
    for (int first = tile * places; first < min(count, (tile + 1) * places); first += WARP_SIZE) {
        const int i = first + lane_id();
        const int item = i < count ? order[i] : 0;
        const int digit = i < count ? digit_of(key, item, shift) : DIGITS; /* of no item */
        const unsigned alike = __match_any_sync(FULL_MASK, digit);
        const unsigned before = alike & ((1u << lane_id()) - 1);
        int to = 0;
        if (i < count) to = next[warp][digit] + __popc(before);
        __syncwarp(); /* all have read `next` before one lane of each digit moves it on */
        if (i < count) {
            moved[to] = item;
            if (before == 0) next[warp][digit] += __popc(alike);
        }
        __syncwarp();
    }
}

static __global__ void identity_kernel(int *order, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) order[i] = i;
}

cudaError_t device_identity(int *d_order, int count, cudaStream_t stream)
{
    if (count <= 0) return cudaSuccess;
    identity_kernel<<<(count - 1) / BLOCK + 1, BLOCK, 0, stream>>>(d_order, count);
    return cudaGetLastError();
}

static int tiles_of(int count)
{
    return count <= 1 ? 0 : (count - 1) / places_of(count) + 1;
}

/* The counts of all tiles, what their scan needs, and a second order. */
size_t device_argsort_workspace(int count)
{
    const int counts = DIGITS * tiles_of(count);
    return (size_t)counts + device_scan_workspace(counts) + (size_t)count;
}

cudaError_t device_argsort_in(int *d_workspace, const int *d_key, int largest_key, int *d_order,
                              int count, cudaStream_t stream)
{
    if (count <= 1) return cudaSuccess;
    const int tiles = tiles_of(count), blocks = (tiles - 1) / WARPS + 1, counts = DIGITS * tiles;
    int *const d_place = d_workspace, *const d_moved = d_place + counts,
               *const d_of_scan = d_moved + count;
    for (int shift = 0; shift < 31 && largest_key >> shift; shift += DIGIT_BITS) {
        count_digits_kernel<<<blocks, BLOCK, 0, stream>>>(d_key, d_order, count, shift,
                                                          places_of(count), tiles, d_place);
        CUDA_TRY(cudaGetLastError());
        CUDA_TRY(device_exclusive_scan_in(d_of_scan, d_place, counts, stream));
        move_kernel<<<blocks, BLOCK, 0, stream>>>(d_key, d_order, count, shift, places_of(count),
                                                  tiles, d_place, d_moved);
        CUDA_TRY(cudaGetLastError());
        CUDA_TRY(cudaMemcpyAsync(d_order, d_moved, (size_t)count * sizeof(int),
                                 cudaMemcpyDeviceToDevice, stream));
    }
    return cudaSuccess;
}

cudaError_t device_argsort(const int *d_key, int largest_key, int *d_order, int count,
                           cudaStream_t stream)
{
    if (count <= 1) return cudaSuccess;
    int *d_workspace = NULL;
    CUDA_TRY(cudaMalloc((void **)&d_workspace, device_argsort_workspace(count) * sizeof(int)));
    cudaError_t error = device_argsort_in(d_workspace, d_key, largest_key, d_order, count, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream); /* before the workspace goes */
    cudaFree(d_workspace);
    return error;
}
