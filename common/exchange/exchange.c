/*
 * exchange.c - what all kinds of exchange have in common, and the loopback.
 */
#include "exchange/exchange.h"

#include "device/cuda_try.h"
#include "exchange/launch.h"

#include <stdlib.h>

/* ---- streams --------------------------------------------------------------------------------- */

static void free_streams(exchange_rank *r)
{
    cudaSetDevice(r->device);
    if (r->work) cudaStreamDestroy(r->work);
    if (r->wire) cudaStreamDestroy(r->wire);
    for (int i = 0; i < 2; i++)
        if (r->idle[i]) cudaEventDestroy(r->idle[i]);
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

cudaError_t exchange_make(const exchange_kind *kind, int ranks, int first, int locals,
                          const int *device, exchange **made)
{
    int here;
    *made = NULL;
    CUDA_TRY(cudaGetDevice(&here));
    exchange *e = calloc(1, sizeof *e);
    exchange_rank *local = calloc(locals, sizeof *local);
    if (!e || !local) {
        free(e);
        free(local);
        return cudaErrorMemoryAllocation;
    }
    *e = (exchange){.kind = kind, .ranks = ranks, .locals = locals, .local = local, .device = here};
    for (int i = 0; i < locals; i++)
        local[i] = (exchange_rank){.rank = first + i, .device = device[i]};
    cudaError_t error = cudaEventCreateWithFlags(&e->begin, cudaEventDisableTiming);
    for (int i = 0; i < locals && error == cudaSuccess; i++)
        error = make_streams(&local[i]);
    cudaSetDevice(here);
    if (error != cudaSuccess) {
        exchange_close(e);
        return error;
    }
    *made = e;
    return cudaSuccess;
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

/* Records an event of a rank's stream, where the rank's device is the current one. */
static cudaError_t record(exchange *e, exchange_rank *r, int which)
{
    CUDA_TRY(cudaSetDevice(r->device));
    const cudaError_t error = cudaEventRecord(r->idle[which], which == 0 ? r->work : r->wire);
    cudaSetDevice(e->device);
    return error;
}

cudaError_t exchange_join(exchange *e, cudaStream_t stream)
{
    for (int i = 0; i < e->locals; i++)
        for (int which = 0; which < 2; which++) {
            CUDA_TRY(record(e, &e->local[i], which));
            CUDA_TRY(cudaStreamWaitEvent(stream, e->local[i].idle[which], 0));
        }
    return cudaSuccess;
}

cudaError_t exchange_meet(exchange *e)
{
    if (!e->kind->shares_memory) return cudaSuccess;
    for (int i = 0; i < e->locals; i++)
        CUDA_TRY(record(e, &e->local[i], 1));
    for (int i = 0; i < e->locals; i++)
        for (int k = 0; k < e->locals; k++)
            if (k != i) CUDA_TRY(cudaStreamWaitEvent(e->local[i].wire, e->local[k].idle[1], 0));
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
    cudaSetDevice(e->device);
    if (e->begin) cudaEventDestroy(e->begin);
    free(e->local);
    free(e);
}

/* ---- which kind ------------------------------------------------------------------------------ */

static int devices;

void exchange_use_devices(int count)
{
    devices = count;
}

int exchange_devices(void)
{
    return devices;
}

const char *exchange_untimed(void)
{
    launch_place place;
    char text[200];
    int count = 0;
    if (launch_find(&place, text, sizeof text) && place.is_launch)
        return "its ranks are processes, each with a clock of its own";
    const bool is_known = cudaGetDeviceCount(&count) == cudaSuccess;
    return devices == 0 || (is_known && devices > count) ? "its ranks share a device" : NULL;
}

cudaError_t exchange_open(int ranks, exchange **e)
{
    return devices > 0 ? exchange_open_nccl(devices, e) : exchange_open_loopback(ranks, e);
}

/* ---- loopback -------------------------------------------------------------------------------- */

static cudaError_t loopback_each(exchange *e, exchange_step step, void *context)
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

static cudaError_t loopback_swap(exchange *e, exchange_rank *r, const exchange_parcel *parcels)
{
    for (int q = 0; q < e->ranks; q++)
        if (parcels[q].take_bytes > 0)
            CUDA_TRY(cudaMemcpyAsync(parcels[q].take, parcels[q].from, parcels[q].take_bytes,
                                     cudaMemcpyDeviceToDevice, r->wire));
    return cudaSuccess;
}

static const exchange_kind LOOPBACK = {"loopback", true, loopback_each, loopback_gather,
                                       loopback_swap};

cudaError_t exchange_open_loopback(int ranks, exchange **opened)
{
    int device[EXCHANGE_MOST_RANKS], here;
    *opened = NULL;
    if (ranks < 1 || ranks > EXCHANGE_MOST_RANKS) return cudaErrorInvalidValue;
    CUDA_TRY(cudaGetDevice(&here));
    for (int i = 0; i < ranks; i++)
        device[i] = here;
    return exchange_make(&LOOPBACK, ranks, 0, ranks, device, opened);
}
