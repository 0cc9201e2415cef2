/*
 * rooms.h - device memory that is counted before it is taken: a list of arrays, allocated together.
 */
#ifndef HARNESS_ROOMS_H
#define HARNESS_ROOMS_H

#include "matrix/status.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

enum { MAX_ROOMS = 16 };

/* An array: how many bytes it takes, and where its address goes. */
typedef struct room {
    const char *name; /* "logits", for people */
    size_t bytes;
    void **at;
} room;

typedef struct rooms {
    room list[MAX_ROOMS];
    int count;
} rooms;

/* Notes an array; nothing is allocated, *at becomes NULL. */
void rooms_add(rooms *r, const char *name, size_t bytes, void **at);

/* Bytes of all. */
size_t rooms_bytes(const rooms *r);

/* Allocates all of them, 256-byte aligned and filled with bytes 0xFF: as numbers NaN, so that an element which no kernel
 * writes shows. STATUS_MEMORY, with the sum, where they do not fit into what is free on the
 * device; `whose` names who needs them, `smaller` what to try: "fewer heads". On failure nothing is allocated. */
enum status rooms_open(const rooms *r, const char *whose, const char *smaller, error_text *error);

/* Frees all of them. */
void rooms_close(const rooms *r);

#endif
