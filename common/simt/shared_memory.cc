/*
 * shared_memory.cc - the shared memory of a block.
 *
 * Static: __shared__ variables are thread-local ones of the OS thread that runs the block. Those of
 * the kernel's whole source file are poisoned. A __device__ function may have some too, and nothing here tells which
 * functions a kernel calls.
 * Dynamic: it ends where a page begins that nobody may touch, so that an access past its end faults.
 * It does so at once where its size is a multiple of 128 bytes, which is its alignment, and within 127 bytes
 * otherwise. A kernel launched without dynamic shared memory faults when it touches any. Of a cluster that is the last
 * block's; the others' ends where the next one's begins.
 */
#include "simt/simt.h"

#include <sys/mman.h>

static const size_t MAPPED = MAX_CLUSTER * (256 << 10), GUARD = 1 << 20, ALIGNMENT = 128;

bool simt_shared_open(worker *self)
{
    void *p = mmap(nullptr, MAPPED + GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED || mprotect(p, MAPPED, PROT_READ | PROT_WRITE) != 0) return false;
    self->shared = self->shared_end = (unsigned char *)p + MAPPED;
    return true;
}

void simt_shared_poison(worker *self)
{
    const launch *job = self->job;
    size_t bytes = job->config.dynamic_shared_bytes;
    self->shared =
        self->shared_end - (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT * job->cluster;
    memset(self->shared, 0xff, (size_t)(self->shared_end - self->shared));
    for (size_t i = 0; i < job->shared_ranges; i++)
        memset(self->thread_local_block + job->shared[i].offset, 0xff, job->shared[i].bytes);
}

bool simt_shared_holds(const worker *self, const void *pointer, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)pointer;
    if (p >= self->shared && p + bytes <= self->shared_end) return true;
    return p >= self->thread_local_block &&
           p + bytes <= self->thread_local_block + self->thread_local_bytes;
}
