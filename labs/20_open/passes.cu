/*
 * passes.cu - from CSR to passes and bins: cut the rows, sort the segments by (pass, bin, length, column),
 * say where each one's pairs go, copy them there.
 */
#include "passes.h"

#include "device/warp.cuh"

constexpr int LENGTH_CLASSES = 32; /* lengths that the order of a bin tells apart */

/* ---- steps, each of one index ---------------------------------------------------------------- */

/* The first pass in which a row has a segment; an empty row has one in pass 0. */
struct find_first_pass {
    int rows, passes;
    const int *length;
    int *first_pass;

    __host__ __device__ void operator()(int64_t row) const
    {
        int pass = 0;
        while (pass < passes && length[(size_t)pass * rows + row] == 0)
            pass++;
        first_pass[row] = pass < passes ? pass : 0;
    }
};

/* The column by which a row is ordered; 0 if it is empty. I: of the site's row_ptr. */
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

/* What segments are sorted by. Segments without nonzeros come last, unless their row is empty. */
struct make_key {
    int rows, windows, window_rows, dropped; /* dropped: the key of what does not exist */
    passes_shape shape;
    const int *length, *first_pass;
    int *key;

    __host__ __device__ void operator()(int64_t segment) const
    {
        const int pass = (int)(segment / rows), row = (int)(segment % rows), n = length[segment];
        if (n == 0 && (pass > 0 || first_pass[row] > 0)) {
            key[segment] = dropped;
            return;
        }
        const int bin = bin_of(n, shape.serial, pass == 0 ? shape.pack : 0);
        int order = 0; /* inside the bin */
        if (bin == SHORT || bin == MEDIUM) {
            const int longest = bin == SHORT ? shape.serial : MEDIUM_GROUPS * shape.serial;
            order = row / window_rows * LENGTH_CLASSES + LENGTH_CLASSES - 1 -
                    (n - 1) * LENGTH_CLASSES / longest;
        }
        key[segment] = (pass * NUM_BINS + bin) * windows * LENGTH_CLASSES + order;
    }
};

/* first[b]: the first position of bin b of all passes' bins, or of a later one. */
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

/* Rounds of `lanes` pairs that the segment at position i takes; none if it goes into a packet. */
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

/* What the kernel reads of the segment at position i, and where its pairs go. */
struct describe {
    passes_plan plan;
    int rows;
    const int *length, *first_pass, *order, *rounds;

    __host__ __device__ void operator()(int64_t i) const
    {
        const int segment = order[i], n = length[segment];
        const int pass = segment / rows, row = segment % rows;
        const passes_shape &shape = plan.shape;
        plan.d_row[i] = pass > first_pass[row] ? row | ADDS : row;
        plan.d_span[i] = make_int2(rounds[i], n);
        plan.d_place[segment] = (int64_t)rounds[i] * shape.lanes;
        if (pass > 0 || n > shape.pack || n == 0) return;
        const int bin = bin_of(n, shape.serial, shape.pack), slots = slots_of(bin);
        plan.d_place[segment] =
            plan.packets_at + (int64_t)plan.packet[bin] * PACKET + (i - plan.first[bin]) * slots;
    }
};

/* Parts of LONG segment number i, which is at position `first` + i of its pass. */
struct count_parts {
    int first, before, part_length;
    const int2 *span;
    int *parts;

    __host__ __device__ void operator()(int64_t i) const
    {
        parts[before + i] = (span[first + i].y + part_length - 1) / part_length;
    }
};

struct fill_parts {
    const int *first_part_of;
    int2 *part;

    __host__ __device__ void operator()(int64_t i) const
    {
        for (int p = first_part_of[i]; p < first_part_of[i + 1]; p++)
            part[p] = make_int2((int)i, p - first_part_of[i]);
    }
};

/* ---- the plan -------------------------------------------------------------------------------- */

/* Arrays of the steps, which the plan does not keep. */
struct scratch {
    int *length, *first_pass, *key, *order, *rounds, *first;
};

static void scratch_free(site where, scratch *s)
{
    site_free(where, s->length);
    site_free(where, s->first_pass);
    site_free(where, s->key);
    site_free(where, s->order);
    site_free(where, s->rounds);
    site_free(where, s->first);
}

/* Sorts the segments of pass 0, which come first, by their rows' columns: what is alike in the keys of the sort
 * behind this one, which is stable, stays so. `key` is scratch. */
static cudaError_t order_by_column(const spmm_matrix *A, const passes_plan *p, int *key, int *order)
{
    if (p->shape.order == AS_THEY_COME || A->nnz == 0) return cudaSuccess;
    if (p->where == ON_HOST)
        CUDA_TRY(
            each(p->where, A->rows,
                 find_column<int64_t>{p->shape.order, A->host->row_ptr, A->host->col_idx, key}));
    else
        CUDA_TRY(each(p->where, A->rows,
                      find_column<int>{p->shape.order, A->d_row_ptr, A->d_col_idx, key}));
    return site_argsort(p->where, key, A->cols - 1, order, A->rows);
}

/* Sorts all segments; fills passes->first. */
static cudaError_t order_segments(const spmm_matrix *A, passes_plan *p, scratch *s)
{
    const int rows = A->rows, count = p->passes * rows, bins = p->passes * NUM_BINS;
    const int window = p->shape.window > 0 ? p->shape.window : rows;
    const int windows = (rows - 1) / window + 1, keys_a_bin = windows * LENGTH_CLASSES;
    CUDA_TRY(allocate(p->where, &s->length, count));
    CUDA_TRY(allocate(p->where, &s->first_pass, rows));
    CUDA_TRY(allocate(p->where, &s->key, count));
    CUDA_TRY(allocate(p->where, &s->order, count));
    CUDA_TRY(allocate(p->where, &s->first, bins + 1));
    CUDA_TRY(split_count(p->where, A, &p->split, s->length));
    CUDA_TRY(site_identity(p->where, s->order, count));
    CUDA_TRY(order_by_column(A, p, s->key, s->order));
    CUDA_TRY(each(p->where, rows, find_first_pass{rows, p->passes, s->length, s->first_pass}));
    CUDA_TRY(each(p->where, count,
                  make_key{rows, windows, window, bins * keys_a_bin, p->shape, s->length,
                           s->first_pass, s->key}));
    CUDA_TRY(site_argsort(p->where, s->key, bins * keys_a_bin, s->order, count));
    CUDA_TRY(each(p->where, (int64_t)count + 1,
                  find_bins{count, bins, keys_a_bin, s->key, s->order, s->first}));
    return site_fetch(p->where, p->first, s->first, (bins + 1) * sizeof(int));
}

/* Where everything goes: rounds in the order of positions, packets behind them. */
static cudaError_t lay_out_pairs(const spmm_matrix *A, passes_plan *p, scratch *s)
{
    const int used = p->first[p->passes * NUM_BINS];
    int rounds;
    CUDA_TRY(allocate(p->where, &s->rounds, used + 1));
    CUDA_TRY(
        each(p->where, used,
             count_rounds{A->rows, p->shape.pack, p->shape.lanes, s->length, s->order, s->rounds}));
    CUDA_TRY(site_exclusive_scan(p->where, s->rounds, used + 1));
    CUDA_TRY(site_fetch(p->where, &rounds, s->rounds + used, sizeof rounds));
    p->packets_at = ((int64_t)rounds * p->shape.lanes + PACKET - 1) / PACKET * PACKET;
    int64_t packets = 0;
    for (int b = PACK_16; b <= EMPTY; b++) {
        p->packet[b] = (int)packets;
        if (b == EMPTY) break;
        const int a_packet = PACKET / slots_of(b);
        packets += (p->first[b + 1] - p->first[b] + a_packet - 1) / a_packet;
    }
    /* A group loads the first round of a segment even if that has no pairs left for it. */
    p->num_pairs = p->packets_at + packets * PACKET + WARP_SIZE;

    CUDA_TRY(allocate(p->where, &p->d_row, used));
    CUDA_TRY(allocate(p->where, &p->d_span, used));
    CUDA_TRY(allocate(p->where, &p->d_place, (int64_t)p->passes * A->rows, 0xff)); /* negative */
    CUDA_TRY(
        each(p->where, used, describe{*p, A->rows, s->length, s->first_pass, s->order, s->rounds}));
    /* What is left over of a round names row 0 of B; of a packet it is a hole. */
    CUDA_TRY(allocate(p->where, &p->d_pairs, p->num_pairs));
    return site_fill(p->where, p->d_pairs + p->packets_at, 0xff, packets * PACKET * sizeof(int2));
}

static cudaError_t lay_out_parts(int N, passes_plan *p)
{
    for (int pass = 0; pass < p->passes; pass++)
        p->first_long[pass + 1] = p->first_long[pass] + p->first[pass * NUM_BINS + MEDIUM] -
                                  p->first[pass * NUM_BINS + LONG];
    const int count = p->first_long[p->passes];
    if (count == 0) return cudaSuccess;
    CUDA_TRY(allocate(p->where, &p->d_first_part_of, count + 1));
    for (int pass = 0; pass < p->passes; pass++)
        CUDA_TRY(each(p->where, p->first_long[pass + 1] - p->first_long[pass],
                      count_parts{p->first[pass * NUM_BINS + LONG], p->first_long[pass],
                                  p->part_length, p->d_span, p->d_first_part_of}));
    CUDA_TRY(site_exclusive_scan(p->where, p->d_first_part_of, count + 1));
    for (int pass = 0; pass <= p->passes; pass++)
        CUDA_TRY(site_fetch(p->where, &p->first_part[pass],
                            p->d_first_part_of + p->first_long[pass], sizeof(int)));
    const int64_t parts = p->first_part[p->passes];
    CUDA_TRY(allocate(p->where, &p->d_part, parts));
    CUDA_TRY(each(p->where, count, fill_parts{p->d_first_part_of, p->d_part}));
    CUDA_TRY(allocate(ON_DEVICE, &p->d_partial, parts * N));
    return allocate(ON_DEVICE, &p->d_arrived, (int64_t)count * p->shape.slices);
}

static cudaError_t publish(const spmm_matrix *A, passes_plan *p)
{
    const int64_t used = p->first[p->passes * NUM_BINS], longs = p->first_long[p->passes];
    const array_ref arrays[] = {
        {(void **)&p->d_place, (size_t)p->passes * A->rows * sizeof *p->d_place},
        {(void **)&p->d_row, used * sizeof *p->d_row},
        {(void **)&p->d_span, used * sizeof *p->d_span},
        {(void **)&p->d_pairs, p->num_pairs * sizeof *p->d_pairs},
        {(void **)&p->d_part, p->first_part[p->passes] * sizeof *p->d_part},
        {(void **)&p->d_first_part_of, longs > 0 ? (longs + 1) * sizeof *p->d_first_part_of : 0},
    };
    return site_publish(&p->where, arrays, sizeof arrays / sizeof *arrays);
}

cudaError_t passes_build(site where, const spmm_plan *plan, const passes_shape *shape,
                         passes_plan *p)
{
    const spmm_matrix *A = &plan->A;
    const int64_t MOST_SEGMENTS = INT32_MAX / 4;
    scratch s = {};
    cudaError_t error;
    *p = {};
    p->where = where;
    p->shape = *shape;
    p->part_length = LONG_GROUPS * shape->serial;
    if (A->rows == 0) return cudaSuccess;
    while ((p->shape.blocks + 1) * (int64_t)A->rows > MOST_SEGMENTS && p->shape.blocks > 0)
        p->shape.blocks /= 2;
    p->split = split_into_blocks(A->cols, p->shape.blocks, shape->shortest);
    p->passes = p->split.segments;
    CUDA_TRY_GOTO(error, done, order_segments(A, p, &s));
    CUDA_TRY_GOTO(error, done, lay_out_pairs(A, p, &s));
    CUDA_TRY_GOTO(error, done, split_copy(where, A, &p->split, p->d_place, 0, p->d_pairs));
    CUDA_TRY_GOTO(error, done, lay_out_parts(plan->N, p));
    CUDA_TRY_GOTO(error, done, publish(A, p));
    CUDA_TRY_GOTO(error, done, cudaDeviceSynchronize());
done:
    scratch_free(where, &s);
    if (error != cudaSuccess) passes_free(p);
    return error;
}

cudaError_t passes_update_values(const spmm_matrix *A, passes_plan *p)
{
    return split_copy(ON_DEVICE, A, &p->split, p->d_place, 0, p->d_pairs);
}

void passes_free(passes_plan *p)
{
    site_free(p->where, p->d_place);
    site_free(p->where, p->d_row);
    site_free(p->where, p->d_span);
    site_free(p->where, p->d_pairs);
    site_free(p->where, p->d_part);
    site_free(p->where, p->d_first_part_of);
    cudaFree(p->d_partial);
    cudaFree(p->d_arrived);
    *p = {};
}
