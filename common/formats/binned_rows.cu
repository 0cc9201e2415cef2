/*
 * binned_rows.cu - from CSR to binned rows: cut the rows, sort the segments by (column block, bin,
 * length, column), find where each one's pairs go, copy them there.
 */
#include "formats/binned_rows.cuh"

#include <stdlib.h>

constexpr int LENGTH_CLASSES = 32; /* lengths that the order of a bin tells apart */

/* ---- steps, each of one index ---------------------------------------------------------------- */

/* The first column block in which a row has a segment; an empty row has one in the rest, block
 * 0. */
struct find_first_block {
    int rows, blocks;
    const int *length;
    int *first_block;

    __host__ __device__ void operator()(int64_t row) const
    {
        int block = 0;
        while (block < blocks && length[(size_t)block * rows + row] == 0)
            block++;
        first_block[row] = block < blocks ? block : 0;
    }
};

/* The column by which a row is ordered; 0 if it is empty. I: of the space's row_ptr. */
template <class I> struct find_column {
    int order; /* enum row_order */
    const I *row_ptr;
    const int *col_idx;
    int *column;

    __host__ __device__ void operator()(int64_t row) const
    {
        const I first = row_ptr[row], end = row_ptr[row + 1];
        column[row] = first == end ? 0 : col_idx[order == BY_FIRST_COLUMN ? first : end - 1];
    }
};

/* The key by which segments are sorted. Segments without nonzeros come last, unless their row is
 * empty. */
struct make_key {
    int rows, windows, window_rows, dropped; /* dropped: the key of segments that do not exist */
    binned_rows_shape shape;
    const int *length, *first_block;
    int *key;

    __host__ __device__ void operator()(int64_t segment) const
    {
        const int block = (int)(segment / rows), row = (int)(segment % rows), n = length[segment];
        if (n == 0 && (block > 0 || first_block[row] > 0)) {
            key[segment] = dropped;
            return;
        }
        const int bin = bin_of(n, shape.serial, block == 0 ? shape.pack : 0);
        int order = 0; /* inside the bin */
        if (bin == SHORT || bin == MEDIUM) {
            const int longest = bin == SHORT ? shape.serial : MEDIUM_GROUPS * shape.serial;
            order = row / window_rows * LENGTH_CLASSES + LENGTH_CLASSES - 1 -
                    (n - 1) * LENGTH_CLASSES / longest;
        }
        key[segment] = (block * NUM_BINS + bin) * windows * LENGTH_CLASSES + order;
    }
};

/* first[b]: the first position of bin b of all column blocks' bins, or of a later one. */
struct find_bins {
    int count, bins, keys_a_bin;
    const int *key, *order;
    int *first;

    __host__ __device__ void operator()(int64_t i) const
    {
        const int before = i > 0 ? key[order[i - 1]] / keys_a_bin : -1;
        const int bin = i < count ? key[order[i]] / keys_a_bin : bins;
        for (int b = before + 1; b <= bin && b <= bins; b++)
            first[b] = (int)i;
    }
};

/* Rounds of `lanes` pairs that the segment at position i takes; none if it is packed. */
struct count_rounds {
    int rows, pack, lanes;
    const int *length, *order;
    int *rounds;

    __host__ __device__ void operator()(int64_t i) const
    {
        const int segment = order[i], n = length[segment];
        const bool packed = segment < rows && n <= pack;
        rounds[i] = packed ? 0 : (n + lanes - 1) / lanes;
    }
};

/* The kernel's view of the segment at position i, and where its pairs go. */
struct describe {
    binned_rows a;
    int rows;
    const int *length, *first_block, *order, *rounds;

    __host__ __device__ void operator()(int64_t i) const
    {
        const int segment = order[i], n = length[segment];
        const int block = segment / rows, row = segment % rows;
        const binned_rows_shape &shape = a.shape;
        a.d_row[i] = block > first_block[row] ? row | ADDS : row;
        a.d_span[i] = make_int2(rounds[i], n);
        a.d_place[segment] = (int64_t)rounds[i] * shape.lanes;
        if (block > 0 || n > shape.pack || n == 0) return;
        const int bin = bin_of(n, shape.serial, shape.pack), slots = slots_of(bin);
        a.d_place[segment] =
            a.packs_at + (int64_t)a.first_pack[bin] * PACK_SLOTS + (i - a.first[bin]) * slots;
    }
};

/* Chunks of LONG segment number i, which is at position `first` + i of its column block. */
struct count_chunks {
    int first, before, chunk_length;
    const int2 *span;
    int *chunks;

    __host__ __device__ void operator()(int64_t i) const
    {
        chunks[before + i] = (span[first + i].y + chunk_length - 1) / chunk_length;
    }
};

struct fill_chunks {
    const int *first_chunk_of;
    int2 *chunk;

    __host__ __device__ void operator()(int64_t i) const
    {
        for (int c = first_chunk_of[i]; c < first_chunk_of[i + 1]; c++)
            chunk[c] = make_int2((int)i, c - first_chunk_of[i]);
    }
};

/* ---- all steps ------------------------------------------------------------------------------- */

/* Arrays of the steps, which the format does not keep. */
struct scratch {
    int *length, *first_block, *key, *order, *rounds, *first;
};

static void scratch_free(exec_space where, scratch *s)
{
    space_free(where, s->length);
    space_free(where, s->first_block);
    space_free(where, s->key);
    space_free(where, s->order);
    space_free(where, s->rounds);
    space_free(where, s->first);
}

/* Sorts the segments of the rest, which come first, by their rows' columns. The sort that follows
 * is stable: among equal keys this order stays. `key` is scratch. */
static cudaError_t order_by_column(const spmm_matrix *A, const binned_rows *a, int *key, int *order)
{
    if (a->shape.order == AS_THEY_COME || A->nnz == 0) return cudaSuccess;
    if (a->where == ON_HOST)
        CUDA_TRY(parallel_for(
            a->where, A->rows,
            find_column<int64_t>{a->shape.order, A->host->row_ptr, A->host->col_idx, key}));
    else
        CUDA_TRY(parallel_for(a->where, A->rows,
                              find_column<int>{a->shape.order, A->d_row_ptr, A->d_col_idx, key}));
    return space_argsort(a->where, key, A->cols - 1, order, A->rows);
}

/* Sorts all segments; fills a->first. */
static cudaError_t order_segments(const spmm_matrix *A, binned_rows *a, scratch *s)
{
    const int rows = A->rows, count = a->column_blocks * rows, bins = a->column_blocks * NUM_BINS;
    const int window = a->shape.window > 0 ? a->shape.window : rows;
    const int windows = (rows - 1) / window + 1, keys_a_bin = windows * LENGTH_CLASSES;
    CUDA_TRY(allocate(a->where, &s->length, count));
    CUDA_TRY(allocate(a->where, &s->first_block, rows));
    CUDA_TRY(allocate(a->where, &s->key, count));
    CUDA_TRY(allocate(a->where, &s->order, count));
    CUDA_TRY(allocate(a->where, &s->first, bins + 1));
    CUDA_TRY(segments_count(a->where, A, &a->split, s->length));
    CUDA_TRY(space_identity(a->where, s->order, count));
    CUDA_TRY(order_by_column(A, a, s->key, s->order));
    CUDA_TRY(parallel_for(a->where, rows,
                          find_first_block{rows, a->column_blocks, s->length, s->first_block}));
    CUDA_TRY(parallel_for(a->where, count,
                          make_key{rows, windows, window, bins * keys_a_bin, a->shape, s->length,
                                   s->first_block, s->key}));
    CUDA_TRY(space_argsort(a->where, s->key, bins * keys_a_bin, s->order, count));
    CUDA_TRY(parallel_for(a->where, (int64_t)count + 1,
                          find_bins{count, bins, keys_a_bin, s->key, s->order, s->first}));
    return space_fetch(a->where, a->first, s->first, (bins + 1) * sizeof(int));
}

/* Finds the place of every pair: rounds in the order of positions, packs behind them. */
static cudaError_t lay_out_pairs(const spmm_matrix *A, binned_rows *a, scratch *s)
{
    const int used = a->first[a->column_blocks * NUM_BINS];
    int rounds;
    CUDA_TRY(allocate(a->where, &s->rounds, used + 1));
    CUDA_TRY(parallel_for(
        a->where, used,
        count_rounds{A->rows, a->shape.pack, a->shape.lanes, s->length, s->order, s->rounds}));
    CUDA_TRY(space_exclusive_scan(a->where, s->rounds, used + 1));
    CUDA_TRY(space_fetch(a->where, &rounds, s->rounds + used, sizeof rounds));
    a->packs_at = ((int64_t)rounds * a->shape.lanes + PACK_SLOTS - 1) / PACK_SLOTS * PACK_SLOTS;
    int64_t packs = 0;
    for (int b = PACK_16; b <= EMPTY; b++) {
        a->first_pack[b] = (int)packs;
        if (b == EMPTY) break;
        const int rows_a_pack = PACK_SLOTS / slots_of(b);
        packs += (a->first[b + 1] - a->first[b] + rows_a_pack - 1) / rows_a_pack;
    }
    /* A group loads the first round of a segment even if that has no pairs left for it. */
    a->num_pairs = a->packs_at + packs * PACK_SLOTS + WARP_SIZE;

    CUDA_TRY(allocate(a->where, &a->d_row, used));
    CUDA_TRY(allocate(a->where, &a->d_span, used));
    CUDA_TRY(
        allocate(a->where, &a->d_place, (int64_t)a->column_blocks * A->rows, 0xff)); /* negative */
    CUDA_TRY(parallel_for(a->where, used,
                          describe{*a, A->rows, s->length, s->first_block, s->order, s->rounds}));
    /* The end of a round that is not full names row 0 of B; a free slot of a pack is a hole. */
    CUDA_TRY(allocate(a->where, &a->d_pairs, a->num_pairs));
    return space_fill(a->where, a->d_pairs + a->packs_at, 0xff, packs * PACK_SLOTS * sizeof(int2));
}

static int slices_of(int N, const binned_rows *a)
{
    return (N + a->shape.width - 1) / a->shape.width;
}

static cudaError_t lay_out_chunks(int N, binned_rows *a)
{
    for (int b = 0; b < a->column_blocks; b++)
        a->first_long[b + 1] =
            a->first_long[b] + a->first[b * NUM_BINS + MEDIUM] - a->first[b * NUM_BINS + LONG];
    const int count = a->first_long[a->column_blocks];
    if (count == 0) return cudaSuccess;
    CUDA_TRY(allocate(a->where, &a->d_first_chunk_of, count + 1));
    for (int b = 0; b < a->column_blocks; b++)
        CUDA_TRY(parallel_for(a->where, a->first_long[b + 1] - a->first_long[b],
                              count_chunks{a->first[b * NUM_BINS + LONG], a->first_long[b],
                                           a->chunk_length, a->d_span, a->d_first_chunk_of}));
    CUDA_TRY(space_exclusive_scan(a->where, a->d_first_chunk_of, count + 1));
    for (int b = 0; b <= a->column_blocks; b++)
        CUDA_TRY(space_fetch(a->where, &a->first_chunk[b], a->d_first_chunk_of + a->first_long[b],
                             sizeof(int)));
    const int64_t chunks = a->first_chunk[a->column_blocks];
    CUDA_TRY(allocate(a->where, &a->d_chunk, chunks));
    CUDA_TRY(parallel_for(a->where, count, fill_chunks{a->d_first_chunk_of, a->d_chunk}));
    CUDA_TRY(allocate(ON_DEVICE, &a->d_partial, chunks * N));
    return allocate(ON_DEVICE, &a->d_arrived, (int64_t)count * slices_of(N, a));
}

static cudaError_t publish(const spmm_matrix *A, binned_rows *a)
{
    const int64_t used = a->first[a->column_blocks * NUM_BINS];
    const int64_t longs = a->first_long[a->column_blocks];
    const array_ref arrays[] = {
        {(void **)&a->d_place, (size_t)a->column_blocks * A->rows * sizeof *a->d_place},
        {(void **)&a->d_row, used * sizeof *a->d_row},
        {(void **)&a->d_span, used * sizeof *a->d_span},
        {(void **)&a->d_pairs, a->num_pairs * sizeof *a->d_pairs},
        {(void **)&a->d_chunk, a->first_chunk[a->column_blocks] * sizeof *a->d_chunk},
        {(void **)&a->d_first_chunk_of, longs > 0 ? (longs + 1) * sizeof *a->d_first_chunk_of : 0},
    };
    return space_publish(&a->where, arrays, sizeof arrays / sizeof *arrays);
}

static cudaError_t build(const spmm_plan *plan, binned_rows *a)
{
    const spmm_matrix *A = &plan->A;
    const exec_space where = a->where;
    const int64_t MOST_SEGMENTS = INT32_MAX / 4;
    scratch s = {};
    cudaError_t error;
    if (A->rows == 0) return cudaSuccess;
    while ((a->shape.blocks + 1) * (int64_t)A->rows > MOST_SEGMENTS && a->shape.blocks > 0)
        a->shape.blocks /= 2;
    a->split = segments_of_column_blocks(A->cols, a->shape.blocks, a->shape.shortest);
    a->column_blocks = a->split.segments;
    CUDA_TRY_GOTO(error, done, order_segments(A, a, &s));
    CUDA_TRY_GOTO(error, done, lay_out_pairs(A, a, &s));
    CUDA_TRY_GOTO(error, done, segments_copy(where, A, &a->split, a->d_place, 0, a->d_pairs));
    CUDA_TRY_GOTO(error, done, lay_out_chunks(plan->N, a));
    CUDA_TRY_GOTO(error, done, publish(A, a));
    CUDA_TRY_GOTO(error, done, cudaDeviceSynchronize());
done:
    scratch_free(where, &s);
    return error;
}

/* ---- the interface --------------------------------------------------------------------------- */

cudaError_t binned_rows_build(exec_space where, const spmm_plan *plan,
                              const binned_rows_shape *shape, binned_rows **rows)
{
    binned_rows *a = (binned_rows *)calloc(1, sizeof *a);
    *rows = a;
    if (!a) return cudaErrorMemoryAllocation;
    a->where = where;
    a->shape = *shape;
    a->chunk_length = LONG_GROUPS * shape->serial;
    const cudaError_t error = build(plan, a);
    if (error == cudaSuccess) return cudaSuccess;
    binned_rows_free(a);
    *rows = NULL;
    return error;
}

cudaError_t binned_rows_update_values(const spmm_matrix *A, binned_rows *rows)
{
    return segments_copy(ON_DEVICE, A, &rows->split, rows->d_place, 0, rows->d_pairs);
}

cudaError_t binned_rows_value_slots(const spmm_matrix *A, const binned_rows *rows, int *d_slot,
                                    float **d_copies)
{
    CUDA_TRY(segments_slots(A, &rows->split, rows->d_place, rows->num_pairs, d_slot));
    *d_copies = (float *)rows->d_pairs;
    return cudaSuccess;
}

const binned_rows_shape *binned_rows_built(const binned_rows *rows)
{
    return &rows->shape;
}

size_t binned_rows_bytes(const binned_rows *rows)
{
    const size_t used = rows->first[rows->column_blocks * NUM_BINS];
    size_t spans = 0; /* packed and empty rows need none */
    for (int block = 0; block < rows->column_blocks; block++)
        spans += rows->first[block * NUM_BINS + PACK_16] - rows->first[block * NUM_BINS + LONG];
    return rows->num_pairs * sizeof *rows->d_pairs + used * sizeof *rows->d_row +
           spans * sizeof *rows->d_span +
           rows->first_chunk[rows->column_blocks] * sizeof *rows->d_chunk;
}

size_t binned_rows_format_bytes(const spmm_plan *plan)
{
    return binned_rows_bytes((const binned_rows *)plan->state);
}

void binned_rows_free(binned_rows *rows)
{
    if (!rows) return;
    space_free(rows->where, rows->d_place);
    space_free(rows->where, rows->d_row);
    space_free(rows->where, rows->d_span);
    space_free(rows->where, rows->d_pairs);
    space_free(rows->where, rows->d_chunk);
    space_free(rows->where, rows->d_first_chunk_of);
    cudaFree(rows->d_partial);
    cudaFree(rows->d_arrived);
    free(rows);
}

binned_rows_shape binned_rows_settle(spmm_plan *plan)
{
    int *const tuning = plan->tuning, &width = tuning[TUNE_WIDTH], &window = tuning[TUNE_WINDOW];
    width = slice_width(plan->N, width);
    if (window >= plan->A.rows) window = 0;
    return {.lanes = slice_lane_count(plan->N, width),
            .width = width,
            .serial = tuning[TUNE_SERIAL],
            .pack = tuning[TUNE_PACK],
            .window = window,
            .order = tuning[TUNE_ORDER]};
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Blocks that `count` segments of a bin take; packed rows take a group a pack. */
static int blocks_of_bin(const binned_rows *a, int column_block, int bin, int count)
{
    const int groups = BLOCK / a->shape.lanes;
    switch (bin) {
    case LONG:
        return a->first_chunk[column_block + 1] - a->first_chunk[column_block];
    case MEDIUM:
        return (count + WARPS - 1) / WARPS;
    case SHORT:
        return (count + groups - 1) / groups;
    case EMPTY:
        return (count + groups * ZEROED_ROWS - 1) / (groups * ZEROED_ROWS);
    default:
        if (column_block > 0) return 0;
        return (a->first_pack[bin + 1] - a->first_pack[bin] + groups - 1) / groups;
    }
}

binned_rows_product binned_rows_product_of(const binned_rows *a, int N, int column_block)
{
    const int *const first = a->first + column_block * NUM_BINS, base = first[0];
    binned_rows_product p = {.N = N,
                             .num_slices = slices_of(N, a),
                             .chunk_length = a->chunk_length,
                             .row = a->d_row + base,
                             .span = a->d_span + base,
                             .pairs = a->d_pairs,
                             .packs = a->d_pairs + a->packs_at,
                             .chunk = a->d_chunk,
                             .first_chunk_of = a->d_first_chunk_of,
                             .before_long = a->first_long[column_block],
                             .before_chunk = a->first_chunk[column_block],
                             .partial = a->d_partial,
                             .arrived = a->d_arrived};
    for (int b = 0; b < NUM_BINS; b++) {
        p.first[b + 1] = first[b + 1] - base;
        p.block[b + 1] = p.block[b] + blocks_of_bin(a, column_block, b, first[b + 1] - first[b]);
        p.first_pack[b] = a->first_pack[b];
    }
    return p;
}
