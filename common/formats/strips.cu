/*
 * strips.cu - from CSR to strips, on the GPU: find each row's share of each block, number the segments,
 * mark where they begin, copy the columns.
 */
#include "formats/strips.cuh"

#include "device/exec_space.cuh"
#include "formats/ascending.h"
#include "formats/column_search.cuh"

#include <limits.h>
#include <stdlib.h>

/* Cell i is row i % rows in block i / rows: a segment, if it holds a nonzero. The arrays have a cell more,
 * so that after a scan the last one holds the sum. */
struct cells {
    int rows, block_cols;
    int64_t count;
    const int *row_ptr, *col_idx;
    int *first;  /* the position in CSR of the cell's first nonzero, or of where it would be */
    int *place;  /* how many nonzeros; after the scan, the place of the first */
    int *number; /* whether there are any; after the scan, the number of the segment */
};

struct find_first {
    cells c;

    /* The first block begins with the row, whether its columns ascend or not. */
    __device__ void operator()(int64_t cell) const
    {
        const int row = (int)(cell % c.rows), column = (int)(cell / c.rows) * c.block_cols;
        const int begin = c.row_ptr[row], end = column > 0 ? c.row_ptr[row + 1] : begin;
        c.first[cell] = first_from_column(c.col_idx, begin, end, column);
    }
};

struct measure_cells {
    cells c;

    __device__ void operator()(int64_t cell) const
    {
        const int row = (int)(cell % c.rows);
        const int end = cell + c.rows < c.count ? c.first[cell + c.rows] : c.row_ptr[row + 1];
        c.place[cell] = end - c.first[cell];
        c.number[cell] = end > c.first[cell];
    }
};

struct list_segments {
    cells c;
    strips s;

    __device__ void operator()(int64_t cell) const
    {
        const int segment = c.number[cell], place = c.place[cell];
        if (segment == c.number[cell + 1]) return;
        s.d_row[segment] = (int)(cell % c.rows);
        if (s.d_offset) s.d_offset[segment] = c.first[cell] - place;
        atomicOr(&s.d_strip[place / STRIP].starts, 1u << place % STRIP);
    }
};

struct count_starts {
    const strip *strips;
    int *before;

    __device__ void operator()(int64_t s) const { before[s] = __popc(strips[s].starts); }
};

/* Gives each strip the segment of its first place: the last one that began before, or one that begins
 * there. Its mark is taken away, so that marks count the segments behind it. */
struct name_first_segments {
    strip *strips;
    const int *before; /* segments that begin in earlier strips */

    __device__ void operator()(int64_t s) const
    {
        const unsigned begins = strips[s].starts & 1;
        strips[s].segment = before[s] - 1 + (int)begins;
        strips[s].starts -= begins;
    }
};

struct copy_columns {
    strips s;
    const int *col_idx;

    __device__ void operator()(int64_t place) const
    {
        const int segment = segment_of(s.d_strip[place / STRIP], (int)place);
        s.d_own_column[place] = col_idx[place + s.d_offset[segment]];
    }
};

static int strips_of(int places)
{
    return places / STRIP + (places % STRIP != 0);
}

static cudaError_t number_cells(const cells &c, int *segments)
{
    const int count = (int)c.count + 1;
    CUDA_TRY(device_parallel_for(c.count, find_first{c}, 0));
    CUDA_TRY(device_parallel_for(c.count, measure_cells{c}, 0));
    CUDA_TRY(device_exclusive_scan(c.place, count, 0));
    CUDA_TRY(device_exclusive_scan(c.number, count, 0));
    return cudaMemcpy(segments, &c.number[c.count], sizeof *segments, cudaMemcpyDeviceToHost);
}

static cudaError_t fill_strips(const device_csr *W, const cells &c, strips *s)
{
    const int count = strips_of(s->places);
    int *d_before = NULL;
    cudaError_t error;
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &s->d_strip, count));
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &s->d_row, s->segments));
    if (s->blocks > 1) {
        CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &s->d_offset, s->segments));
        CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &s->d_own_column, s->places));
    }
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &d_before, count));
    CUDA_TRY_GOTO(error, done, device_parallel_for(c.count, list_segments{c, *s}, 0));
    CUDA_TRY_GOTO(error, done, device_parallel_for(count, count_starts{s->d_strip, d_before}, 0));
    CUDA_TRY_GOTO(error, done, device_exclusive_scan(d_before, count, 0));
    CUDA_TRY_GOTO(error, done,
                  device_parallel_for(count, name_first_segments{s->d_strip, d_before}, 0));
    if (s->blocks > 1)
        CUDA_TRY_GOTO(error, done,
                      device_parallel_for(s->places, copy_columns{*s, W->d_col_idx}, 0));
    s->d_column = s->d_own_column ? s->d_own_column : W->d_col_idx;
    CUDA_TRY_GOTO(error, done, cudaDeviceSynchronize());
done:
    cudaFree(d_before);
    return error;
}

static cudaError_t fill(const device_csr *W, int block_cols, strips *s)
{
    cells c = {.rows = W->rows,
               .block_cols = block_cols,
               .count = (int64_t)s->blocks * W->rows,
               .row_ptr = W->d_row_ptr,
               .col_idx = W->d_col_idx};
    cudaError_t error;
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &c.first, c.count));
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &c.place, c.count));
    CUDA_TRY_GOTO(error, done, allocate(ON_DEVICE, &c.number, c.count));
    CUDA_TRY_GOTO(error, done, number_cells(c, &s->segments));
    CUDA_TRY_GOTO(error, done, fill_strips(W, c, s));
done:
    cudaFree(c.first);
    cudaFree(c.place);
    cudaFree(c.number);
    return error;
}

cudaError_t strips_build(const device_csr *W, int blocks, strips **result)
{
    bool ascend = true;
    *result = NULL;
    if (blocks > 1) CUDA_TRY(columns_ascend(W, &ascend));
    if (!ascend || W->rows == 0 || W->cols == 0) blocks = 1;
    while (blocks > 1 && (int64_t)blocks * W->rows >= INT_MAX) /* cells are numbered by int */
        blocks /= 2;
    const int block_cols = W->cols / blocks + (W->cols % blocks != 0);
    if (blocks > 1) blocks = W->cols / block_cols + (W->cols % block_cols != 0);
    strips *s = (strips *)calloc(1, sizeof *s);
    if (!s) return cudaErrorMemoryAllocation;
    s->places = W->nnz;
    s->blocks = blocks;
    const cudaError_t error = fill(W, block_cols, s);
    if (error != cudaSuccess) {
        strips_free(s);
        return error;
    }
    *result = s;
    return cudaSuccess;
}

size_t strips_bytes(const strips *s)
{
    const size_t words = (s->d_offset ? 2 : 1) * (size_t)s->segments + s->places;
    return words * sizeof(int) + strips_of(s->places) * sizeof(strip);
}

void strips_free(strips *s)
{
    if (!s) return;
    cudaFree(s->d_strip);
    cudaFree(s->d_row);
    cudaFree(s->d_offset);
    cudaFree(s->d_own_column);
    free(s);
}
