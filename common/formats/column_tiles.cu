/*
 * column_tiles.cu - finds each row's segments, copies their columns in the order of tiles, and deals them out.
 */
#include "formats/column_tiles.cuh"

#include "device/cuda_try.h"
#include "device/parallel_for.cuh"
#include "device/scan.h"
#include "device/warp.cuh"
#include "formats/ascending.h"
#include "formats/column_search.cuh"

#include <stdlib.h>

constexpr int THREADS = 256, THREAD_WARPS = THREADS / WARP_SIZE;
constexpr int LEAST_SHARE = 1024; /* nonzeros worth another block, which copies its tile again */

/* Segment i: its first nonzero, moved to a multiple of eight, and its places, which end at one. */
struct find_segments {
    column_tiles t;
    const int *row_ptr, *col_idx;

    __device__ void operator()(int64_t i) const
    {
        const int tile = (int)(i / t.rows), row = (int)(i % t.rows), end = row_ptr[row + 1];
        const int first = first_from_column(col_idx, row_ptr[row], end, tile * t.tile_cols);
        const int last = first_from_column(col_idx, first, end, (tile + 1) * t.tile_cols);
        const int begin = first / GROUP_PLACES * GROUP_PLACES;
        t.d_shift[i] = begin;
        t.d_place[i] =
            last > first ? (last - 1) / GROUP_PLACES * GROUP_PLACES + GROUP_PLACES - begin : 0;
    }
};

/* Once places are known. */
struct subtract_places {
    column_tiles t;

    __device__ void operator()(int64_t i) const { t.d_shift[i] -= t.d_place[i]; }
};

/* Where the tiles begin, and the end of the last. */
struct list_tile_starts {
    column_tiles t;
    int *start;

    __device__ void operator()(int64_t tile) const { start[tile] = t.d_place[tile * t.rows]; }
};

/* A warp for each row. */
static __global__ void copy_columns_kernel(const __grid_constant__ column_tiles t,
                                           const int *__restrict__ row_ptr,
                                           const int *__restrict__ col_idx)
{
    const int row = blockIdx.x * THREAD_WARPS + (int)threadIdx.x / WARP_SIZE;
    if (row >= t.rows) return;
    for (int z = row_ptr[row] + lane_id(); z < row_ptr[row + 1]; z += WARP_SIZE) {
        const int tile = col_idx[z] / t.tile_cols;
        t.d_column[z - t.d_shift[(size_t)tile * t.rows + row]] =
            (uint16_t)(col_idx[z] - tile * t.tile_cols);
    }
}

/* The tile whose blocks have the most work each. */
static int heaviest(const int64_t *work, const int *blocks, int tiles)
{
    int most = 0;
    for (int t = 1; t < tiles; t++)
        if (work[t] * blocks[most] > work[most] * blocks[t]) most = t;
    return most;
}

/* Deals the tiles out: a block for each that has a nonzero, then one more for the heaviest, up to `blocks`. Fills
 * `share`, which has room for them and for one of each tile; returns how many there are. */
static int deal(const int *start, const column_tiles *t, int blocks, tile_share *share)
{
    int64_t work[MAX_COLUMN_TILES];
    int of_tile[MAX_COLUMN_TILES], count = 0, used = 0;
    for (int i = 0; i < t->tiles; i++) {
        const int places = start[i + 1] - start[i];
        work[i] = places ? places + (int64_t)SEGMENT_COST * t->rows : 0;
        of_tile[i] = 1;
        used += places > 0;
    }
    for (; used < blocks; used++) {
        const int most = heaviest(work, of_tile, t->tiles);
        if (work[most] < (of_tile[most] + 1) * LEAST_SHARE) break;
        of_tile[most]++;
    }
    for (int i = 0; i < t->tiles; i++)
        for (int b = 0; b < of_tile[i] && work[i]; b++)
            share[count++] = tile_share{i, column_tiles_part(work[i], b, of_tile[i]),
                                        column_tiles_part(work[i], b + 1, of_tile[i])};
    return count;
}

static cudaError_t deal_out(int *d_start, int blocks, column_tiles *t)
{
    int start[MAX_COLUMN_TILES + 1];
    tile_share *share = (tile_share *)calloc(blocks + t->tiles, sizeof *share);
    cudaError_t error = cudaErrorMemoryAllocation;
    if (!share) return error;
    CUDA_TRY_GOTO(error, done, device_parallel_for(t->tiles + 1, list_tile_starts{*t, d_start}, 0));
    CUDA_TRY_GOTO(
        error, done,
        cudaMemcpy(start, d_start, (t->tiles + 1) * sizeof *start, cudaMemcpyDeviceToHost));
    t->blocks = deal(start, t, blocks, share);
    CUDA_TRY_GOTO(error, done, cudaMalloc(&t->d_share, t->blocks * sizeof *share));
    CUDA_TRY_GOTO(error, done,
                  cudaMemcpy(t->d_share, share, t->blocks * sizeof *share, cudaMemcpyHostToDevice));
done:
    free(share);
    return error;
}

static cudaError_t find_places(const int *d_row_ptr, const int *d_columns, column_tiles *t)
{
    const int segments = t->tiles * t->rows;
    CUDA_TRY(cudaMalloc(&t->d_place, (segments + 2) * sizeof *t->d_place));
    CUDA_TRY(cudaMalloc(&t->d_shift, segments * sizeof *t->d_shift));
    CUDA_TRY(cudaMemset(t->d_place + segments, 0, 2 * sizeof *t->d_place));
    CUDA_TRY(device_parallel_for(segments, find_segments{*t, d_row_ptr, d_columns}, 0));
    CUDA_TRY(device_exclusive_scan(t->d_place, segments + 2, 0));
    CUDA_TRY(device_parallel_for(segments, subtract_places{*t}, 0));
    return cudaMemcpy(&t->places, t->d_place + segments, sizeof t->places, cudaMemcpyDeviceToHost);
}

/* d_columns: with the columns of a row ascending. */
static cudaError_t lay_out(const int *d_row_ptr, const int *d_columns, int blocks, column_tiles *t)
{
    int *d_start = NULL;
    cudaError_t error;
    CUDA_TRY(find_places(d_row_ptr, d_columns, t));
    CUDA_TRY(cudaMalloc(&t->d_column, t->places * sizeof *t->d_column));
    CUDA_TRY(cudaMemset(t->d_column, 0xff, t->places * sizeof *t->d_column)); /* NO_TILE_COLUMN */
    copy_columns_kernel<<<(t->rows - 1) / THREAD_WARPS + 1, THREADS>>>(*t, d_row_ptr, d_columns);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMalloc(&d_start, (t->tiles + 1) * sizeof *d_start));
    error = deal_out(d_start, blocks, t);
    cudaFree(d_start);
    return error;
}

static cudaError_t build(const device_csr *A, int blocks, column_tiles *t)
{
    int *d_sorted = NULL;
    cudaError_t error;
    CUDA_TRY(nonzeros_sort_columns(A, &t->d_order, &d_sorted));
    error = lay_out(A->d_row_ptr, d_sorted ? d_sorted : A->d_col_idx, blocks, t);
    cudaFree(d_sorted);
    return error;
}

const char *column_tiles_unsuited(int64_t rows, int64_t cols, int64_t nnz, int tile_cols)
{
    if (tile_cols <= 0) return "shared memory has no room for a tile of Y";
    const int64_t tiles = (cols + tile_cols - 1) / tile_cols;
    if (tiles > MAX_COLUMN_TILES) return "it has too many columns for tiles of Y in shared memory";
    const int64_t of_segment = 2 * (GROUP_PLACES - 1) + SEGMENT_COST; /* at most */
    if (tiles * rows * of_segment + nnz >= INT32_MAX)
        return "its rows in tiles of Y are more than 32 bits count";
    return NULL;
}

cudaError_t column_tiles_build(const device_csr *A, int tile_cols, int blocks, column_tiles *tiles)
{
    *tiles = column_tiles{.rows = A->rows};
    if (tile_cols > MAX_TILE_COLS) tile_cols = MAX_TILE_COLS;
    if (column_tiles_unsuited(A->rows, A->cols, A->nnz, tile_cols)) return cudaErrorNotSupported;
    if (A->nnz == 0) return cudaSuccess;
    tiles->tiles = (A->cols - 1) / tile_cols + 1;
    tiles->tile_cols = (A->cols - 1) / tiles->tiles + 1;
    const cudaError_t error = build(A, blocks, tiles);
    if (error != cudaSuccess) column_tiles_free(tiles);
    return error;
}

size_t column_tiles_bytes(const column_tiles *t, int64_t nnz)
{
    const size_t segments = (size_t)t->tiles * t->rows;
    return t->places * sizeof *t->d_column + segments * (sizeof *t->d_place + sizeof *t->d_shift) +
           t->blocks * sizeof *t->d_share + (t->d_order ? nnz * sizeof *t->d_order : 0);
}

void column_tiles_free(column_tiles *t)
{
    cudaFree(t->d_column);
    cudaFree(t->d_place);
    cudaFree(t->d_shift);
    cudaFree(t->d_order);
    cudaFree(t->d_share);
    *t = column_tiles{};
}
