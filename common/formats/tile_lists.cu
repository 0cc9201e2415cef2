/*
 * tile_lists.cu - finds the part of each row in each strip, and lists the codes of chunks, and the tiles that have one.
 */
#include "formats/tile_lists.cuh"

#include "device/cuda_try.h"
#include "device/parallel_for.cuh"
#include "device/scan.h"
#include "device/warp.cuh"
#include "formats/ascending.h"
#include "formats/column_search.cuh"

constexpr int64_t MOST_ELEMENTS = INT64_C(1) << 31;
constexpr int THREADS = 256, THREAD_WARPS = THREADS / WARP_SIZE;

/* Scratch of the builder: the nonzeros before each row of each strip; two more: all of them. */
typedef int *row_places;

/* Row i of all strips: its nonzeros, and the number of the first. */
struct find_parts {
    tile_lists t;
    int rows; /* of the matrix */
    const int *row_ptr, *columns;
    row_places place;

    __device__ void operator()(int64_t i) const
    {
        const int strip = (int)(i / t.rows), row = (int)(i % t.rows);
        t.d_shift[i] = place[i] = 0;
        if (row >= rows) return;
        const int end = row_ptr[row + 1],
                  first = first_from_column(columns, row_ptr[row], end, strip * STRIP_COLS);
        t.d_shift[i] = first;
        place[i] = first_from_column(columns, first, end, (strip + 1) * STRIP_COLS) - first;
    }
};

/* Once places are known. A chunk's first row tells where it starts, and marks the chunk's tile. */
struct begin_rows {
    tile_lists t;
    row_places place;
    int *used;

    __device__ void operator()(int64_t i) const
    {
        const int strip = (int)(i / t.rows), row = (int)(i % t.rows);
        t.d_shift[i] -= place[i];
        if (row % CHUNK_ROWS) return;
        t.d_start[i / CHUNK_ROWS] = place[i];
        if (place[i + CHUNK_ROWS] > place[i])
            atomicOr(&used[row / t.tile_rows * (t.strips / 2) + strip / 2], 1);
    }
};

/* A warp for each row. columns: ascending in each row. */
static __global__ void copy_codes_kernel(const __grid_constant__ tile_lists t, int rows,
                                         const int *__restrict__ row_ptr,
                                         const int *__restrict__ columns)
{
    const int row = blockIdx.x * THREAD_WARPS + (int)threadIdx.x / WARP_SIZE;
    if (row >= rows) return;
    for (int number = row_ptr[row] + lane_id(); number < row_ptr[row + 1]; number += WARP_SIZE) {
        const int strip = columns[number] / STRIP_COLS;
        t.d_code[number - t.d_shift[(size_t)strip * t.rows + row]] =
            (uint16_t)chunk_index(row % CHUNK_ROWS, columns[number] % STRIP_COLS);
    }
}

/* place: the used tiles before each one, and of all. */
struct list_used_tiles {
    const int *place;
    int *tile;

    __device__ void operator()(int64_t i) const
    {
        if (place[i + 1] > place[i]) tile[place[i]] = (int)i;
    }
};

static cudaError_t list_tiles(int *d_used, int grid_tiles, tile_lists *t)
{
    CUDA_TRY(device_exclusive_scan(d_used, grid_tiles + 1, 0));
    CUDA_TRY(cudaMemcpy(&t->num_tiles, d_used + grid_tiles, sizeof t->num_tiles,
                        cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaMalloc(&t->d_tile, t->num_tiles * sizeof *t->d_tile));
    CUDA_TRY(device_parallel_for(grid_tiles, list_used_tiles{d_used, t->d_tile}, 0));
    return cudaDeviceSynchronize();
}

static cudaError_t lay_out(const device_csr *A, const int *d_columns, row_places d_place,
                           int *d_used, tile_lists *t)
{
    const int parts = t->strips * t->rows, grid_tiles = parts / t->tile_rows / 2;
    CUDA_TRY(cudaMemset(d_place + parts, 0, sizeof *d_place));
    CUDA_TRY(
        device_parallel_for(parts, find_parts{*t, A->rows, A->d_row_ptr, d_columns, d_place}, 0));
    CUDA_TRY(device_exclusive_scan(d_place, parts + 1, 0));
    CUDA_TRY(cudaMemset(d_used, 0, (grid_tiles + 1) * sizeof *d_used));
    CUDA_TRY(device_parallel_for(parts, begin_rows{*t, d_place, d_used}, 0));
    CUDA_TRY(cudaMemcpy(t->d_start + parts / CHUNK_ROWS, d_place + parts, sizeof *t->d_start,
                        cudaMemcpyDeviceToDevice));
    copy_codes_kernel<<<(A->rows - 1) / THREAD_WARPS + 1, THREADS>>>(*t, A->rows, A->d_row_ptr,
                                                                     d_columns);
    CUDA_TRY(cudaGetLastError());
    return list_tiles(d_used, grid_tiles, t);
}

static cudaError_t allocate_and_lay_out(const device_csr *A, const int *d_columns, tile_lists *t)
{
    const int parts = t->strips * t->rows;
    row_places d_place = NULL;
    int *d_used = NULL;
    cudaError_t error;
    CUDA_TRY(cudaMalloc(&t->d_code, A->nnz * sizeof *t->d_code));
    CUDA_TRY(cudaMalloc(&t->d_start, (parts / CHUNK_ROWS + 1) * sizeof *t->d_start));
    CUDA_TRY(cudaMalloc(&t->d_shift, parts * sizeof *t->d_shift));
    CUDA_TRY_GOTO(error, done, cudaMalloc(&d_place, (parts + 1) * sizeof *d_place));
    CUDA_TRY_GOTO(error, done,
                  cudaMalloc(&d_used, (parts / t->tile_rows / 2 + 1) * sizeof *d_used));
    error = lay_out(A, d_columns, d_place, d_used, t);
done:
    cudaFree(d_place);
    cudaFree(d_used);
    return error;
}

static cudaError_t build(const device_csr *A, tile_lists *t)
{
    int *d_sorted = NULL;
    cudaError_t error;
    CUDA_TRY(nonzeros_sort_columns(A, &t->d_order, &d_sorted));
    error = allocate_and_lay_out(A, d_sorted ? d_sorted : A->d_col_idx, t);
    cudaFree(d_sorted);
    return error;
}

const char *tile_lists_unsuited(int64_t rows, int64_t cols)
{
    if (cols == 0 || rows <= MOST_ELEMENTS / cols) return NULL;
    return "it has more than 2^31 elements, zeros counted: too many for dense tiles";
}

cudaError_t tile_lists_build(const device_csr *A, int tile_rows, tile_lists *lists)
{
    *lists = tile_lists{.rows = (A->rows + tile_rows - 1) / tile_rows * tile_rows,
                        .strips = (A->cols + TILE_COLS - 1) / TILE_COLS * 2,
                        .tile_rows = tile_rows};
    if (tile_lists_unsuited(A->rows, A->cols)) return cudaErrorNotSupported;
    if (A->nnz == 0) return cudaSuccess;
    const cudaError_t error = build(A, lists);
    if (error != cudaSuccess) tile_lists_free(lists);
    return error;
}

size_t tile_lists_bytes(const tile_lists *t, int64_t nnz)
{
    const size_t parts = (size_t)t->num_tiles * t->tile_rows * 2;
    return nnz * sizeof *t->d_code + parts * sizeof *t->d_shift +
           parts / CHUNK_ROWS * sizeof *t->d_start + t->num_tiles * sizeof *t->d_tile +
           (t->d_order ? nnz * sizeof *t->d_order : 0);
}

void tile_lists_free(tile_lists *t)
{
    cudaFree(t->d_tile);
    cudaFree(t->d_code);
    cudaFree(t->d_start);
    cudaFree(t->d_shift);
    cudaFree(t->d_order);
    *t = tile_lists{};
}
