/*
 * segments_copy.cu - copies nonzeros to their segments, where they keep their order: so plans made on the host and on
 * the GPU are equal.
 */
#include "formats/segments_rows.cuh"

#include <string.h>

#include <vector>

/* Returns the pair that stands for a nonzero in the plan. */
static __host__ __device__ int2 pair_of(const row_split &split, int column, float value,
                                        int row_bytes)
{
    int2 pair;
    pair.x = split.block_cols ? column : column / split.segments * row_bytes;
    memcpy(&pair.y, &value, sizeof value);
    return pair;
}

/* The segment that a nonzero in block or tile s belongs to. */
static __device__ int home_of(const int64_t *next, int s)
{
    return next[s] < 0 ? 0 : s;
}

/* next[s]: where the first nonzero of the row's segment s goes. */
static __device__ void find_places(const row_split &split, int rows, int row,
                                   const int64_t *__restrict__ place, int64_t *next)
{
    for (int s = lane_id(); s < split.segments; s += WARP_SIZE)
        next[s] = place[(size_t)s * rows + row];
    __syncwarp();
}

/* One warp copies nonzeros first .. end - 1 in order, those of segment s to next[s] and behind. */
static __device__ void copy_share(const row_split &split, const int *__restrict__ col_idx,
                                  const float *__restrict__ values, int row_bytes, int first,
                                  int end, int64_t *next, int2 *__restrict__ pairs)
{
    int k = first + lane_id();
    if (split.segments == 1) {
        int2 *const to = pairs + (next[0] - first);
#pragma unroll 4
        for (; k < end; k += WARP_SIZE)
            to[k] = pair_of(split, col_idx[k], values[k], row_bytes);
        return;
    }
    int column = k < end ? col_idx[k] : 0;
    float value = k < end ? values[k] : 0;
    for (; first < end; first += WARP_SIZE) {
        const bool exists = k < end;
        const int segment = exists ? home_of(next, segment_of(split, column)) : -1;
        const int2 pair = pair_of(split, column, value, row_bytes);
        k += WARP_SIZE;
        column = k < end ? col_idx[k] : 0; /* of the next round: it comes while this one goes */
        value = k < end ? values[k] : 0;
        const unsigned alike = __match_any_sync(FULL_MASK, segment);
        const unsigned before = alike & ((1u << lane_id()) - 1);
        if (exists) pairs[next[segment] + __popc(before)] = pair;
        __syncwarp(); /* all have read `next` before one lane of each segment moves it on */
        if (exists && before == 0) next[segment] += __popc(alike);
        __syncwarp();
    }
}

static __global__ void copy_segments_kernel(int rows, const int *__restrict__ row_ptr,
                                            const int *__restrict__ col_idx,
                                            const float *__restrict__ values, row_split split,
                                            const int64_t *__restrict__ place, int row_bytes,
                                            int2 *__restrict__ pairs)
{
    __shared__ int64_t next[WARPS][MAX_SEGMENTS];
    const int row = blockIdx.x * WARPS + warp_id();
    if (row >= rows) return;
    const int start = row_ptr[row], end = row_ptr[row + 1];
    if (end - start > ALONE) return;
    find_places(split, rows, row, place, next[warp_id()]);
    copy_share(split, col_idx, values, row_bytes, start, end, next[warp_id()], pairs);
}

/* Every warp copies a share of the row, behind what the warps before it copy of each segment. */
static __global__ void __launch_bounds__(LONG_BLOCK)
    copy_long_rows_kernel(int rows, const int *__restrict__ row_ptr,
                          const int *__restrict__ col_idx, const float *__restrict__ values,
                          row_split split, const int64_t *__restrict__ place, int row_bytes,
                          int2 *__restrict__ pairs)
{
    __shared__ int64_t next[LONG_WARPS][MAX_SEGMENTS];
    __shared__ int counts[LONG_WARPS][MAX_SEGMENTS], found[LONG_BLOCK];
    const int warp = warp_id(), num_found = find_long_rows(rows, row_ptr, found);
    for (int i = 0; i < num_found; i++) {
        const int start = row_ptr[found[i]], end = row_ptr[found[i] + 1];
        const int share = (end - start + LONG_WARPS - 1) / LONG_WARPS;
        const int first = min(start + warp * share, end), last = min(first + share, end);
        find_places(split, rows, found[i], place, next[warp]);
        for (int s = lane_id(); s < split.segments; s += WARP_SIZE)
            counts[warp][s] = 0;
        __syncwarp();
#pragma unroll 4
        for (int k = first + lane_id(); k < last; k += WARP_SIZE)
            atomicAdd(&counts[warp][home_of(next[warp], segment_of(split, col_idx[k]))], 1);
        __syncthreads();
        for (int s = threadIdx.x; s < split.segments; s += LONG_BLOCK)
            for (int w = 0, before = 0; w < LONG_WARPS; w++) {
                next[w][s] += before;
                before += counts[w][s];
            }
        __syncthreads();
        copy_share(split, col_idx, values, row_bytes, first, last, next[warp], pairs);
        __syncwarp(); /* its lanes are done with `next`; other warps' change between barriers alone */
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

cudaError_t segments_copy(exec_space where, const spmm_matrix *A, const row_split *split,
                          const int64_t *place, int row_bytes, int2 *pairs)
{
    if (A->rows == 0) return cudaSuccess;
    if (where == ON_DEVICE) {
        copy_segments_kernel<<<blocks_of(A->rows, WARPS), BLOCK>>>(
            A->rows, A->d_row_ptr, A->d_col_idx, A->d_values, *split, place, row_bytes, pairs);
        CUDA_TRY(cudaGetLastError());
        if (A->stats->max <= ALONE) return cudaSuccess;
        copy_long_rows_kernel<<<blocks_of(A->rows, LONG_BLOCK), LONG_BLOCK>>>(
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

/* ---- where values go --------------------------------------------------------------------------- */

/* Nonzeros' numbers as bits of values, from 1 on: what is in no slot has 0. They are below 2^30, so none is a NaN. */
struct number_values {
    float *values;

    __device__ void operator()(int64_t z) const
    {
        const int number = (int)z + 1;
        memcpy(&values[z], &number, sizeof number);
    }
};

struct find_slots {
    const int2 *pairs;
    int *slot;

    __device__ void operator()(int64_t i) const
    {
        const int number = pairs[i].y;
        if (number) slot[number - 1] = (int)(2 * i + 1);
    }
};

static cudaError_t copy_numbers(const spmm_matrix *A, const row_split *split, const int64_t *place,
                                int64_t num_pairs, float *numbers, int2 *pairs, int *slot)
{
    spmm_matrix numbered = *A;
    numbered.d_values = numbers;
    CUDA_TRY(device_parallel_for(A->nnz, number_values{numbers}, 0));
    CUDA_TRY(segments_copy(ON_DEVICE, &numbered, split, place, 0, pairs));
    CUDA_TRY(device_parallel_for(num_pairs, find_slots{pairs, slot}, 0));
    return cudaDeviceSynchronize();
}

/* The copy itself is asked, so that there is one rule of what goes where. */
cudaError_t segments_slots(const spmm_matrix *A, const row_split *split, const int64_t *place,
                           int64_t num_pairs, int *slot)
{
    const int64_t MOST_PAIRS = INT32_MAX / 2;
    float *numbers = NULL;
    int2 *pairs = NULL;
    if (num_pairs > MOST_PAIRS) return cudaErrorNotSupported;
    cudaError_t error = allocate(ON_DEVICE, &numbers, A->nnz);
    if (error == cudaSuccess) error = allocate(ON_DEVICE, &pairs, num_pairs);
    if (error == cudaSuccess)
        error = copy_numbers(A, split, place, num_pairs, numbers, pairs, slot);
    cudaFree(numbers);
    cudaFree(pairs);
    return error;
}
