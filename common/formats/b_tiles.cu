/*
 * b_tiles.cu - from CSR to chunks and tiles: cut the rows, deal them out in chunks of equal work, sort
 * each block's segments by length, copy their pairs there.
 */
#include "formats/b_tiles.cuh"

#include "device/exec_space.cuh"
#include "device/facts.h"

#include <stdlib.h>

constexpr int PAIR_UNIT = 4;     /* segments begin at multiples of 32 bytes, a sector */
constexpr int SEGMENT_COST = 40; /* of starting and ending a segment, in nonzeros */
constexpr int LENGTH_CLASSES = 1024;
constexpr int RESERVED = 1024; /* bytes of shared memory that CUDA keeps for itself, per block */
constexpr int OWN_SHARED = 2 * TILE_ROW_BYTES; /* the kernel's variables, and to align the tile */

/* ---- steps, each of one index ---------------------------------------------------------------- */

/* The work of a row, for a scan that says where each row begins. */
struct row_work {
    int rows, tiles;
    const int *length;
    int *work;

    __host__ __device__ void operator()(int64_t row) const
    {
        int sum = SEGMENT_COST * tiles;
        for (int t = 0; t < tiles; t++)
            sum += length[(size_t)t * rows + row];
        work[row] = sum;
    }
};

/* The chunk of a row: all chunks have the same work, as far as whole rows allow. */
struct cut_chunks {
    int rows, chunks;
    const int *work; /* before each row, and of all */
    int *chunk_of, *chunk_row;

    __host__ __device__ int chunk(int64_t row) const
    {
        if (row >= rows) return chunks;
        return (int)((int64_t)work[row] * chunks / work[rows]);
    }
    __host__ __device__ void operator()(int64_t row) const
    {
        const int before = row > 0 ? chunk(row - 1) : -1, own = chunk(row);
        if (row < rows) chunk_of[row] = own;
        for (int c = before + 1; c <= own; c++)
            chunk_row[c] = (int)row;
    }
};

/* Segments by block, the longest first. */
struct block_key {
    int rows, tiles, longest;
    const int *length, *chunk_of;
    int *key;

    __host__ __device__ void operator()(int64_t segment) const
    {
        const int tile = (int)(segment / rows), row = (int)(segment % rows);
        const int step = (int)((int64_t)length[segment] * (LENGTH_CLASSES - 1) / longest);
        key[segment] = (chunk_of[row] * tiles + tile) * LENGTH_CLASSES + LENGTH_CLASSES - 1 - step;
    }
};

struct count_units {
    const int *length, *order;
    int *units;

    __host__ __device__ void operator()(int64_t i) const
    {
        units[i] = (length[order[i]] + PAIR_UNIT - 1) / PAIR_UNIT;
    }
};

struct describe_segments {
    int rows;
    const int *length, *order, *units;
    int64_t *place;
    int4 *segment;

    __host__ __device__ void operator()(int64_t i) const
    {
        const int s = order[i];
        place[s] = (int64_t)units[i] * PAIR_UNIT;
        segment[i] = make_int4(s % rows, length[s], units[i], 0);
    }
};

/* first[b]: the first segment of block b or of a later one. */
struct find_blocks {
    int count, blocks;
    const int *key, *order;
    int *first;

    __host__ __device__ void operator()(int64_t i) const
    {
        const int before = i > 0 ? key[order[i - 1]] / LENGTH_CLASSES : -1;
        const int block = i < count ? key[order[i]] / LENGTH_CLASSES : blocks;
        for (int b = before + 1; b <= block; b++)
            first[b] = (int)i;
    }
};

/* ---- the format ------------------------------------------------------------------------------ */

/* Tiles that so many columns take; 0 on a device without room for one. */
static int count_tiles(int64_t cols, int threads)
{
    const device_facts *device = device_facts_get();
    const int resident = b_tiles_resident(threads);
    const int bytes =
        resident > 1 ? device->sm_shared_bytes / resident - RESERVED : device->block_shared_bytes;
    const int rows = (bytes - OWN_SHARED) / TILE_ROW_BYTES;
    if (rows <= 0) return 0;
    return cols > 0 ? (int)((cols - 1) / rows) + 1 : 1;
}

const char *b_tiles_unsuited(int64_t rows, int64_t cols, int64_t nnz, int threads)
{
    const int tiles = count_tiles(cols, threads);
    if (tiles == 0) return "shared memory has no room for a tile of B";
    if (tiles > MAX_SEGMENTS) return "it has too many columns for tiles of B in shared memory";
    if (tiles * rows * SEGMENT_COST + nnz > INT32_MAX / 2)
        return "its rows in tiles of B are more than 32 bits count";
    return NULL;
}

struct scratch {
    int *length, *work, *chunk_of, *key, *order, *units;
};

static cudaError_t order_segments(const spmm_matrix *A, b_tiles *p, scratch *s)
{
    const int rows = A->rows, count = p->tiles * rows, blocks = p->chunks * p->tiles;
    const int longest = A->stats->max > 0 ? (int)A->stats->max : 1;
    CUDA_TRY(allocate(p->where, &s->length, count));
    CUDA_TRY(allocate(p->where, &s->work, rows + 1));
    CUDA_TRY(allocate(p->where, &s->chunk_of, rows));
    CUDA_TRY(allocate(p->where, &s->key, count));
    CUDA_TRY(allocate(p->where, &s->order, count));
    CUDA_TRY(allocate(p->where, &p->d_chunk_row, p->chunks + 1));
    CUDA_TRY(allocate(p->where, &p->d_first, blocks + 1));
    CUDA_TRY(segments_count(p->where, A, &p->split, s->length));
    CUDA_TRY(parallel_for(p->where, rows, row_work{rows, p->tiles, s->length, s->work}));
    CUDA_TRY(space_exclusive_scan(p->where, s->work, rows + 1));
    CUDA_TRY(parallel_for(p->where, (int64_t)rows + 1,
                          cut_chunks{rows, p->chunks, s->work, s->chunk_of, p->d_chunk_row}));
    CUDA_TRY(parallel_for(p->where, count,
                          block_key{rows, p->tiles, longest, s->length, s->chunk_of, s->key}));
    CUDA_TRY(space_identity(p->where, s->order, count));
    CUDA_TRY(space_argsort(p->where, s->key, blocks * LENGTH_CLASSES, s->order, count));
    return parallel_for(p->where, (int64_t)count + 1,
                        find_blocks{count, blocks, s->key, s->order, p->d_first});
}

static cudaError_t lay_out(const spmm_matrix *A, b_tiles *p, scratch *s)
{
    const int count = p->tiles * A->rows;
    int units;
    CUDA_TRY(allocate(p->where, &s->units, count + 1));
    CUDA_TRY(allocate(p->where, &p->d_place, count));
    CUDA_TRY(allocate(p->where, &p->d_segment, count));
    CUDA_TRY(parallel_for(p->where, count, count_units{s->length, s->order, s->units}));
    CUDA_TRY(space_exclusive_scan(p->where, s->units, count + 1));
    CUDA_TRY(space_fetch(p->where, &units, s->units + count, sizeof units));
    CUDA_TRY(parallel_for(
        p->where, count,
        describe_segments{A->rows, s->length, s->order, s->units, p->d_place, p->d_segment}));
    p->num_pairs = (int64_t)units * PAIR_UNIT;
    CUDA_TRY(allocate(p->where, &p->d_pairs, p->num_pairs));
    return segments_copy(p->where, A, &p->split, p->d_place, TILE_ROW_BYTES, p->d_pairs);
}

static cudaError_t publish(const spmm_matrix *A, b_tiles *p)
{
    const size_t count = (size_t)p->tiles * A->rows;
    const array_ref arrays[] = {
        {(void **)&p->d_place, count * sizeof *p->d_place},
        {(void **)&p->d_segment, count * sizeof *p->d_segment},
        {(void **)&p->d_first, (p->chunks * p->tiles + 1) * sizeof *p->d_first},
        {(void **)&p->d_chunk_row, (p->chunks + 1) * sizeof *p->d_chunk_row},
        {(void **)&p->d_pairs, p->num_pairs * sizeof *p->d_pairs},
    };
    return space_publish(&p->where, arrays, sizeof arrays / sizeof *arrays);
}

/* Everything but the shape. */
static cudaError_t build(const spmm_matrix *A, int N, b_tiles *p)
{
    const int slices = (N + TILE_WIDTH - 1) / TILE_WIDTH;
    scratch s = {};
    cudaError_t error;
    int blocks;
    p->rows = A->rows;
    p->tiles = count_tiles(A->cols, p->shape.threads);
    p->split = segments_of_tiles(p->tiles);
    p->shared_bytes = ((A->cols + p->tiles - 1) / p->tiles + 1) * TILE_ROW_BYTES;
    if (A->rows == 0) return cudaSuccess;
    blocks = device_facts_get()->sms * b_tiles_resident(p->shape.threads) * p->shape.waves;
    p->chunks = blocks / (p->tiles * slices);
    if (p->chunks > A->rows) p->chunks = A->rows;
    if (p->chunks < 1) p->chunks = 1;
    const exec_space where = p->where;
    CUDA_TRY_GOTO(error, done, order_segments(A, p, &s));
    CUDA_TRY_GOTO(error, done, lay_out(A, p, &s));
    CUDA_TRY_GOTO(error, done, publish(A, p));
    CUDA_TRY_GOTO(error, done, cudaDeviceSynchronize());
done:
    space_free(where, s.length);
    space_free(where, s.work);
    space_free(where, s.chunk_of);
    space_free(where, s.key);
    space_free(where, s.order);
    space_free(where, s.units);
    return error;
}

cudaError_t b_tiles_build(exec_space where, const spmm_matrix *A, int N, const b_tiles_shape *shape,
                          b_tiles **tiles)
{
    *tiles = NULL;
    if (b_tiles_unsuited(A->rows, A->cols, A->nnz, shape->threads)) return cudaErrorNotSupported;
    b_tiles *p = (b_tiles *)calloc(1, sizeof *p);
    if (!p) return cudaErrorMemoryAllocation;
    p->where = where;
    p->shape = *shape;
    const cudaError_t error = build(A, N, p);
    if (error == cudaSuccess)
        *tiles = p;
    else
        b_tiles_free(p);
    return error;
}

cudaError_t b_tiles_update_values(const spmm_matrix *A, b_tiles *p)
{
    return segments_copy(ON_DEVICE, A, &p->split, p->d_place, TILE_ROW_BYTES, p->d_pairs);
}

cudaError_t b_tiles_value_slots(const spmm_matrix *A, const b_tiles *p, int *d_slot,
                                float **d_copies)
{
    CUDA_TRY(segments_slots(A, &p->split, p->d_place, p->num_pairs, d_slot));
    *d_copies = (float *)p->d_pairs;
    return cudaSuccess;
}

size_t b_tiles_bytes(const b_tiles *p)
{
    if (p->rows == 0) return 0;
    const size_t segments = (size_t)p->tiles * p->rows, blocks = (size_t)p->chunks * p->tiles;
    return segments * sizeof *p->d_segment + (blocks + 1) * sizeof *p->d_first +
           (p->chunks + 1) * sizeof *p->d_chunk_row + p->num_pairs * sizeof *p->d_pairs;
}

void b_tiles_free(b_tiles *p)
{
    if (!p) return;
    space_free(p->where, p->d_place);
    space_free(p->where, p->d_segment);
    space_free(p->where, p->d_first);
    space_free(p->where, p->d_chunk_row);
    space_free(p->where, p->d_pairs);
    free(p);
}
