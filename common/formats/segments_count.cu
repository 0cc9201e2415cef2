/*
 * segments_count.cu - how rows are split, and how many nonzeros each segment has.
 */
#include "formats/segments_rows.cuh"

row_split segments_of_column_blocks(int cols, int blocks, int shortest)
{
    row_split split = {1, cols > 0 ? cols : 1, shortest};
    if (blocks > 1 && cols > 0) {
        split.block_cols = (cols + blocks - 1) / blocks;
        split.segments += (cols + split.block_cols - 1) / split.block_cols;
    }
    return split;
}

row_split segments_of_tiles(int tiles)
{
    return {tiles, 0, 0};
}

struct row_length {
    const int *row_ptr;
    int *length;

    __host__ __device__ void operator()(int64_t row) const
    {
        length[row] = row_ptr[row + 1] - row_ptr[row];
    }
};

/* Nonzeros first, first + step ... before end. */
static __device__ void count_share(const row_split &split, const int *__restrict__ col_idx,
                                   int first, int end, int step, int *count)
{
#pragma unroll 4
    for (int k = first; k < end; k += step)
        atomicAdd(&count[segment_of(split, col_idx[k])], 1);
}

/* One warp stores the lengths of a row's segments; what is too short for one is left over for segment 0. */
static __device__ void store_lengths(const row_split &split, int rows, int row, const int *count,
                                     int *length)
{
    int left_over = 0;
    for (int s = lane_id(); s < split.segments; s += WARP_SIZE) {
        const bool too_short = split.block_cols && count[s] < split.shortest;
        if (too_short) left_over += count[s];
        if (s > 0)
            length[(size_t)s * rows + row] = too_short ? 0 : count[s];
        else if (!split.block_cols)
            length[row] = count[0];
    }
    left_over = warp_sum(left_over);
    if (lane_id() == 0 && split.block_cols) length[row] = left_over;
}

static __global__ void count_segments_kernel(int rows, const int *__restrict__ row_ptr,
                                             const int *__restrict__ col_idx, row_split split,
                                             int *length)
{
    __shared__ int counts[WARPS][MAX_SEGMENTS];
    const int row = blockIdx.x * WARPS + warp_id();
    if (row >= rows) return;
    const int start = row_ptr[row], end = row_ptr[row + 1];
    if (end - start > ALONE) return;
    int *const count = counts[warp_id()];
    for (int s = lane_id(); s < split.segments; s += WARP_SIZE)
        count[s] = 0;
    __syncwarp();
    count_share(split, col_idx, start + lane_id(), end, WARP_SIZE, count);
    __syncwarp();
    store_lengths(split, rows, row, count, length);
}

static __global__ void __launch_bounds__(LONG_BLOCK)
    count_long_rows_kernel(int rows, const int *__restrict__ row_ptr,
                           const int *__restrict__ col_idx, row_split split, int *length)
{
    __shared__ int found[LONG_BLOCK], count[MAX_SEGMENTS];
    const int num_found = find_long_rows(rows, row_ptr, found);
    for (int i = 0; i < num_found; i++) {
        const int row = found[i];
        for (int s = threadIdx.x; s < split.segments; s += LONG_BLOCK)
            count[s] = 0;
        __syncthreads();
        count_share(split, col_idx, row_ptr[row] + threadIdx.x, row_ptr[row + 1], LONG_BLOCK,
                    count);
        __syncthreads();
        if (warp_id() == 0) store_lengths(split, rows, row, count, length);
        __syncthreads();
    }
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

cudaError_t segments_count(exec_space where, const spmm_matrix *A, const row_split *split,
                           int *length)
{
    if (A->rows == 0) return cudaSuccess;
    if (where == ON_HOST) {
        count_on_host(A->host, *split, length);
        return cudaSuccess;
    }
    if (split->segments == 1) return parallel_for(where, A->rows, row_length{A->d_row_ptr, length});
    count_segments_kernel<<<blocks_of(A->rows, WARPS), BLOCK>>>(A->rows, A->d_row_ptr, A->d_col_idx,
                                                                *split, length);
    CUDA_TRY(cudaGetLastError());
    if (A->stats->max <= ALONE) return cudaSuccess;
    count_long_rows_kernel<<<blocks_of(A->rows, LONG_BLOCK), LONG_BLOCK>>>(
        A->rows, A->d_row_ptr, A->d_col_idx, *split, length);
    return cudaGetLastError();
}
