/*
 * tca_bme.cu - from CSR to TCA-BME on the GPU: set the bits, count them, say where each group's values
 * begin, and put every value in its place.
 */
#include "formats/tca_bme.h"

#include "device/cuda_try.h"
#include "device/exec_space.cuh"
#include "device/scan.h"
#include "device/warp.cuh"
#include "formats/tca_bme_repeats.h"

#include <limits.h>

constexpr int THREADS = 256, WARPS = THREADS / WARP_SIZE;
typedef unsigned long long bits64; /* what atomics call a word of 64 bits */

/* CSR, and what becomes known of it. */
struct source {
    int rows;
    const int *row_ptr, *col_idx;
    const uint16_t *values;
    const int *before; /* tca_bme_find_repeats; NULL: nothing is named again */
};

static unsigned blocks_for(int64_t warps)
{
    return (unsigned)((warps + WARPS - 1) / WARPS);
}

/* Calls place(bitmap, bit, k) for the nonzeros of a row, which a warp shares, but for repeats. */
template <class F>
static __device__ void for_each_element(const source &A, int across, const F &place)
{
    const int row = blockIdx.x * WARPS + warp_id();
    if (row >= A.rows) return;
    for (int k = A.row_ptr[row] + lane_id(); k < A.row_ptr[row + 1]; k += WARP_SIZE) {
        if (A.before && A.before[k + 1] > A.before[k]) continue;
        const int col = A.col_idx[k], r = row % GROUP_SIDE, c = col % GROUP_SIDE;
        const size_t group = (size_t)(row / GROUP_SIDE) * across + col / GROUP_SIDE;
        const int tile = r / MMA_SIDE * STRIP_BITMAPS + c / MMA_SIDE * 4 +
                         c % MMA_SIDE / BITMAP_SIDE * 2 + r % MMA_SIDE / BITMAP_SIDE;
        place(group * GROUP_BITMAPS + tile, r % BITMAP_SIDE * BITMAP_SIDE + c % BITMAP_SIDE, k);
    }
}

static __global__ void set_bits_kernel(const __grid_constant__ source A, int across, bits64 *bitmap,
                                       int *repeated)
{
    for_each_element(A, across, [&](size_t at, int bit, int) {
        const bits64 before = atomicOr(&bitmap[at], 1ull << bit);
        if (before >> bit & 1) atomicExch(repeated, 1);
    });
}

/* A warp a group, two bitmaps a lane. rank: how many values of the group come before a bitmap's. */
static __global__ void count_kernel(int groups, const bits64 *bitmap, unsigned short *rank,
                                    int *length, int *longest)
{
    const int group = blockIdx.x * WARPS + warp_id(), lane = lane_id();
    if (group >= groups) return;
    const size_t first = (size_t)group * GROUP_BITMAPS + 2 * lane;
    const int own = __popcll(bitmap[first]), pair = own + __popcll(bitmap[first + 1]);
    const int upto = warp_inclusive_sum(pair);
    rank[first] = (unsigned short)(upto - pair);
    rank[first + 1] = (unsigned short)(upto - pair + own);
    if (lane < WARP_SIZE - 1) return;
    length[group] = (upto + GROUP_ALIGNMENT - 1) / GROUP_ALIGNMENT * GROUP_ALIGNMENT;
    atomicMax(longest, length[group]);
}

static __global__ void put_values_kernel(const __grid_constant__ source A, int across,
                                         const bits64 *bitmap, const unsigned short *rank,
                                         const int *offset, uint16_t *values)
{
    for_each_element(A, across, [&](size_t at, int bit, int k) {
        const int below = __popcll(bitmap[at] & ((1ull << bit) - 1));
        values[offset[at / GROUP_BITMAPS] + rank[at] + below] = A.values[k];
    });
}

/* *repeated: whether some element is named twice. */
static cudaError_t set_bits(const source *A, tca_bme *m, int *d_repeated, int *repeated)
{
    const size_t words = (size_t)tca_bme_groups(m) * GROUP_BITMAPS;
    CUDA_TRY(allocate(ON_DEVICE, &m->bitmap, words));
    CUDA_TRY(cudaMemset(m->bitmap, 0, words * sizeof *m->bitmap));
    if (A->rows)
        set_bits_kernel<<<blocks_for(A->rows), THREADS>>>(*A, m->across, (bits64 *)m->bitmap,
                                                          d_repeated);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpy(repeated, d_repeated, sizeof *repeated, cudaMemcpyDeviceToHost));
    return cudaSuccess;
}

static cudaError_t place_groups(tca_bme *m, unsigned short *d_rank, int *d_longest)
{
    const int groups = (int)tca_bme_groups(m);
    CUDA_TRY(allocate(ON_DEVICE, &m->offset, groups + 1));
    CUDA_TRY(cudaMemset(m->offset, 0, (groups + 1) * sizeof *m->offset));
    if (groups)
        count_kernel<<<blocks_for(groups), THREADS>>>(groups, (const bits64 *)m->bitmap, d_rank,
                                                      m->offset, d_longest);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(device_exclusive_scan(m->offset, groups + 1, 0));
    CUDA_TRY(cudaMemcpy(&m->longest, d_longest, sizeof m->longest, cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMemcpy(&m->num_values, &m->offset[groups], sizeof m->num_values,
                        cudaMemcpyDeviceToHost));
    return cudaSuccess;
}

static cudaError_t put_values(const source *A, const unsigned short *d_rank, tca_bme *m)
{
    CUDA_TRY(allocate(ON_DEVICE, &m->values, m->num_values));
    CUDA_TRY(cudaMemset(m->values, 0, (size_t)m->num_values * sizeof *m->values));
    if (A->rows)
        put_values_kernel<<<blocks_for(A->rows), THREADS>>>(
            *A, m->across, (const bits64 *)m->bitmap, d_rank, m->offset, m->values);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaDeviceSynchronize());
    return cudaSuccess;
}

cudaError_t tca_bme_create(const spmm_matrix *A, tca_bme *m)
{
    source from = {.rows = A->rows,
                   .row_ptr = A->d_row_ptr,
                   .col_idx = A->d_col_idx,
                   .values = (const uint16_t *)A->d_values16};
    int *d_found = NULL, *d_before = NULL, repeated; /* d_found: repeated, longest */
    unsigned short *d_rank = NULL;
    cudaError_t error;
    *m = tca_bme{
        .rows = A->rows, .cols = A->cols, .down = groups_of(A->rows), .across = groups_of(A->cols)};
    const int64_t groups = tca_bme_groups(m);
    if (A->nnz + (GROUP_ALIGNMENT - 1) * groups > INT_MAX) return cudaErrorMemoryAllocation;
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &d_found, 2));
    CUDA_TRY_GOTO(error, done, cudaMemset(d_found, 0, 2 * sizeof *d_found));
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &d_rank, groups * GROUP_BITMAPS));
    CUDA_TRY_GOTO(error, done, set_bits(&from, m, &d_found[0], &repeated));
    if (repeated) {
        CUDA_TRY_GOTO(error, done, tca_bme_find_repeats(A, &d_before));
        CUDA_TRY_GOTO(error, done, tca_bme_take_repeats(A, d_before, m));
        from.before = d_before;
    }
    CUDA_TRY_GOTO(error, done, place_groups(m, d_rank, &d_found[1]));
    CUDA_TRY_GOTO(error, done, put_values(&from, d_rank, m));
done:
    cudaFree(d_found);
    cudaFree(d_before);
    cudaFree(d_rank);
    if (error != cudaSuccess) tca_bme_destroy(m);
    return error;
}

void tca_bme_keep_repeats(tca_bme *m)
{
    cudaFree(m->offset);
    cudaFree(m->bitmap);
    cudaFree(m->values);
    m->offset = NULL;
    m->bitmap = NULL;
    m->values = NULL;
}

void tca_bme_destroy(tca_bme *m)
{
    cudaFree(m->offset);
    cudaFree(m->bitmap);
    cudaFree(m->values);
    cudaFree(m->repeat_ptr);
    cudaFree(m->repeat_col);
    cudaFree(m->repeat_value);
    *m = {};
}

/* ---- columns ------------------------------------------------------------------------------------ */

/* Block x for the x-th group of each row of groups, 64 threads for its bitmaps. */
static __global__ void used_columns_kernel(int down, int across, const bits64 *bitmap, bits64 *used)
{
    const int tile = threadIdx.x % GROUP_BITMAPS, every = THREADS / GROUP_BITMAPS;
    const int left = tile / 4 % 4 * MMA_SIDE + tile / 2 % 2 * BITMAP_SIDE;
    bits64 bits = 0;
    for (int row = threadIdx.x / GROUP_BITMAPS; row < down; row += every)
        bits |= bitmap[((size_t)row * across + blockIdx.x) * GROUP_BITMAPS + tile];
    for (int shift = 32; shift >= BITMAP_SIDE; shift /= 2)
        bits |= bits >> shift; /* in the end the lowest row of eight is all of them together */
    if (bits & 0xff) atomicOr(&used[blockIdx.x], (bits & 0xff) << left);
}

cudaError_t tca_bme_used_columns(const tca_bme *m, uint64_t *d_used)
{
    CUDA_TRY(cudaMemset(d_used, 0, m->across * sizeof *d_used));
    if (m->across)
        used_columns_kernel<<<m->across, THREADS>>>(m->down, m->across, (const bits64 *)m->bitmap,
                                                    (bits64 *)d_used);
    CUDA_TRY(cudaGetLastError());
    return cudaSuccess;
}
