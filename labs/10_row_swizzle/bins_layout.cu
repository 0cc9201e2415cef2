/*
 * bins_layout.cu - from CSR to bins, on the GPU: sort the rows by bin, say where each row's nonzeros
 * go (count, scan), and copy them there.
 */
#include "bins.h"

#include "device/argsort.h"
#include "device/cuda_try.h"
#include "device/scan.h"
#include "device/warp.cuh"

constexpr int THREADS = 256;

static int blocks_for(int64_t threads)
{
    return (int)((threads + THREADS - 1) / THREADS);
}

void bins_layout_free(bins_layout *layout)
{
    cudaFree(layout->d_order);
    cudaFree(layout->d_span);
    cudaFree(layout->d_pairs);
    cudaFree(layout->d_packets);
    cudaFree(layout->d_part);
    cudaFree(layout->d_first_part);
    cudaFree(layout->d_partial);
    cudaFree(layout->d_arrived);
    *layout = {};
}

template <class T> static cudaError_t device_alloc(T **d, int64_t count)
{
    *d = NULL;
    return count > 0 ? cudaMalloc((void **)d, (size_t)count * sizeof(T)) : cudaSuccess;
}

/* ---- which row where ------------------------------------------------------------------------- */

static __global__ void bin_keys_kernel(int rows, const int *__restrict__ row_ptr, int serial,
                                       int pack, int *key)
{
    const int row = blockIdx.x * THREADS + threadIdx.x;
    if (row < rows) key[row] = bin_of(row_ptr[row + 1] - row_ptr[row], serial, pack);
}

/* first[b]: the first position of bin b or a later one; first[NUM_BINS] = rows. */
static __global__ void find_bins_kernel(int rows, const int *__restrict__ key,
                                        const int *__restrict__ order, int *first)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i > rows) return;
    const int before = i > 0 ? key[order[i - 1]] : -1, bin = i < rows ? key[order[i]] : NUM_BINS;
    for (int b = before + 1; b <= bin; b++)
        first[b] = i;
}

/* d_order: the plan's order, sorted by bin. Stable: inside a bin the plan's order remains. */
static cudaError_t sort_into_bins(const spmm_plan *plan, int serial, int pack, bins_layout *layout)
{
    const int rows = plan->A.rows;
    int *d_key = NULL, *d_first = NULL;
    cudaError_t error;
    CUDA_TRY_GOTO(error, done, device_alloc(&d_key, rows));
    CUDA_TRY_GOTO(error, done, device_alloc(&d_first, NUM_BINS + 1));
    CUDA_TRY_GOTO(error, done, device_alloc(&layout->d_order, rows));
    if (plan->d_row_order)
        CUDA_TRY_GOTO(error, done,
                      cudaMemcpy(layout->d_order, plan->d_row_order, rows * sizeof(int),
                                 cudaMemcpyDeviceToDevice));
    else
        CUDA_TRY_GOTO(error, done, device_identity(layout->d_order, rows, 0));
    bin_keys_kernel<<<blocks_for(rows), THREADS>>>(rows, plan->A.d_row_ptr, serial, pack, d_key);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, device_argsort(d_key, NUM_BINS - 1, layout->d_order, rows, 0));
    find_bins_kernel<<<blocks_for(rows + 1), THREADS>>>(rows, d_key, layout->d_order, d_first);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done,
                  cudaMemcpy(layout->first, d_first, sizeof layout->first, cudaMemcpyDeviceToHost));
done:
    cudaFree(d_key);
    cudaFree(d_first);
    return error;
}

/* ---- rows that are not packed ---------------------------------------------------------------- */

/* places[i]: pairs that position i takes, a multiple of `lanes`. */
static __global__ void count_pairs_kernel(int count, int lanes, const int *__restrict__ row_ptr,
                                          const int *__restrict__ order, int *places)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i > count) return;
    const int row = i < count ? order[i] : 0;
    const int length = i < count ? row_ptr[row + 1] - row_ptr[row] : 0;
    places[i] = (length + lanes - 1) / lanes * lanes;
}

/* A warp per position; start[i] .. start[i+1]-1 is where its pairs go. */
static __global__ void copy_rows_kernel(int count, const int *__restrict__ row_ptr,
                                        const int *__restrict__ col_idx,
                                        const float *__restrict__ values,
                                        const int *__restrict__ order,
                                        const int *__restrict__ start, int2 *span, int2 *pairs)
{
    const int i = (blockIdx.x * THREADS + threadIdx.x) / WARP_SIZE;
    if (i >= count) return;
    const int from = row_ptr[order[i]], length = row_ptr[order[i] + 1] - from;
    const int places = start[i + 1] - start[i];
    if (lane_id() == 0) span[i] = make_int2(start[i], length);
#pragma unroll 4
    for (int k = lane_id(); k < places; k += WARP_SIZE) {
        const int nonzero = from + min(k, length - 1);
        pairs[start[i] + k] = make_int2(col_idx[nonzero], __float_as_int(values[nonzero]));
    }
}

static cudaError_t lay_out_rows(const spmm_matrix *A, int lanes, bins_layout *layout)
{
    const int count = layout->first[PACK_16];
    int *d_start = NULL, total;
    cudaError_t error;
    if (count == 0) return cudaSuccess;
    CUDA_TRY_GOTO(error, done, device_alloc(&d_start, count + 1));
    CUDA_TRY_GOTO(error, done, device_alloc(&layout->d_span, count));
    count_pairs_kernel<<<blocks_for(count + 1), THREADS>>>(count, lanes, A->d_row_ptr,
                                                           layout->d_order, d_start);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, device_exclusive_scan(d_start, count + 1, 0));
    CUDA_TRY_GOTO(error, done,
                  cudaMemcpy(&total, d_start + count, sizeof total, cudaMemcpyDeviceToHost));
    CUDA_TRY_GOTO(error, done, device_alloc(&layout->d_pairs, total));
    copy_rows_kernel<<<blocks_for((int64_t)count * WARP_SIZE), THREADS>>>(
        count, A->d_row_ptr, A->d_col_idx, A->d_values, layout->d_order, d_start, layout->d_span,
        layout->d_pairs);
    CUDA_TRY_GOTO(error, done, cudaGetLastError());
    CUDA_TRY_GOTO(error, done, cudaDeviceSynchronize());
done:
    cudaFree(d_start);
    return error;
}

/* ---- packets --------------------------------------------------------------------------------- */

/* A thread per slot of the bin: nonzero k of the row at position i, or a hole. */
static __global__ void fill_packets_kernel(int first, int end, int slots, int num_slots,
                                           const int *__restrict__ row_ptr,
                                           const int *__restrict__ col_idx,
                                           const float *__restrict__ values,
                                           const int *__restrict__ order, int2 *packets)
{
    const int slot = blockIdx.x * THREADS + threadIdx.x;
    if (slot >= num_slots) return;
    const int i = first + slot / slots, k = slot % slots;
    int2 pair = make_int2(-1, 0);
    if (i < end && k < row_ptr[order[i] + 1] - row_ptr[order[i]]) {
        const int from = row_ptr[order[i]] + k;
        pair = make_int2(col_idx[from], __float_as_int(values[from]));
    }
    packets[slot] = pair;
}

static cudaError_t lay_out_packets(const spmm_matrix *A, bins_layout *layout)
{
    int64_t total = 0;
    for (int b = PACK_16; b <= PACK_1; b++) {
        const int rows_a_packet = PACKET / slots_of(b);
        const int rows = layout->first[b + 1] - layout->first[b];
        layout->packet[b] = (int)total;
        total += (rows + rows_a_packet - 1) / rows_a_packet;
    }
    layout->packet[EMPTY] = (int)total;
    CUDA_TRY(device_alloc(&layout->d_packets, total * PACKET));
    for (int b = PACK_16; b <= PACK_1; b++) {
        const int num_slots = (layout->packet[b + 1] - layout->packet[b]) * PACKET;
        if (num_slots == 0) continue;
        fill_packets_kernel<<<blocks_for(num_slots), THREADS>>>(
            layout->first[b], layout->first[b + 1], slots_of(b), num_slots, A->d_row_ptr,
            A->d_col_idx, A->d_values, layout->d_order,
            layout->d_packets + (size_t)layout->packet[b] * PACKET);
        CUDA_TRY(cudaGetLastError());
    }
    return cudaSuccess;
}

/* ---- parts of long rows ---------------------------------------------------------------------- */

static __global__ void count_parts_kernel(int count, const int2 *__restrict__ span, int part_length,
                                          int *parts)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i > count) return;
    parts[i] = i < count ? (span[i].y + part_length - 1) / part_length : 0;
}

static __global__ void fill_parts_kernel(int count, const int *__restrict__ first_part, int2 *part)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= count) return;
    for (int p = first_part[i]; p < first_part[i + 1]; p++)
        part[p] = make_int2(i, p - first_part[i]);
}

static cudaError_t lay_out_parts(const spmm_plan *plan, int slices, bins_layout *layout)
{
    const int count = layout->first[MEDIUM];
    if (count == 0) return cudaSuccess;
    CUDA_TRY(device_alloc(&layout->d_first_part, count + 1));
    count_parts_kernel<<<blocks_for(count + 1), THREADS>>>(
        count, layout->d_span, layout->part_length, layout->d_first_part);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(device_exclusive_scan(layout->d_first_part, count + 1, 0));
    CUDA_TRY(cudaMemcpy(&layout->num_parts, layout->d_first_part + count, sizeof(int),
                        cudaMemcpyDeviceToHost));
    CUDA_TRY(device_alloc(&layout->d_part, layout->num_parts));
    CUDA_TRY(device_alloc(&layout->d_partial, (int64_t)layout->num_parts * plan->N));
    CUDA_TRY(device_alloc(&layout->d_arrived, (int64_t)count * slices));
    CUDA_TRY(cudaMemset(layout->d_arrived, 0, (size_t)count * slices * sizeof(unsigned)));
    fill_parts_kernel<<<blocks_for(count), THREADS>>>(count, layout->d_first_part, layout->d_part);
    return cudaGetLastError();
}

/* ---------------------------------------------------------------------------------------------- */

cudaError_t bins_layout_build(const spmm_plan *plan, int serial, int pack, int lanes, int slices,
                              bins_layout *layout)
{
    cudaError_t error;
    *layout = {};
    layout->part_length = LONG_GROUPS * serial;
    if (plan->A.rows == 0) return cudaSuccess;
    CUDA_TRY_GOTO(error, done, sort_into_bins(plan, serial, pack, layout));
    CUDA_TRY_GOTO(error, done, lay_out_rows(&plan->A, lanes, layout));
    CUDA_TRY_GOTO(error, done, lay_out_packets(&plan->A, layout));
    CUDA_TRY_GOTO(error, done, lay_out_parts(plan, slices, layout));
    CUDA_TRY_GOTO(error, done, cudaDeviceSynchronize());
done:
    if (error != cudaSuccess) bins_layout_free(layout);
    return error;
}
