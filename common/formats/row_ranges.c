#include "formats/row_ranges.h"

#include "device/cuda_try.h"

#include <limits.h>
#include <stdlib.h>

/* Copies the offsets, counted from the range's first nonzero: 64 bits wide for the host, 32 for the device. */
static cudaError_t rebase_offsets(const csr_matrix *A, int64_t first, row_range *range)
{
    const int64_t rows = range->pattern.rows;
    int *narrow = malloc((rows + 1) * sizeof *narrow);
    range->pattern.row_ptr = malloc((rows + 1) * sizeof *range->pattern.row_ptr);
    cudaError_t error = cudaErrorMemoryAllocation;
    if (narrow && range->pattern.row_ptr) {
        for (int64_t i = 0; i <= rows; i++) {
            range->pattern.row_ptr[i] = A->row_ptr[first + i] - A->row_ptr[first];
            narrow[i] = (int)range->pattern.row_ptr[i];
        }
        error = cudaMemcpy(range->d_row_ptr, narrow, (rows + 1) * sizeof *narrow,
                           cudaMemcpyHostToDevice);
    }
    free(narrow);
    return error;
}

/* Allocates one byte more than asked for, so that no array is empty. */
static cudaError_t make_room(row_range *range)
{
    const size_t nnz = range->pattern.nnz, rows = range->pattern.rows;
    CUDA_TRY(cudaMalloc((void **)&range->d_row_ptr, (rows + 1) * sizeof *range->d_row_ptr));
    CUDA_TRY(cudaMalloc((void **)&range->d_col_idx, nnz * sizeof *range->d_col_idx + 1));
    return cudaMalloc(&range->d_values, nnz * range->value_bytes + 1);
}

cudaError_t row_range_make(const csr_matrix *A, const int *d_col_idx, int64_t first, int64_t end,
                           size_t value_bytes, row_range *range)
{
    const int64_t at = A->row_ptr[first], nnz = A->row_ptr[end] - at;
    error_text unsaid;
    cudaError_t error;
    *range = (row_range){.first = first, .value_bytes = value_bytes};
    if (nnz > INT_MAX) return cudaErrorInvalidValue;
    range->pattern = (csr_matrix){.rows = end - first, .cols = A->cols, .nnz = nnz};
    CUDA_TRY_GOTO(error, failed, make_room(range));
    CUDA_TRY_GOTO(error, failed, rebase_offsets(A, first, range));
    CUDA_TRY_GOTO(
        error, failed,
        cudaMemcpy(range->d_col_idx, d_col_idx + at, nnz * sizeof *d_col_idx, cudaMemcpyDefault));
    range->pattern.col_idx = A->col_idx + at;
    error = cudaErrorMemoryAllocation;
    if (row_stats_compute(&range->pattern, &range->stats, &unsaid) != STATUS_OK) goto failed;
    range->A = (device_csr){.rows = (int)range->pattern.rows,
                            .cols = (int)A->cols,
                            .nnz = (int)nnz,
                            .d_row_ptr = range->d_row_ptr,
                            .d_col_idx = range->d_col_idx,
                            .host = &range->pattern,
                            .stats = &range->stats};
    if (value_bytes == sizeof(float))
        range->A.d_values = range->d_values;
    else
        range->A.d_values16 = range->d_values;
    return cudaSuccess;
failed:
    row_range_free(range);
    return error;
}

cudaError_t row_range_set_values(row_range *range, const csr_matrix *A, const void *d_values)
{
    const size_t at = (size_t)A->row_ptr[range->first] * range->value_bytes;
    return cudaMemcpy(range->d_values, (const char *)d_values + at,
                      range->pattern.nnz * range->value_bytes, cudaMemcpyDefault);
}

void row_range_free(row_range *range)
{
    cudaFree(range->d_row_ptr);
    cudaFree(range->d_col_idx);
    cudaFree(range->d_values);
    free(range->pattern.row_ptr);
    *range = (row_range){0};
}
