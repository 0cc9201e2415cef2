/*
 * async_copy.cc - cp.async: copies from global to shared memory that a thread starts, commits in
 * groups and waits for. PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy".
 *
 * A copy is carried out at the wait for it, the latest moment hardware could choose. So a kernel
 * that reads too early reads the old contents, every time.
 */
#include "simt/simt.h"

struct async_copy {
    void *shared;
    const void *global;
    int bytes, source_bytes;
    unsigned group;
    const void *site; /* where it was started */
};

/* Copies that one thread has started and not waited for, oldest first. */
struct async_queue {
    async_copy *copies;
    size_t count, capacity;
    unsigned group; /* being filled; lower ones are committed */
};

static async_queue *my_queue(worker *self)
{
    if (!self->async_queues)
        self->async_queues = (async_queue *)calloc(MAX_THREADS, sizeof(async_queue));
    if (!self->async_queues)
        simt_fail(cudaErrorMemoryAllocation, nullptr, "no memory left for asynchronous copies");
    return &self->async_queues[self->running->number];
}

/* The queue is whole at every moment: the time limit may throw the lane out of here. */
static void grow(async_queue *q)
{
    size_t capacity = q->capacity ? 2 * q->capacity : 16;
    async_copy *larger = (async_copy *)malloc(capacity * sizeof *larger), *smaller = q->copies;
    if (!larger)
        simt_fail(cudaErrorMemoryAllocation, nullptr, "no memory left for asynchronous copies");
    memcpy(larger, smaller, q->count * sizeof *larger);
    q->copies = larger;
    q->capacity = capacity;
    free(smaller);
}

/* Carries out the oldest copies: those of groups before `group`. */
static void arrive(worker *self, async_queue *q, unsigned group)
{
    size_t done = 0;
    for (; done < q->count && q->copies[done].group < group; done++) {
        const async_copy &c = q->copies[done];
        self->async_site = c.site;
        memcpy(c.shared, c.global, (size_t)c.source_bytes);
        memset((char *)c.shared + c.source_bytes, 0, (size_t)(c.bytes - c.source_bytes));
    }
    self->async_site = nullptr;
    q->count -= done;
    memmove(q->copies, q->copies + done, q->count * sizeof *q->copies);
}

void simt_async_finish(worker *self)
{
    async_queue *q = my_queue(self);
    arrive(self, q, q->group + 1);
    q->group = 0;
}

void simt_async_forget(worker *self)
{
    if (!self->async_queues) return;
    self->async_site = nullptr;
    for (int i = 0; i < MAX_THREADS; i++)
        self->async_queues[i].count = self->async_queues[i].group = 0;
}

void simt_async_copy_start_at(void *shared, const void *global, int bytes, int source_bytes,
                              const void *site)
{
    worker *self = simt_worker;
    const uintptr_t within =
        (uintptr_t)bytes - 1; /* of 4, 8 or 16: dividing would take longer than the copy */
    if (((uintptr_t)shared | (uintptr_t)global) & within)
        simt_fail(cudaErrorMisalignedAddress, site,
                  "cp.async of %d bytes from %p to %p: both addresses must be multiples of %d",
                  bytes, global, shared, bytes);
    if (!simt_shared_holds(self, shared, (size_t)bytes))
        simt_fail(cudaErrorInvalidAddressSpace, site,
                  "cp.async to %p: not the block's shared memory (%zu bytes of it are dynamic)",
                  shared, self->job->config.dynamic_shared_bytes);
    if (source_bytes < 0 || source_bytes > bytes)
        simt_fail(cudaErrorLaunchFailure, site, "cp.async of %d bytes takes %d of them", bytes,
                  source_bytes);
    async_queue *q = my_queue(self);
    if (q->count == q->capacity) grow(q);
    q->copies[q->count++] = {shared, global, bytes, source_bytes, q->group, site};
}

extern "C" {

void simt_async_copy_start(void *shared, const void *global, int bytes, int source_bytes)
{
    simt_async_copy_start_at(shared, global, bytes, source_bytes, SIMT_CALLER);
}

void simt_async_commit(void)
{
    my_queue(simt_worker)->group++;
}

void simt_async_wait(int pending)
{
    worker *self = simt_worker;
    async_queue *q = my_queue(self);
    unsigned leave = (unsigned)pending;
    if (q->group > leave) arrive(self, q, q->group - leave);
}

/* Includes what has not been committed. */
void simt_async_wait_all(void)
{
    worker *self = simt_worker;
    async_queue *q = my_queue(self);
    arrive(self, q, ++q->group);
}
}
