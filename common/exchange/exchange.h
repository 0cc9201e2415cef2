/*
 * exchange.h - how ranks that share one product get rows of B from each other.
 *
 *   rank       one of P partners: it has a range of rows of A and of C, a part of B, and two streams
 *   part       the rows of B that a rank has at home: V / P of them, the last ranks one fewer
 *   loopback   all ranks on the current device, one after the other on the host: copies of the device move
 *              the bytes. For results, plans and checks; it is no measure of any speed
 *   NCCL       a device for each rank: threads of this process, or processes of a launch (exchange/launch.h)
 *
 * Labs 70 and 71 see this interface alone (and exchange/home.h).
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

/* Bytes that a rank gives to one partner, and those that it takes from it. */
typedef struct exchange_parcel {
    const void *give; /* own memory */
    size_t give_bytes;
    const void *from; /* where the partner has it; counts only where ranks have memory in common */
    void *take;       /* own memory */
    size_t take_bytes;
} exchange_parcel;

/* A rank's share of some work, on its device. */
typedef cudaError_t (*exchange_step)(exchange_rank *, void *context);

/* Way in which bytes get from rank to rank. */
typedef struct exchange_kind {
    const char *name;
    /* Whether a rank can read what another one has: then streams of different ranks must wait for each other
     * (exchange_meet). Else sends and receives do it. */
    bool shares_memory;
    /* Calls step(rank, context) for each local rank, on its device. The result is the error of the lowest rank that
     * has one. */
    cudaError_t (*each)(exchange *e, exchange_step step, void *context);
    /* Enqueues on the rank's wire stream: the pieces of all ranks to `whole`. Every rank must call it with the same sizes
     * and places, the same number of times. */
    cudaError_t (*gather)(exchange *e, exchange_rank *r, const exchange_piece *pieces, void *whole);
    /* Enqueues on the rank's wire stream: parcels[q] for partner q, the own one is a copy. Two partners must name the
     * same sizes. */
    cudaError_t (*swap)(exchange *e, exchange_rank *r, const exchange_parcel *parcels);
} exchange_kind;

struct exchange {
    const exchange_kind *kind;
    int ranks;            /* of all processes */
    int locals;           /* of them, those of this process ... */
    exchange_rank *local; /* ... ascending */
    int device;           /* that was current when it was opened: the caller's arrays lie there */
    cudaEvent_t begin;    /* of the caller's stream: fork records it */
};

/* ---- which kind ------------------------------------------------------------------------------ */

/* Chooses for all exchanges of this process: `devices` ranks with a device each, the current one and those after
 * it; 0: a loopback. Processes of a launch have a rank each: devices is how many there are in all. */
void exchange_use_devices(int devices);
int exchange_devices(void);

/* Whether this program was built with NCCL. */
bool exchange_has_devices(void);

/* Whether ranks may be more than devices, and share them: NCCL from 2.30 on takes that where NCCL_MULTI_RANK_GPU_ENABLE is
 * 1, for results, not for speed. */
bool exchange_may_share(void);

/* Why runs of an exchange are not timed; NULL: they are. For contender.untimed. */
const char *exchange_untimed(void);

/* Opens an exchange as exchange_use_devices said, else a loopback of `ranks` ranks. The first with devices lets all
 * ranks meet, which they do once in a process. exchange_close frees it. On error *e is NULL; cudaErrorNotSupported:
 * built without NCCL; cudaErrorInvalidDevice: too few devices. */
cudaError_t exchange_open(int ranks, exchange **e);

/* Opens an exchange among `ranks` ranks on the current device, 1 to EXCHANGE_MOST_RANKS. */
cudaError_t exchange_open_loopback(int ranks, exchange **e);

/* Opens one among all ranks by NCCL. */
cudaError_t exchange_open_nccl(int ranks, exchange **e);

/* Frees the exchange; NULL is allowed. Streams must have no work left. */
void exchange_close(exchange *e);

/* Lets ranks part that met: at the end of the program. */
void exchange_part_company(void);

/* Why ranks were lost, in one line: no exchange works any more. NULL: none was. */
const char *exchange_failure(void);

/* ---- waiting --------------------------------------------------------------------------------- */

/* Waits until `stream` has done all its work. A rank that died would keep it waiting for ever. So the ranks of this
 * process give up after EXCHANGE_TIMEOUT seconds (60, of the environment), and at once where NCCL tells of an error.
 * Then every later exchange fails. Returns at once if no ranks have met. */
cudaError_t exchange_wait(cudaStream_t stream);

/* Seconds that a rank waits for another. */
double exchange_timeout(void);

/* Tells all processes of the lowest rank's error, so that they end alike. Each must call it. */
cudaError_t exchange_agree(exchange *e, cudaError_t error);

/* ---- streams --------------------------------------------------------------------------------- */

/* Makes an exchange of that kind, whose local ranks are first .. first + locals - 1, on device[0 .. locals - 1], with
 * their streams and events. */
cudaError_t exchange_make(const exchange_kind *kind, int ranks, int first, int locals,
                          const int *device, exchange **e);

/* Lets both streams of every local rank wait for what `stream` holds so far. */
cudaError_t exchange_fork(exchange *e, cudaStream_t stream);

/* Lets `stream` wait for what both streams of every local rank hold so far. */
cudaError_t exchange_join(exchange *e, cudaStream_t stream);

/* Lets the wire of every local rank wait for those of all the others, where ranks share memory: one takes what another
 * has made ready. */
cudaError_t exchange_meet(exchange *e);

/* The first of `count` rows of rank `rank`'s part: count is dealt so that parts differ by one row at most, the larger
 * ones first. exchange_part(count, ranks, ranks) is count. */
int64_t exchange_part(int64_t count, int ranks, int rank);

#ifdef __cplusplus
}
#endif
#endif
