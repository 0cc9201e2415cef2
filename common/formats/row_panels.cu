/*
 * row_panels.cu - from CSR to panels, on the GPU: mark the columns of all rows of a panel, number them, and copy each
 * column to its list.
 */
#include "formats/row_panels.h"

#include "device/exec_space.cuh"
#include "device/warp.cuh"
#include "formats/ascending.h"
#include "formats/column_search.cuh"

#include <limits.h>
#include <stdlib.h>

constexpr int THREADS = 256, THREAD_WARPS = THREADS / WARP_SIZE;

/* CSR with columns that do not descend in a row, and the rows of a panel. */
struct pattern {
    int rows, of_panel;
    const int *row_ptr, *col_idx;
    int *common; /* 1: nonzero z is in list 0 of its panel; after a scan, such nonzeros before z */

    /* Where a row names the column for the first time, or would. */
    __device__ int find(int column, int row) const
    {
        return first_from_column(col_idx, row_ptr[row], row_ptr[row + 1], column);
    }

    /* Whether all rows of a panel name the column of nonzero z. Where `row` names it again and again, z being number n
     * of those, they must name it so often, too. */
    __device__ bool all_name(int z, int row) const
    {
        const int column = col_idx[z], n = z - find(column, row), first = row / of_panel * of_panel;
        if (first + of_panel > rows) return false;
        for (int other = first; other < first + of_panel; other++) {
            const int at = find(column, other) + n;
            if (at >= row_ptr[other + 1] || col_idx[at] != column) return false;
        }
        return true;
    }

    /* Common columns of each row of panel p. */
    __device__ int commons(int p) const
    {
        const int first = p * of_panel;
        return common[row_ptr[min(first + 1, rows)]] - common[row_ptr[first]];
    }

    /* Where panel p begins, once each panel before it has its common columns once. */
    __device__ int begin(int p) const
    {
        const int first = row_ptr[min(p * of_panel, rows)];
        return first - common[first] / of_panel * (of_panel - 1);
    }
};

/* A warp for each row. */
static __global__ void mark_common_kernel(pattern A)
{
    const int row = blockIdx.x * THREAD_WARPS + (int)threadIdx.x / WARP_SIZE;
    if (row >= A.rows) return;
    for (int z = A.row_ptr[row] + lane_id(); z < A.row_ptr[row + 1]; z += WARP_SIZE)
        A.common[z] = A.all_name(z, row);
}

/* For each panel, and for the end. */
struct fill_lists {
    pattern A;
    int panels;
    int *panel, *list; /* where they begin */

    __device__ void operator()(int64_t p) const
    {
        int *const of = list + p * (A.of_panel + 1);
        panel[p] = of[0] = A.begin((int)p);
        if (p == panels) return;
        const int first = (int)p * A.of_panel, commons = A.commons((int)p);
        int at = of[0] + commons;
        for (int i = 0; i < A.of_panel; i++) {
            of[1 + i] = at;
            if (first + i < A.rows) at += A.row_ptr[first + i + 1] - A.row_ptr[first + i] - commons;
        }
    }
};

/* A warp for each row. */
static __global__ void copy_columns_kernel(pattern A, const int *__restrict__ list, int *column)
{
    const int row = blockIdx.x * THREAD_WARPS + (int)threadIdx.x / WARP_SIZE;
    if (row >= A.rows) return;
    const int panel = row / A.of_panel, i = row % A.of_panel, begin = A.row_ptr[row];
    const int *const of = list + panel * (A.of_panel + 1);
    for (int z = begin + lane_id(); z < A.row_ptr[row + 1]; z += WARP_SIZE) {
        const int commons = A.common[z] - A.common[begin]; /* of the row before z */
        const bool is_common = A.common[z + 1] > A.common[z];
        if (!is_common)
            column[of[1 + i] + z - begin - commons] = A.col_idx[z];
        else if (i == 0)
            column[of[0] + commons] = A.col_idx[z];
    }
}

static cudaError_t fill(const device_csr *A, const int *d_sorted, int *d_common, row_panels *r)
{
    const int *const columns = d_sorted ? d_sorted : A->d_col_idx;
    const pattern is = {A->rows, r->rows, A->d_row_ptr, columns, d_common};
    const int blocks = (A->rows + THREAD_WARPS - 1) / THREAD_WARPS;
    int *panel = NULL, *column = NULL;
    CUDA_TRY(allocate(ON_DEVICE, &panel, r->P.rows + 1));
    r->P.d_row_ptr = panel;
    CUDA_TRY(allocate(ON_DEVICE, &r->d_list, (int64_t)r->P.rows * (r->rows + 1) + 1));
    mark_common_kernel<<<blocks, THREADS>>>(is);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(device_exclusive_scan(d_common, A->nnz + 1, 0));
    CUDA_TRY(device_parallel_for((int64_t)r->P.rows + 1,
                                 fill_lists{is, r->P.rows, panel, r->d_list}, 0));
    CUDA_TRY(cudaMemcpy(&r->P.nnz, panel + r->P.rows, sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_TRY(allocate(ON_DEVICE, &column, r->P.nnz));
    r->P.d_col_idx = column;
    copy_columns_kernel<<<blocks, THREADS>>>(is, r->d_list, column);
    CUDA_TRY(cudaGetLastError());
    return cudaDeviceSynchronize();
}

cudaError_t row_panels_build(const device_csr *A, int rows, row_panels **panels)
{
    int *d_common = NULL, *d_order = NULL, *d_sorted = NULL;
    *panels = NULL;
    if (A->nnz == INT_MAX || A->rows > INT_MAX / 2) return cudaErrorNotSupported;
    row_panels *r = (row_panels *)calloc(1, sizeof *r);
    if (!r) return cudaErrorMemoryAllocation;
    r->rows = rows;
    r->P.rows = (A->rows - 1) / rows + 1;
    r->P.cols = A->cols;
    r->P.stats = &r->stats;
    r->stats.max = A->stats->max * rows < A->nnz ? A->stats->max * rows : A->nnz;
    cudaError_t error = nonzeros_sort_columns(A, &d_order, &d_sorted);
    if (error == cudaSuccess) error = allocate(ON_DEVICE, &d_common, A->nnz + 1);
    if (error == cudaSuccess) error = fill(A, d_sorted, d_common, r);
    cudaFree(d_order);
    cudaFree(d_sorted);
    cudaFree(d_common);
    if (error != cudaSuccess) {
        row_panels_free(r);
        return error;
    }
    *panels = r;
    return cudaSuccess;
}

size_t row_panels_bytes(const row_panels *r)
{
    const size_t lists = (size_t)r->P.rows * (r->rows + 1) + 1;
    return ((size_t)r->P.nnz + lists) * sizeof(int);
}

void row_panels_free(row_panels *r)
{
    if (!r) return;
    cudaFree((void *)r->P.d_row_ptr);
    cudaFree((void *)r->P.d_col_idx);
    cudaFree(r->d_list);
    free(r);
}
