/*
 * scan.cu - scan in three steps: every block scans its own 1024 elements and leaves its total; the
 * totals are scanned the same way; every block adds what came before it.
 */
#include "device/scan.h"

#include "device/cuda_try.h"
#include "device/warp.cuh"

constexpr int THREADS = 256, PER_THREAD = 4, PER_BLOCK = THREADS * PER_THREAD;

static __global__ void scan_block_kernel(int *data, int count, int *block_total)
{
    __shared__ int warp_total[THREADS / WARP_SIZE];
    const int first = blockIdx.x * PER_BLOCK + threadIdx.x * PER_THREAD;
    int item[PER_THREAD], own = 0;
    for (int i = 0; i < PER_THREAD; i++) {
        item[i] = first + i < count ? data[first + i] : 0;
        own += item[i];
    }
    const int inclusive = warp_inclusive_sum(own);
    if (lane_id() == WARP_SIZE - 1) warp_total[warp_id()] = inclusive;
    __syncthreads();
    int before = inclusive - own;
    for (int w = 0; w < warp_id(); w++)
        before += warp_total[w];
    for (int i = 0; i < PER_THREAD; i++) {
        if (first + i < count) data[first + i] = before;
        before += item[i];
    }
    if (threadIdx.x == THREADS - 1) block_total[blockIdx.x] = before;
}

static __global__ void add_offsets_kernel(int *data, int count, const int *block_offset)
{
    const int i = blockIdx.x * PER_BLOCK + threadIdx.x;
    for (int k = i; k < min(count, (int)(blockIdx.x + 1) * PER_BLOCK); k += THREADS)
        data[k] += block_offset[blockIdx.x];
}

static int blocks_of(int count)
{
    return (count - 1) / PER_BLOCK + 1;
}

size_t device_scan_workspace(int count)
{
    if (count <= 0) return 0;
    const int blocks = blocks_of(count);
    return blocks + (blocks > 1 ? device_scan_workspace(blocks) : 0);
}

cudaError_t device_exclusive_scan_in(int *d_workspace, int *d_data, int count, cudaStream_t stream)
{
    if (count <= 0) return cudaSuccess;
    const int blocks = blocks_of(count);
    int *const d_total = d_workspace;
    scan_block_kernel<<<blocks, THREADS, 0, stream>>>(d_data, count, d_total);
    CUDA_TRY(cudaGetLastError());
    if (blocks == 1) return cudaSuccess;
    CUDA_TRY(device_exclusive_scan_in(d_workspace + blocks, d_total, blocks, stream));
    add_offsets_kernel<<<blocks, THREADS, 0, stream>>>(d_data, count, d_total);
    return cudaGetLastError();
}

cudaError_t device_exclusive_scan(int *d_data, int count, cudaStream_t stream)
{
    int *d_workspace = NULL;
    cudaError_t error;
    if (count <= 0) return cudaSuccess;
    CUDA_TRY(cudaMalloc((void **)&d_workspace, device_scan_workspace(count) * sizeof(int)));
    CUDA_TRY_GOTO(error, done, device_exclusive_scan_in(d_workspace, d_data, count, stream));
    CUDA_TRY_GOTO(error, done, cudaStreamSynchronize(stream)); /* before the workspace goes */
done:
    cudaFree(d_workspace);
    return error;
}
