#include "formats/head_pattern.h"

#include "device/cuda_try.h"

#include <limits.h>
#include <stdlib.h>

/* Room that kernels may step beyond the last nonzero without overflowing an int. */
enum { MARGIN = 4096 };

static bool fits(int64_t count, int heads)
{
    return count * heads <= INT_MAX - MARGIN;
}

static void fill(const csr_matrix *A, int heads, csr_matrix *to)
{
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t first = A->row_ptr[i], n = A->row_ptr[i + 1] - first;
        for (int h = 0; h < heads; h++) {
            const int64_t at = first * heads + h * n;
            to->row_ptr[i * heads + h] = at;
            for (int64_t k = 0; k < n; k++)
                to->col_idx[at + k] = A->col_idx[first + k] * heads + h;
        }
    }
    to->row_ptr[A->rows * heads] = A->nnz * heads;
}

/* Row offsets in 32 bits, and columns, on the device. */
static cudaError_t upload(head_pattern *p)
{
    const csr_matrix *host = &p->host;
    const size_t offsets = (host->rows + 1) * sizeof(int), columns = host->nnz * sizeof(int);
    int *narrow = malloc(offsets);
    cudaError_t error = narrow ? cudaSuccess : cudaErrorMemoryAllocation;
    for (int64_t i = 0; narrow && i <= host->rows; i++)
        narrow[i] = (int)host->row_ptr[i];
    if (error == cudaSuccess) error = cudaMalloc((void **)&p->d_row_ptr, offsets);
    if (error == cudaSuccess) error = cudaMalloc((void **)&p->d_col_idx, columns + sizeof(int));
    if (error == cudaSuccess)
        error = cudaMemcpy(p->d_row_ptr, narrow, offsets, cudaMemcpyHostToDevice);
    if (error == cudaSuccess)
        error = cudaMemcpy(p->d_col_idx, host->col_idx, columns, cudaMemcpyHostToDevice);
    free(narrow);
    return error;
}

cudaError_t head_pattern_build(const device_csr *A, int heads, head_pattern **out)
{
    error_text reason;
    *out = NULL;
    if (!fits(A->rows, heads) || !fits(A->cols, heads) || !fits(A->nnz, heads))
        return cudaErrorNotSupported;
    head_pattern *p = calloc(1, sizeof *p);
    if (!p) return cudaErrorMemoryAllocation;
    p->A = *A;
    p->A.d_values = NULL;
    p->A.d_values16 = NULL;
    if (heads == 1) {
        *out = p;
        return cudaSuccess;
    }
    cudaError_t error = cudaErrorMemoryAllocation;
    if (csr_alloc(&p->host, A->host->rows * heads, A->host->cols * heads, A->host->nnz * heads,
                  false, &reason) == STATUS_OK) {
        fill(A->host, heads, &p->host);
        if (row_stats_compute(&p->host, &p->stats, &reason) == STATUS_OK) error = upload(p);
    }
    if (error != cudaSuccess) {
        head_pattern_free(p);
        return error;
    }
    p->A = (device_csr){.rows = (int)p->host.rows,
                        .cols = (int)p->host.cols,
                        .nnz = (int)p->host.nnz,
                        .d_row_ptr = p->d_row_ptr,
                        .d_col_idx = p->d_col_idx,
                        .host = &p->host,
                        .stats = &p->stats};
    *out = p;
    return cudaSuccess;
}

size_t head_pattern_bytes(const head_pattern *p)
{
    return p->d_row_ptr ? (p->host.rows + 1 + p->host.nnz) * sizeof(int) : 0;
}

void head_pattern_free(head_pattern *p)
{
    if (!p) return;
    cudaFree(p->d_row_ptr);
    cudaFree(p->d_col_idx);
    csr_free(&p->host);
    free(p);
}
