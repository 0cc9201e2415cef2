/*
 * transposed_pattern.cu - a stable sort of the nonzeros by column, on the GPU: they come by row, so each column
 * then has its rows in ascending order.
 */
#include "formats/transposed_pattern.h"

#include "device/exec_space.cuh"

#include <stdlib.h>

/* The first i below `count` with value(i) > limit, where values ascend; else `count`. */
template <class F> static __device__ int first_above(int count, int limit, const F &value)
{
    int low = 0, high = count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (value(middle) > limit)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct find_rows {
    int rows;
    const int *row_ptr, *place;
    int *row; /* of each nonzero of T, the row of A */

    __device__ void operator()(int64_t i) const
    {
        const int *const ends = row_ptr + 1;
        row[i] = first_above(rows, place[i], [=](int r) { return ends[r]; });
    }
};

struct find_columns {
    int nnz;
    const int *col_idx, *place;
    int *begin; /* of each column of A, and one more */

    __device__ void operator()(int64_t column) const
    {
        const int *const col = col_idx, *const at = place;
        begin[column] = first_above(nnz, (int)column - 1, [=](int i) { return col[at[i]]; });
    }
};

struct invert_places {
    const int *place;
    int *place_in_T;

    __device__ void operator()(int64_t i) const { place_in_T[place[i]] = (int)i; }
};

/* The length of the longest row, which the host finds: it needs it, and there is no other use of a maximum. */
static cudaError_t find_longest(const device_csr *T, int64_t *longest)
{
    int *const begin = (int *)malloc((T->rows + 1) * sizeof *begin);
    if (!begin) return cudaErrorMemoryAllocation;
    const cudaError_t error =
        cudaMemcpy(begin, T->d_row_ptr, (T->rows + 1) * sizeof *begin, cudaMemcpyDeviceToHost);
    for (int j = 0; j < T->rows && error == cudaSuccess; j++)
        if (begin[j + 1] - begin[j] > *longest) *longest = begin[j + 1] - begin[j];
    free(begin);
    return error;
}

static cudaError_t fill(const device_csr *A, transposed_pattern *t)
{
    int *row_ptr = NULL, *row = NULL;
    CUDA_TRY(allocate(ON_DEVICE, &row_ptr, A->cols + 1));
    t->T.d_row_ptr = row_ptr;
    CUDA_TRY(allocate(ON_DEVICE, &row, A->nnz));
    t->T.d_col_idx = row;
    CUDA_TRY(allocate(ON_DEVICE, &t->d_place, A->nnz));
    CUDA_TRY(device_identity(t->d_place, A->nnz, 0));
    if (A->nnz) CUDA_TRY(device_argsort(A->d_col_idx, A->cols - 1, t->d_place, A->nnz, 0));
    CUDA_TRY(device_parallel_for(A->nnz, find_rows{A->rows, A->d_row_ptr, t->d_place, row}, 0));
    CUDA_TRY(device_parallel_for((int64_t)A->cols + 1,
                                 find_columns{A->nnz, A->d_col_idx, t->d_place, row_ptr}, 0));
    CUDA_TRY(cudaDeviceSynchronize());
    return find_longest(&t->T, &t->stats.max);
}

cudaError_t transposed_pattern_build(const device_csr *A, transposed_pattern **result)
{
    *result = NULL;
    transposed_pattern *t = (transposed_pattern *)calloc(1, sizeof *t);
    if (!t) return cudaErrorMemoryAllocation;
    t->T.rows = A->cols;
    t->T.cols = A->rows;
    t->T.nnz = A->nnz;
    t->T.stats = &t->stats;
    const cudaError_t error = fill(A, t);
    if (error != cudaSuccess) {
        transposed_pattern_free(t);
        return error;
    }
    *result = t;
    return cudaSuccess;
}

/* The pattern in host memory, whose offsets have 64 bits. */
static cudaError_t fetch(const device_csr *T, csr_matrix *host)
{
    int *const begin = (int *)malloc((T->rows + 1) * sizeof *begin);
    if (!begin) return cudaErrorMemoryAllocation;
    cudaError_t error =
        cudaMemcpy(begin, T->d_row_ptr, (T->rows + 1) * sizeof *begin, cudaMemcpyDeviceToHost);
    for (int j = 0; j <= T->rows && error == cudaSuccess; j++)
        host->row_ptr[j] = begin[j];
    free(begin);
    if (error != cudaSuccess) return error;
    return cudaMemcpy(host->col_idx, T->d_col_idx, T->nnz * sizeof *host->col_idx,
                      cudaMemcpyDeviceToHost);
}

cudaError_t transposed_pattern_describe(transposed_pattern *t)
{
    error_text reason;
    row_stats stats;
    if (csr_alloc(&t->host, t->T.rows, t->T.cols, t->T.nnz, false, &reason) != STATUS_OK)
        return cudaErrorMemoryAllocation;
    cudaError_t error = fetch(&t->T, &t->host);
    if (error == cudaSuccess && row_stats_compute(&t->host, &stats, &reason) != STATUS_OK)
        error = cudaErrorMemoryAllocation;
    if (error != cudaSuccess) {
        csr_free(&t->host);
        return error;
    }
    t->stats = stats;
    t->T.host = &t->host;
    return cudaSuccess;
}

cudaError_t transposed_pattern_invert(transposed_pattern *t)
{
    CUDA_TRY(allocate(ON_DEVICE, &t->d_place_in_T, t->T.nnz));
    CUDA_TRY(device_parallel_for(t->T.nnz, invert_places{t->d_place, t->d_place_in_T}, 0));
    return cudaDeviceSynchronize();
}

size_t transposed_pattern_bytes(const transposed_pattern *t, bool places)
{
    return ((size_t)t->T.rows + 1 + (places ? 2 : 1) * (size_t)t->T.nnz) * sizeof(int);
}

void transposed_pattern_free(transposed_pattern *t)
{
    if (!t) return;
    cudaFree((void *)t->T.d_row_ptr);
    cudaFree((void *)t->T.d_col_idx);
    cudaFree(t->d_place);
    cudaFree(t->d_place_in_T);
    csr_free(&t->host);
    free(t);
}
