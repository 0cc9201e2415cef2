#include "harness/rooms.h"

#include "harness/device.h"

#include <assert.h>

void rooms_add(rooms *r, const char *name, size_t bytes, void **at)
{
    assert(r->count < MAX_ROOMS);
    *at = NULL;
    r->list[r->count++] = (room){name, bytes, at};
}

size_t rooms_bytes(const rooms *r)
{
    size_t bytes = 0;
    for (int i = 0; i < r->count; i++)
        bytes += r->list[i].bytes;
    return bytes;
}

/* The largest array, to be named where all do not fit. */
static const room *largest(const rooms *r)
{
    const room *most = &r->list[0];
    for (int i = 1; i < r->count; i++)
        if (r->list[i].bytes > most->bytes) most = &r->list[i];
    return most;
}

enum status rooms_open(const rooms *r, const char *whose, const char *smaller, error_text *error)
{
    const size_t need = rooms_bytes(r);
    size_t room_left, total;
    const cudaError_t asked = cudaMemGetInfo(&room_left, &total);
    if (asked != cudaSuccess) return device_fail(asked, "asking for free device memory", error);
    if (need > room_left)
        return fail(error, STATUS_MEMORY,
                    "%s takes %.2f GB of device memory (%s: %.2f GB) and %.2f GB are free; try %s",
                    whose, need * 1e-9, largest(r)->name, largest(r)->bytes * 1e-9,
                    room_left * 1e-9, smaller);
    for (int i = 0; i < r->count; i++) {
        cudaError_t taken = cudaMalloc(r->list[i].at, r->list[i].bytes);
        if (taken == cudaSuccess) taken = cudaMemset(*r->list[i].at, 0xff, r->list[i].bytes);
        if (taken == cudaSuccess) continue;
        rooms_close(r);
        return device_fail(taken, r->list[i].name, error);
    }
    return STATUS_OK;
}

void rooms_close(const rooms *r)
{
    for (int i = 0; i < r->count; i++) {
        cudaFree(*r->list[i].at);
        *r->list[i].at = NULL;
    }
}
