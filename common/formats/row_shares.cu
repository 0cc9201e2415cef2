/*
 * row_shares.cu - from CSR to shares, on the GPU: sort the rows by kind and length, count the shares of each
 * row, write them down.
 */
#include "formats/row_shares.cuh"

#include "device/exec_space.cuh"
#include "formats/row_order.h"

#include <limits.h>
#include <stdlib.h>

enum kind { CUT, WARP_EACH, GROUP_EACH, KINDS };

struct find_kind {
    const int *row_ptr;
    int segment, short_row;
    int *key; /* of each row */

    __device__ void operator()(int64_t row) const
    {
        const int length = row_ptr[row + 1] - row_ptr[row];
        key[row] = length > segment ? CUT : length > short_row ? WARP_EACH : GROUP_EACH;
    }
};

/* first[i]: the shares of the i-th row; after a scan, the first of them. rows_of[k]: how many rows are of
 * kind k or an earlier one. */
struct count_shares {
    const int *row_ptr, *order, *key;
    int rows, segment;
    int *first, *rows_of;

    __device__ void operator()(int64_t i) const
    {
        const int row = order[i], length = row_ptr[row + 1] - row_ptr[row];
        const int kind = key[row], next = i + 1 < rows ? key[order[i + 1]] : KINDS;
        first[i] = length > segment ? (length - 1) / segment + 1 : 1;
        for (int k = kind; k < next; k++)
            rows_of[k] = (int)i + 1;
    }
};

struct fill_shares {
    const int *row_ptr, *order, *first;
    int segment;
    row_share *share;

    __device__ void operator()(int64_t i) const
    {
        const int row = order[i], begin = row_ptr[row], end = row_ptr[row + 1];
        for (int s = first[i]; s < first[i + 1]; s++) {
            const row_share own = {row, begin + (s - first[i]) * segment, end, first[i]};
            share[s] = own;
        }
    }
};

/* Arrays that the format does not keep: the rows in order, their kinds, and the first share of each. */
struct scratch {
    int *order, *key, *first, *rows_of;
};

/* The number of shares before the i-th row. */
static cudaError_t fetch_first(const scratch *s, int i, int *first)
{
    return cudaMemcpy(first, s->first + i, sizeof *first, cudaMemcpyDeviceToHost);
}

static cudaError_t fill(const device_csr *A, int short_row, int window, scratch *s, row_shares *r)
{
    const int rows = A->rows;
    int rows_of[KINDS] = {};
    CUDA_TRY(row_order_make(A, window, &s->order));
    CUDA_TRY(allocate(ON_DEVICE, &s->key, rows));
    CUDA_TRY(allocate(ON_DEVICE, &s->first, rows + 1));
    CUDA_TRY(allocate(ON_DEVICE, &s->rows_of, KINDS));
    CUDA_TRY(device_parallel_for(rows, find_kind{A->d_row_ptr, r->segment, short_row, s->key}, 0));
    CUDA_TRY(device_argsort(s->key, KINDS - 1, s->order, rows, 0)); /* stable */
    CUDA_TRY(device_parallel_for(
        rows, count_shares{A->d_row_ptr, s->order, s->key, rows, r->segment, s->first, s->rows_of},
        0));
    CUDA_TRY(device_exclusive_scan(s->first, rows + 1, 0));
    CUDA_TRY(cudaMemcpy(rows_of, s->rows_of, sizeof rows_of, cudaMemcpyDeviceToHost));
    CUDA_TRY(fetch_first(s, rows_of[CUT], &r->segments));
    CUDA_TRY(fetch_first(s, rows_of[WARP_EACH], &r->warps));
    CUDA_TRY(fetch_first(s, rows, &r->count));
    CUDA_TRY(allocate(ON_DEVICE, &r->d_share, r->count));
    CUDA_TRY(device_parallel_for(
        rows, fill_shares{A->d_row_ptr, s->order, s->first, r->segment, r->d_share}, 0));
    return cudaDeviceSynchronize();
}

cudaError_t row_shares_build(const device_csr *A, int segment, int short_row, int window,
                             row_shares **shares)
{
    scratch s = {};
    cudaError_t error;
    *shares = NULL;
    if ((int64_t)A->rows + A->nnz / segment >= INT_MAX) return cudaErrorNotSupported;
    row_shares *r = (row_shares *)calloc(1, sizeof *r);
    if (!r) return cudaErrorMemoryAllocation;
    r->segment = segment;
    error = A->rows > 0 ? fill(A, short_row, window, &s, r) : cudaSuccess;
    cudaFree(s.order);
    cudaFree(s.key);
    cudaFree(s.first);
    cudaFree(s.rows_of);
    if (error != cudaSuccess) {
        row_shares_free(r);
        return error;
    }
    *shares = r;
    return cudaSuccess;
}

size_t row_shares_bytes(const row_shares *shares)
{
    return (size_t)shares->count * sizeof *shares->d_share;
}

void row_shares_free(row_shares *shares)
{
    if (!shares) return;
    cudaFree(shares->d_share);
    free(shares);
}
