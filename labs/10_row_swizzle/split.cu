/*
 * split.cu - counting and copying the segments of every row: on the GPU a warp takes a row, on the
 * host a loop. Both keep the order of nonzeros inside a segment, which makes the plans equal.
 */
#include "split.h"

#include "device/warp.cuh"

#include <string.h>

#include <vector>

constexpr int WARPS = 8, BLOCK = WARPS * WARP_SIZE;

row_split split_into_blocks(int cols, int blocks, int shortest)
{
    row_split split = {1, cols > 0 ? cols : 1, shortest};
    if (blocks > 1 && cols > 0) {
        split.block_cols = (cols + blocks - 1) / blocks;
        split.segments += (cols + split.block_cols - 1) / split.block_cols;
    }
    return split;
}

row_split split_into_tiles(int tiles)
{
    return {tiles, 0, 0};
}

static __host__ __device__ int segment_of(const row_split &split, int column)
{
    if (split.segments == 1) return 0;
    return split.block_cols ? 1 + column / split.block_cols : column % split.segments;
}

/* What stands for a nonzero in the plan. */
static __host__ __device__ int2 pair_of(const row_split &split, int column, float value,
                                        int row_bytes)
{
    int2 pair;
    pair.x = split.block_cols ? column : column / split.segments * row_bytes;
    memcpy(&pair.y, &value, sizeof value);
    return pair;
}

/* ---- counting -------------------------------------------------------------------------------- */

static __global__ void count_segments_kernel(int rows, const int *__restrict__ row_ptr,
                                             const int *__restrict__ col_idx, row_split split,
                                             int *length)
{
    __shared__ int counts[WARPS][MAX_SEGMENTS];
    const int row = blockIdx.x * WARPS + warp_id(), lane = lane_id();
    if (row >= rows) return;
    int *const count = counts[warp_id()];
    const int start = row_ptr[row], end = row_ptr[row + 1];
    if (split.segments == 1) {
        if (lane == 0) length[row] = end - start;
        return;
    }
    for (int s = lane; s < split.segments; s += WARP_SIZE)
        count[s] = 0;
    __syncwarp();
    for (int k = start + lane; k < end; k += WARP_SIZE)
        atomicAdd(&count[segment_of(split, col_idx[k])], 1);
    __syncwarp();
    int left_over = 0;
    for (int s = lane; s < split.segments; s += WARP_SIZE) {
        const bool too_short = split.block_cols && count[s] < split.shortest;
        if (too_short) left_over += count[s];
        if (s > 0)
            length[(size_t)s * rows + row] = too_short ? 0 : count[s];
        else if (!split.block_cols)
            length[row] = count[0];
    }
    left_over = warp_sum(left_over);
    if (lane == 0 && split.block_cols) length[row] = left_over;
}

static void count_on_host(const csr_matrix *A, const row_split &split, int *length)
{
    for (int64_t row = 0; row < A->rows; row++) {
        int count[MAX_SEGMENTS] = {};
        for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++)
            count[segment_of(split, A->col_idx[k])]++;
        for (int s = 1; s < split.segments; s++) {
            if (split.block_cols && count[s] < split.shortest) {
                count[0] += count[s];
                count[s] = 0;
            }
            length[s * A->rows + row] = count[s];
        }
        length[row] = count[0];
    }
}

cudaError_t split_count(site where, const spmm_matrix *A, const row_split *split, int *length)
{
    if (A->rows == 0) return cudaSuccess;
    if (where == ON_HOST) {
        count_on_host(A->host, *split, length);
        return cudaSuccess;
    }
    count_segments_kernel<<<(A->rows - 1) / WARPS + 1, BLOCK>>>(A->rows, A->d_row_ptr, A->d_col_idx,
                                                                *split, length);
    return cudaGetLastError();
}

/* ---- copying --------------------------------------------------------------------------------- */

static __global__ void copy_segments_kernel(int rows, const int *__restrict__ row_ptr,
                                            const int *__restrict__ col_idx,
                                            const float *__restrict__ values, row_split split,
                                            const int64_t *__restrict__ place, int row_bytes,
                                            int2 *pairs)
{
    __shared__ int counts[WARPS][MAX_SEGMENTS]; /* nonzeros copied of each segment */
    const int row = blockIdx.x * WARPS + warp_id(), lane = lane_id();
    if (row >= rows) return;
    int *const copied = counts[warp_id()];
    const int end = row_ptr[row + 1];
    for (int s = lane; s < split.segments; s += WARP_SIZE)
        copied[s] = 0;
    __syncwarp();
    for (int first = row_ptr[row]; first < end; first += WARP_SIZE) {
        const int k = first + lane;
        const bool exists = k < end;
        const int column = exists ? col_idx[k] : 0;
        int segment = exists ? segment_of(split, column) : -1;
        if (exists && place[(size_t)segment * rows + row] < 0) segment = 0;
        const unsigned alike = __match_any_sync(FULL_MASK, segment);
        const unsigned before = alike & ((1u << lane) - 1);
        if (exists)
            pairs[place[(size_t)segment * rows + row] + copied[segment] + __popc(before)] =
                pair_of(split, column, values[k], row_bytes);
        __syncwarp(); /* all have read `copied` before one lane of each segment moves it on */
        if (exists && before == 0) copied[segment] += __popc(alike);
        __syncwarp();
    }
}

static void copy_on_host(const csr_matrix *A, const float *values, const row_split &split,
                         const int64_t *place, int row_bytes, int2 *pairs)
{
    for (int64_t row = 0; row < A->rows; row++) {
        int copied[MAX_SEGMENTS] = {};
        for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++) {
            int s = segment_of(split, A->col_idx[k]);
            if (place[s * A->rows + row] < 0) s = 0;
            pairs[place[s * A->rows + row] + copied[s]++] =
                pair_of(split, A->col_idx[k], values[k], row_bytes);
        }
    }
}

cudaError_t split_copy(site where, const spmm_matrix *A, const row_split *split,
                       const int64_t *place, int row_bytes, int2 *pairs)
{
    if (A->rows == 0) return cudaSuccess;
    if (where == ON_DEVICE) {
        copy_segments_kernel<<<(A->rows - 1) / WARPS + 1, BLOCK>>>(
            A->rows, A->d_row_ptr, A->d_col_idx, A->d_values, *split, place, row_bytes, pairs);
        return cudaGetLastError();
    }
    /* The host has A's pattern; values may be known to the device alone. */
    try {
        std::vector<float> values(A->nnz);
        CUDA_TRY(
            cudaMemcpy(values.data(), A->d_values, A->nnz * sizeof(float), cudaMemcpyDeviceToHost));
        copy_on_host(A->host, values.data(), *split, place, row_bytes, pairs);
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}
