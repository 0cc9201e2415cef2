/*
 * block_lut.c - from a layout to segments, on the host.
 *
 * Let `most` and `fewest` be the largest and the smallest number of blocks of an output that has any. If most is at most
 * twice fewest, nothing is cut. Else a segment ends once it has `whole` pairs and at least `least` remain, so that no
 * short tail is left over:
 *
 *   whole = max(ceil(most / 4), 2 * fewest)         least = max(ceil(whole / 4), 4)
 *
 * Evenly, a list of n pairs becomes k = ceil(n / longest) segments; segment i begins at pair floor(n i / k).
 *
 * In pieces, pair i of output o stands at place ptr[o] + o + i of all pairs and outputs, T together. Piece k of P begins at
 * place ceil(T k / P).
 */
#include "formats/block_lut.h"

#include "device/cuda_try.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Lists of blocks by output, and where they are cut. */
typedef struct lists {
    int outs;
    const int *ptr, *block; /* of each output */
    const int *input;       /* of each block */
    int whole, least;       /* INT_MAX: no list is cut */
    int longest;            /* of even segments; 0: as `whole` and `least` say */
    int pieces;             /* wanted; 0: a segment is one */
    int *order;             /* the outputs, in the order of the table */
} lists;

static int round_up(int x, int by)
{
    return (x + by - 1) / by;
}

/* Sets where lists are cut, by the lengths of these outputs. */
static void choose_cuts(lists *l, int outs, const int *ptr)
{
    int most = 0, fewest = INT_MAX;
    for (int o = 0; o < outs; o++) {
        const int n = ptr[o + 1] - ptr[o];
        if (n > most) most = n;
        if (n > 0 && n < fewest) fewest = n;
    }
    l->whole = l->least = INT_MAX;
    if (most <= 2 * (int64_t)fewest) return;
    l->whole = round_up(most, 4) > 2 * fewest ? round_up(most, 4) : 2 * fewest;
    l->least = round_up(l->whole, 4) > 4 ? round_up(l->whole, 4) : 4;
}

/* Returns the place of an output, or behind the last one, among all pairs and outputs. */
static int64_t place_of(const lists *l, int out)
{
    return (int64_t)l->ptr[out] + out;
}

/* Returns the piece that has this place, and the first place of a piece. */
static int64_t piece_at(const lists *l, int64_t place)
{
    return place * l->pieces / place_of(l, l->outs);
}
static int64_t begin_of_piece(const lists *l, int64_t piece)
{
    return (place_of(l, l->outs) * piece + l->pieces - 1) / l->pieces;
}

/* Returns the end of the segment of a piece that begins at pair `from` of an output's list of n. A cut that would leave one pair on
 * either side is left out. */
static int end_in_piece(const lists *l, int out, int from, int n)
{
    const int64_t zero = place_of(l, out);
    int64_t piece = piece_at(l, zero + from), end;
    do {
        end = begin_of_piece(l, ++piece) - zero;
    } while (end < from + 2 && end < n);
    return end < n - 1 ? (int)end : n;
}

/* The end of the segment that begins at pair `from` of an output's list of n. */
static int segment_end(const lists *l, int out, int from, int n)
{
    if (l->pieces > 0) return end_in_piece(l, out, from, n);
    if (l->longest > 0 && n > 0) {
        const int64_t k = round_up(n, l->longest), i = ((int64_t)from * k + n - 1) / n;
        return (int)(n * (i + 1) / k);
    }
    return l->whole < n - from && n - from - l->whole >= l->least ? from + l->whole : n;
}

static int segments_of(const lists *l, int out)
{
    const int n = l->ptr[out + 1] - l->ptr[out];
    int segments = n == 0;
    for (int from = 0; from < n; from = segment_end(l, out, from, n))
        segments++;
    return segments;
}

static void count(const lists *l, block_lut *t)
{
    for (int o = 0; o < l->outs; o++) {
        const int segments = segments_of(l, o);
        t->segments += segments;
        t->shares += segments > 1;
        t->parts += segments > 1 ? segments : 0;
    }
    t->ints = BLOCK_LUT_HEADER * t->segments + 2 * l->ptr[l->outs];
}

/* Writes the segments of an output from segment *next on, whose pairs begin at *pair. */
static void write_output(const lists *l, int out, int share, int *next, int *pair, block_lut *t)
{
    const int n = l->ptr[out + 1] - l->ptr[out], *block = l->block + l->ptr[out];
    for (int from = 0, end; from < n || n == 0; from = end) {
        end = segment_end(l, out, from, n);
        int *header = t->host + BLOCK_LUT_HEADER * (*next)++;
        header[0] = *pair;
        header[1] = end - from;
        header[2] = out;
        header[3] = share;
        if (end - from > t->longest) t->longest = end - from;
        for (int i = from; i < end; i++, (*pair)++) {
            t->host[2 * *pair] = l->input[block[i]];
            t->host[2 * *pair + 1] = block[i];
        }
        if (n == 0) return;
    }
}

static void write_table(const lists *l, block_lut *t)
{
    int next = 0, pair = BLOCK_LUT_HEADER / 2 * t->segments, share = 0;
    for (int i = 0; i < l->outs; i++) {
        const int o = l->order[i], segments = segments_of(l, o);
        const bool is_shared = segments > 1;
        if (is_shared) {
            t->first_segment[share] = next;
            t->part_start[share + 1] = t->part_start[share] + segments;
            share++;
        }
        write_output(l, o, is_shared ? share : 0, &next, &pair, t);
    }
}

/* Notes where pieces begin: a segment is of the piece that has its middle. */
static void write_pieces(const lists *l, block_lut *t)
{
    int64_t last = -1, before = 0;
    int out = -1;
    for (int s = 0; s < t->segments; s++) {
        const int *header = t->host + BLOCK_LUT_HEADER * s;
        if (header[2] != out) before = 0;
        out = header[2];
        const int64_t piece = piece_at(l, place_of(l, out) + before + header[1] / 2);
        if (piece != last) t->first_of_piece[t->pieces++] = s;
        last = piece;
        before += header[1];
    }
    t->first_of_piece[t->pieces] = t->segments;
}

/* An output and its rank: cut evenly, the pairs of its longest segment. */
typedef struct ranked {
    int out, rank;
} ranked;

static int higher_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->rank != y->rank ? (x->rank < y->rank) - (x->rank > y->rank) : x->out - y->out;
}

/* Returns the rank of an output with so many pairs. */
static int rank_of(const lists *l, int pairs)
{
    if (l->pieces > 0) return 0;
    if (pairs == 0) return -1;
    return l->longest > 0 ? round_up(pairs, round_up(pairs, l->longest)) : 0;
}

/* Puts outputs into the order of the table: in pieces as they are; else those without pairs last, and, cut evenly, longer
 * segments first. */
static cudaError_t put_in_order(lists *l)
{
    l->order = malloc(((size_t)l->outs + 1) * sizeof *l->order);
    ranked *r = malloc(((size_t)l->outs + 1) * sizeof *r);
    for (int o = 0; l->order && r && o < l->outs; o++)
        r[o] = (ranked){o, rank_of(l, l->ptr[o + 1] - l->ptr[o])};
    const bool good = l->order && r;
    if (good) qsort(r, l->outs, sizeof *r, higher_first);
    for (int o = 0; good && o < l->outs; o++)
        l->order[o] = r[o].out;
    free(r);
    return good ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t publish(const int *from, size_t count, int **to)
{
    CUDA_TRY(cudaMalloc((void **)to, (count + 1) * sizeof **to));
    return cudaMemcpy(*to, from, count * sizeof **to, cudaMemcpyHostToDevice);
}

static cudaError_t fill(const lists *l, block_lut *t)
{
    count(l, t);
    t->host = malloc(((size_t)t->ints + 1) * sizeof *t->host);
    t->part_start = calloc((size_t)t->shares + 1, sizeof *t->part_start);
    t->first_segment = calloc((size_t)t->shares + 1, sizeof *t->first_segment);
    if (!t->host || !t->part_start || !t->first_segment) return cudaErrorMemoryAllocation;
    write_table(l, t);
    CUDA_TRY(publish(t->host, t->ints, &t->device));
    CUDA_TRY(publish(t->part_start, t->shares + 1, &t->d_part_start));
    CUDA_TRY(publish(t->first_segment, t->shares + 1, &t->d_first_segment));
    if (l->pieces == 0) {
        t->pieces = t->segments;
        return cudaSuccess;
    }
    t->first_of_piece = calloc((size_t)t->segments + 1, sizeof *t->first_of_piece);
    if (!t->first_of_piece) return cudaErrorMemoryAllocation;
    write_pieces(l, t);
    return publish(t->first_of_piece, t->pieces + 1, &t->d_first_of_piece);
}

cudaError_t block_lut_build(const block_layout *layout, bool rows, enum block_lut_rule rule,
                            int limit, block_lut **lut)
{
    lists l = {.outs = rows ? layout->rows : layout->cols,
               .ptr = rows ? layout->row_ptr : layout->col_ptr,
               .block = rows ? layout->of_row : layout->of_col,
               .input = rows ? layout->col : layout->row,
               .whole = INT_MAX,
               .least = INT_MAX};
    *lut = NULL;
    if (rule == BLOCK_LUT_EVEN) l.longest = limit;
    if (rule == BLOCK_LUT_PIECES) l.pieces = limit;
    if (rule == BLOCK_LUT_OWN) choose_cuts(&l, l.outs, l.ptr);
    if (rule == BLOCK_LUT_COLUMNS) choose_cuts(&l, layout->cols, layout->col_ptr);
    block_lut *t = calloc(1, sizeof *t);
    if (!t) return cudaErrorMemoryAllocation;
    cudaError_t error = put_in_order(&l);
    if (error == cudaSuccess) error = fill(&l, t);
    free(l.order);
    if (error == cudaSuccess)
        *lut = t;
    else
        block_lut_free(t);
    return error;
}

int64_t block_lut_even_segments(const block_layout *layout, bool rows, int longest)
{
    const lists l = {.ptr = rows ? layout->row_ptr : layout->col_ptr, .longest = longest};
    int64_t segments = 0;
    for (int o = 0; o < (rows ? layout->rows : layout->cols); o++)
        segments += segments_of(&l, o);
    return segments;
}

size_t block_lut_bytes(const block_lut *lut)
{
    const size_t of_pieces = lut->first_of_piece ? (size_t)lut->pieces + 1 : 0;
    return ((size_t)lut->ints + 2 * ((size_t)lut->shares + 1) + of_pieces) * sizeof(int);
}

void block_lut_free(block_lut *lut)
{
    if (!lut) return;
    free(lut->host);
    free(lut->part_start);
    free(lut->first_segment);
    free(lut->first_of_piece);
    cudaFree(lut->device);
    cudaFree(lut->d_part_start);
    cudaFree(lut->d_first_segment);
    cudaFree(lut->d_first_of_piece);
    free(lut);
}
