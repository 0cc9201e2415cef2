/*
 * exchange.h - how ranks that share one product get rows of B from each other.
 *
 *   rank       one of P partners: it has a range of rows of A and of C, a part of B, and two streams
 *   part       the rows of B that a rank has at home: V / P of them, the last ranks one fewer
 *   loopback   all ranks on the current device, one after the other on the host: copies of the device move
 *              the bytes. For results, plans and checks; it is no measure of any speed
 *
 * Labs 70 and 71 see this interface alone. Another kind, with a GPU for each rank, is an exchange_kind more.
 */
#ifndef EXCHANGE_EXCHANGE_H
#define EXCHANGE_EXCHANGE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EXCHANGE_MOST_RANKS = 64 };

/* A rank that this process works for. */
typedef struct exchange_rank {
    int rank;                /* 0 .. ranks - 1 */
    int device;              /* its arrays lie there */
    cudaStream_t work, wire; /* for products, and for what the exchange moves */
    cudaEvent_t idle[2];     /* the last work of both streams: fork and join record it */
} exchange_rank;

typedef struct exchange exchange;

/* A rank's share of a gather. */
typedef struct exchange_piece {
    const void *
        from; /* where the rank has it; only the own one counts where ranks have no memory in common */
    size_t bytes; /* 0: it has none */
    size_t at;    /* byte of the whole at which it belongs; pieces must not overlap */
} exchange_piece;

/* Way in which bytes get from rank to rank. */
typedef struct exchange_kind {
    const char *name;
    /* Calls step(rank, context) for each local rank, on its device. The result is the error of the lowest rank that
     * has one. */
    cudaError_t (*each)(exchange *e, cudaError_t (*step)(exchange_rank *, void *), void *context);
    /* Enqueues on the rank's wire stream: the pieces of all ranks to `whole`. Every rank must call it with the same sizes
     * and places, the same number of times. */
    cudaError_t (*gather)(exchange *e, exchange_rank *r, const exchange_piece *pieces, void *whole);
    /* Frees what the kind has allocated in e->own. */
    void (*close)(exchange *e);
} exchange_kind;

struct exchange {
    const exchange_kind *kind;
    int ranks;            /* of all processes */
    int locals;           /* of them, those of this process ... */
    exchange_rank *local; /* ... ascending */
    cudaEvent_t begin;    /* of the caller's stream: fork records it */
    void *own;            /* the kind's */
};

/* Opens an exchange among `ranks` ranks on the current device, 1 to EXCHANGE_MOST_RANKS. exchange_close frees it.
 * On error *e is NULL. */
cudaError_t exchange_open_loopback(int ranks, exchange **e);

/* Makes the streams and events of all local ranks, on the device that each of them names: the last step of a kind's own
 * open. After an error too, exchange_close frees those that were made. */
cudaError_t exchange_make_streams(exchange *e);

/* Frees the exchange; NULL is allowed. Streams must have no work left. */
void exchange_close(exchange *e);

/* Lets both streams of every local rank wait for what `stream` holds so far. */
cudaError_t exchange_fork(exchange *e, cudaStream_t stream);

/* Lets `stream` wait for what both streams of every local rank hold so far. */
cudaError_t exchange_join(exchange *e, cudaStream_t stream);

/* The first of `count` rows of rank `rank`'s part: count is dealt so that parts differ by one row at most, the larger
 * ones first. exchange_part(count, ranks, ranks) is count. */
int64_t exchange_part(int64_t count, int ranks, int rank);

#ifdef __cplusplus
}
#endif
#endif
