#include "library/matrix.h"

#include "device/cuda_try.h"
#include "library/gather.h"
#include "ops/inputs.h"

#include <stdlib.h>
#include <string.h>

enum sparse_status matrix_is_here(const sparse_matrix *A)
{
    int current;
    const cudaError_t error = cudaGetDevice(&current);
    if (error != cudaSuccess) return refuse_cuda(error, "cudaGetDevice");
    if (current != A->device)
        return refuse(SPARSE_INVALID, "the matrix is on device %d, and device %d is current",
                      A->device, current);
    return SPARSE_OK;
}

static cudaError_t upload(sparse_matrix *A)
{
    const csr_matrix *host = &A->host;
    const size_t offsets = (size_t)(host->rows + 1) * sizeof *A->d_row_ptr;
    const size_t columns = (size_t)host->nnz * sizeof *A->d_col_idx;
    int32_t *row_ptr = dataset_offsets(host);
    cudaError_t error = cudaErrorMemoryAllocation;
    if (!row_ptr) return error;
    CUDA_TRY_GOTO(error, cleanup, cudaMalloc((void **)&A->d_row_ptr, offsets));
    CUDA_TRY_GOTO(error, cleanup, cudaMalloc((void **)&A->d_col_idx, columns + 1));
    CUDA_TRY_GOTO(error, cleanup,
                  cudaMemcpy(A->d_row_ptr, row_ptr, offsets, cudaMemcpyHostToDevice));
    if (columns)
        CUDA_TRY_GOTO(error, cleanup,
                      cudaMemcpy(A->d_col_idx, host->col_idx, columns, cudaMemcpyHostToDevice));
cleanup:
    free(row_ptr);
    return error;
}

/* Copies the pattern to A->host. */
static enum status copy_pattern(sparse_matrix *A, const csr_matrix *given, error_text *error)
{
    enum status status = csr_validate(given, "matrix", error);
    if (status == STATUS_OK && given->nnz > MAX_NNZ)
        return fail(error, STATUS_DATASET, "matrix: %lld nonzeros, at most %d",
                    (long long)given->nnz, MAX_NNZ);
    if (status == STATUS_OK)
        status = csr_alloc(&A->host, given->rows, given->cols, given->nnz, false, error);
    if (status != STATUS_OK) return status;
    memcpy(A->host.row_ptr, given->row_ptr, (given->rows + 1) * sizeof *given->row_ptr);
    if (given->nnz) memcpy(A->host.col_idx, given->col_idx, given->nnz * sizeof *given->col_idx);
    return row_stats_compute(&A->host, &A->stats, error);
}

static enum sparse_status create(const csr_matrix *given, sparse_matrix **matrix)
{
    error_text text;
    sparse_matrix *A = calloc(1, sizeof *A);
    if (!A) return refuse(SPARSE_NO_MEMORY, "no memory for a matrix");
    const enum status status = copy_pattern(A, given, &text);
    enum sparse_status result = status == STATUS_OK ? SPARSE_OK : refuse_status(status, &text);
    if (result == SPARSE_OK) {
        cudaError_t error = cudaGetDevice(&A->device);
        if (error == cudaSuccess) error = upload(A);
        if (error != cudaSuccess) result = refuse_cuda(error, "creating the matrix");
    }
    if (result == SPARSE_OK)
        *matrix = A;
    else
        sparse_matrix_destroy(A);
    return result;
}

enum sparse_status sparse_matrix_create(int64_t rows, int64_t cols, const int64_t *row_ptr,
                                        const int32_t *col_idx, sparse_matrix **matrix)
{
    if (!matrix) return refuse(SPARSE_INVALID, "sparse_matrix_create: no place for the matrix");
    *matrix = NULL;
    if (!row_ptr || rows < 0) return refuse(SPARSE_INVALID, "sparse_matrix_create: no offsets");
    const csr_matrix given = {.rows = rows,
                              .cols = cols,
                              .nnz = row_ptr[rows],
                              .row_ptr = (int64_t *)row_ptr, /* which nobody writes to */
                              .col_idx = (int32_t *)col_idx};
    library_enter();
    const enum sparse_status status = create(&given, matrix);
    library_leave();
    return status;
}

/* The host's order and the device's are one: by column, then as the nonzeros come. */
static enum sparse_status transpose(const sparse_matrix *A, sparse_matrix *T)
{
    error_text text;
    const device_csr on_device = {.rows = (int)A->host.rows,
                                  .cols = (int)A->host.cols,
                                  .nnz = (int)A->host.nnz,
                                  .d_row_ptr = A->d_row_ptr,
                                  .d_col_idx = A->d_col_idx};
    enum status status = csr_transpose(&A->host, &T->host, &text);
    if (status == STATUS_OK) status = row_stats_compute(&T->host, &T->stats, &text);
    if (status != STATUS_OK) return refuse_status(status, &text);
    const cudaError_t error = transposed_pattern_build(&on_device, &T->transposed);
    if (error != cudaSuccess) return refuse_cuda(error, "transposing the matrix");
    T->d_row_ptr = (int *)T->transposed->T.d_row_ptr;
    T->d_col_idx = (int *)T->transposed->T.d_col_idx;
    T->device = A->device;
    return SPARSE_OK;
}

enum sparse_status sparse_matrix_transpose(const sparse_matrix *A, sparse_matrix **transposed)
{
    if (!A || !transposed) return refuse(SPARSE_INVALID, "sparse_matrix_transpose: no matrix");
    *transposed = NULL;
    library_enter();
    enum sparse_status status = matrix_is_here(A);
    sparse_matrix *T = status == SPARSE_OK ? calloc(1, sizeof *T) : NULL;
    if (status == SPARSE_OK)
        status = T ? transpose(A, T) : refuse(SPARSE_NO_MEMORY, "no memory for a matrix");
    library_leave();
    if (status == SPARSE_OK)
        *transposed = T;
    else
        sparse_matrix_destroy(T);
    return status;
}

enum sparse_status sparse_values_transpose(const sparse_matrix *T, size_t bytes, const void *values,
                                           void *transposed, cudaStream_t stream)
{
    if (!T || !T->transposed)
        return refuse(SPARSE_INVALID,
                      "sparse_values_transpose: the matrix is not a transposed one");
    if (bytes != sizeof(uint16_t) && bytes != sizeof(uint32_t))
        return refuse(SPARSE_INVALID,
                      "sparse_values_transpose: %zu bytes a value, where 2 or 4 are", bytes);
    library_enter();
    enum sparse_status status = matrix_is_here(T);
    if (status == SPARSE_OK) {
        const cudaError_t error =
            gather((int)T->host.nnz, T->transposed->d_place, bytes, values, transposed, stream);
        if (error != cudaSuccess) status = refuse_cuda(error, "sparse_values_transpose");
    }
    library_leave();
    return status;
}

const int *sparse_matrix_row_ptr(const sparse_matrix *A)
{
    return A->d_row_ptr;
}

const int *sparse_matrix_col_idx(const sparse_matrix *A)
{
    return A->d_col_idx;
}

int64_t sparse_matrix_rows(const sparse_matrix *A)
{
    return A->host.rows;
}

int64_t sparse_matrix_cols(const sparse_matrix *A)
{
    return A->host.cols;
}

int64_t sparse_matrix_nnz(const sparse_matrix *A)
{
    return A->host.nnz;
}

void sparse_matrix_destroy(sparse_matrix *A)
{
    if (!A) return;
    if (A->transposed) {
        transposed_pattern_free(A->transposed);
    } else {
        cudaFree(A->d_row_ptr);
        cudaFree(A->d_col_idx);
    }
    csr_free(&A->host);
    free(A);
}
