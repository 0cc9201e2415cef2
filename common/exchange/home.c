#include "exchange/home.h"

#include "device/cuda_try.h"

static size_t bytes_of(const exchange_home *h, int rank)
{
    return (h->end[rank] - h->first[rank]) * h->row_bytes;
}

static cudaError_t make_room(exchange_home *h, const exchange *e)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < e->locals && error == cudaSuccess; i++) {
        const exchange_rank *const r = &e->local[i];
        if (r->device == e->device) continue;
        error = cudaSetDevice(r->device);
        /* A byte more than asked for, so that no array is empty. */
        if (error == cudaSuccess)
            error = cudaMalloc((void **)&h->own[r->rank], bytes_of(h, r->rank) + 1);
    }
    cudaSetDevice(e->device);
    return error;
}

cudaError_t exchange_home_cut(exchange_home *h, const exchange *e, const int64_t *first,
                              size_t row_bytes)
{
    *h = (exchange_home){.row_bytes = row_bytes};
    for (int q = 0; q < e->ranks; q++) {
        h->first[q] = first[q];
        h->end[q] = first[q + 1];
    }
    return make_room(h, e);
}

cudaError_t exchange_home_whole(exchange_home *h, const exchange *e, int64_t rows, size_t row_bytes)
{
    *h = (exchange_home){.row_bytes = row_bytes};
    for (int q = 0; q < e->ranks; q++)
        h->end[q] = rows;
    return make_room(h, e);
}

void exchange_home_free(exchange_home *h)
{
    for (int q = 0; q < EXCHANGE_MOST_RANKS; q++)
        cudaFree(h->own[q]);
    *h = (exchange_home){0};
}

char *exchange_home_of(const exchange_home *h, int rank, const void *whole)
{
    return h->own[rank] ? h->own[rank] : (char *)whole + h->first[rank] * h->row_bytes;
}

/* Waits for copies between devices, which the host does not. */
static cudaError_t wait_for_all(const exchange *e)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < e->locals && error == cudaSuccess; i++) {
        error = cudaSetDevice(e->local[i].device);
        if (error == cudaSuccess) error = cudaDeviceSynchronize();
    }
    cudaSetDevice(e->device);
    return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

cudaError_t exchange_distribute(const exchange_home *h, const exchange *e, const void *whole)
{
    for (int q = 0; q < e->ranks; q++)
        if (h->own[q])
            CUDA_TRY(cudaMemcpy(h->own[q], (const char *)whole + h->first[q] * h->row_bytes,
                                bytes_of(h, q), cudaMemcpyDefault));
    return wait_for_all(e);
}

/* The rows of all ranks, and the array that they go to. */
struct collection {
    const exchange_home *h;
    exchange *e;
    char *whole;
};

static cudaError_t collect_by_exchange(exchange_rank *r, void *context)
{
    const struct collection *const c = context;
    exchange_piece pieces[EXCHANGE_MOST_RANKS];
    for (int q = 0; q < c->e->ranks; q++) {
        const size_t at = c->h->first[q] * c->h->row_bytes;
        pieces[q] = (exchange_piece){c->whole + at, bytes_of(c->h, q), at};
    }
    return c->e->kind->gather(c->e, r, pieces, c->whole);
}

cudaError_t exchange_collect(const exchange_home *h, exchange *e, void *whole)
{
    struct collection c = {h, e, whole};
    if (e->locals < e->ranks) {
        CUDA_TRY(e->kind->each(e, collect_by_exchange, &c));
        return exchange_wait(e->local[0].wire);
    }
    for (int q = 0; q < e->ranks; q++)
        if (h->own[q])
            CUDA_TRY(cudaMemcpy((char *)whole + h->first[q] * h->row_bytes, h->own[q],
                                bytes_of(h, q), cudaMemcpyDefault));
    return wait_for_all(e);
}
