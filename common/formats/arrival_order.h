/*
 * arrival_order.h - the rows of B in the order in which they arrive, if each of P ranks sends its part in K chunks.
 *
 *   chunk k     the k-th rows of every rank's part: `each` rows of rank 0, then of rank 1, and so on
 *   place       of a row: where it stands in the gathered B; chunk k has the places k P each .. (k + 1) P each - 1
 *
 * Parts are those of exchange_part. Where V is no multiple of P K, the last chunks of a part have fewer rows, and the
 * places behind them stay empty: no nonzero names them.
 */
#ifndef FORMATS_ARRIVAL_ORDER_H
#define FORMATS_ARRIVAL_ORDER_H

#include "exchange/exchange.h"

#ifdef __CUDACC__
#define ARRIVAL_BOTH __host__ __device__
#else
#define ARRIVAL_BOTH
#endif

typedef struct arrival_order {
    int64_t rows;      /* of B: V */
    int ranks, chunks; /* P and K, at least 1 */
    int64_t each;      /* rows of a rank in a chunk: a K-th of the largest part, rounded up */
} arrival_order;

static inline arrival_order arrival_order_of(int64_t rows, int ranks, int chunks)
{
    const int64_t largest = (rows + ranks - 1) / ranks;
    const arrival_order order = {rows, ranks, chunks, (largest + chunks - 1) / chunks};
    return order;
}

/* Places of a chunk, at least 1; and of all chunks. */
static inline int64_t arrival_chunk_rows(const arrival_order *o)
{
    return o->each > 0 ? o->each * o->ranks : 1;
}

static inline int64_t arrival_rows(const arrival_order *o)
{
    return o->each * o->ranks * o->chunks;
}

/* The place of row v of B. The first V mod P parts have a row more than the others. */
static inline ARRIVAL_BOTH int64_t arrival_place(const arrival_order *o, int64_t v)
{
    const int64_t small = o->rows / o->ranks, more = o->rows % o->ranks;
    const int64_t in_large = more * (small + 1); /* rows of the larger parts */
    const int64_t rank = v < in_large ? v / (small + 1) : more + (v - in_large) / small;
    const int64_t own = v < in_large ? v % (small + 1) : (v - in_large) % small;
    return (own / o->each * o->ranks + rank) * o->each + own % o->each;
}

/* Rows *from .. *end - 1 of B are chunk `chunk` of rank `rank`'s part; there may be none. */
static inline void arrival_chunk(const arrival_order *o, int rank, int chunk, int64_t *from,
                                 int64_t *end)
{
    const int64_t begin = exchange_part(o->rows, o->ranks, rank);
    const int64_t stop = exchange_part(o->rows, o->ranks, rank + 1);
    const int64_t first = begin + chunk * o->each, after = first + o->each;
    *from = first < stop ? first : stop;
    *end = after < stop ? after : stop;
}

#endif
