/*
 * exchange.c - what all kinds of exchange have in common, and the loopback.
 */
#include "exchange/exchange.h"

#include "device/cuda_try.h"

#include <stdlib.h>

/* ---- streams --------------------------------------------------------------------------------- */

static void free_streams(exchange_rank *r)
{
    int before;
    cudaGetDevice(&before);
    cudaSetDevice(r->device);
    if (r->work) cudaStreamDestroy(r->work);
    if (r->wire) cudaStreamDestroy(r->wire);
    for (int i = 0; i < 2; i++)
        if (r->idle[i]) cudaEventDestroy(r->idle[i]);
    cudaSetDevice(before);
}

static cudaError_t make_streams(exchange_rank *r)
{
    CUDA_TRY(cudaSetDevice(r->device));
    CUDA_TRY(cudaStreamCreateWithFlags(&r->work, cudaStreamNonBlocking));
    CUDA_TRY(cudaStreamCreateWithFlags(&r->wire, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++)
        CUDA_TRY(cudaEventCreateWithFlags(&r->idle[i], cudaEventDisableTiming));
    return cudaSuccess;
}

cudaError_t exchange_make_streams(exchange *e)
{
    int before;
    CUDA_TRY(cudaGetDevice(&before));
    cudaError_t error = cudaEventCreateWithFlags(&e->begin, cudaEventDisableTiming);
    for (int i = 0; i < e->locals && error == cudaSuccess; i++)
        error = make_streams(&e->local[i]);
    cudaSetDevice(before);
    return error;
}

cudaError_t exchange_fork(exchange *e, cudaStream_t stream)
{
    CUDA_TRY(cudaEventRecord(e->begin, stream));
    for (int i = 0; i < e->locals; i++) {
        CUDA_TRY(cudaStreamWaitEvent(e->local[i].work, e->begin, 0));
        CUDA_TRY(cudaStreamWaitEvent(e->local[i].wire, e->begin, 0));
    }
    return cudaSuccess;
}

cudaError_t exchange_join(exchange *e, cudaStream_t stream)
{
    for (int i = 0; i < e->locals; i++) {
        exchange_rank *r = &e->local[i];
        const cudaStream_t streams[2] = {r->work, r->wire};
        for (int k = 0; k < 2; k++) {
            CUDA_TRY(cudaEventRecord(r->idle[k], streams[k]));
            CUDA_TRY(cudaStreamWaitEvent(stream, r->idle[k], 0));
        }
    }
    return cudaSuccess;
}

int64_t exchange_part(int64_t count, int ranks, int rank)
{
    const int64_t each = count / ranks, more = count % ranks;
    return each * rank + (rank < more ? rank : more);
}

void exchange_close(exchange *e)
{
    if (!e) return;
    for (int i = 0; i < e->locals; i++)
        free_streams(&e->local[i]);
    if (e->begin) cudaEventDestroy(e->begin);
    if (e->kind->close) e->kind->close(e);
    free(e->local);
    free(e);
}

/* ---- loopback -------------------------------------------------------------------------------- */

static cudaError_t loopback_each(exchange *e, cudaError_t (*step)(exchange_rank *, void *),
                                 void *context)
{
    for (int i = 0; i < e->locals; i++)
        CUDA_TRY(step(&e->local[i], context));
    return cudaSuccess;
}

static cudaError_t loopback_gather(exchange *e, exchange_rank *r, const exchange_piece *pieces,
                                   void *whole)
{
    for (int q = 0; q < e->ranks; q++)
        if (pieces[q].bytes > 0)
            CUDA_TRY(cudaMemcpyAsync((char *)whole + pieces[q].at, pieces[q].from, pieces[q].bytes,
                                     cudaMemcpyDeviceToDevice, r->wire));
    return cudaSuccess;
}

static const exchange_kind LOOPBACK = {"loopback", loopback_each, loopback_gather, NULL};

cudaError_t exchange_open_loopback(int ranks, exchange **opened)
{
    int device;
    *opened = NULL;
    if (ranks < 1 || ranks > EXCHANGE_MOST_RANKS) return cudaErrorInvalidValue;
    CUDA_TRY(cudaGetDevice(&device));
    exchange *e = calloc(1, sizeof *e);
    exchange_rank *local = calloc(ranks, sizeof *local);
    if (!e || !local) {
        free(e);
        free(local);
        return cudaErrorMemoryAllocation;
    }
    *e = (exchange){.kind = &LOOPBACK, .ranks = ranks, .locals = ranks, .local = local};
    for (int i = 0; i < ranks; i++)
        local[i] = (exchange_rank){.rank = i, .device = device};
    const cudaError_t error = exchange_make_streams(e);
    if (error != cudaSuccess) {
        exchange_close(e);
        return error;
    }
    *opened = e;
    return cudaSuccess;
}
