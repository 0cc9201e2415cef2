/*
 * shadow.h - notes about memory: a T for every GRAIN bytes of the address space, zero until
 * written.
 *
 * The notes about 32 MB of memory lie together in one chunk of reserved addresses; the system gives
 * it memory page by page as it is used. Chunks are found through a directory with an entry for each
 * 32 MB of 2^48 bytes: 2^23 pointers, reserved in the same way. So a look-up is two loads, and the
 * notes about device memory and about shared memory need not be told apart.
 */
#ifndef PROFILER_SHADOW_H
#define PROFILER_SHADOW_H

#include "profiler/profiler.h"

#include <sys/mman.h>

template <class T, size_t GRAIN> class shadow
{
    static constexpr unsigned CHUNK_BITS = 25, ADDRESS_BITS = 48;
    static constexpr size_t CHUNK_NOTES = ((size_t)1 << CHUNK_BITS) / GRAIN;
    static constexpr size_t CHUNKS = (size_t)1 << (ADDRESS_BITS - CHUNK_BITS);

    T **directory = nullptr;
    size_t first = CHUNKS, last = 0; /* of the chunks in use */

    static void *reserve(size_t bytes)
    {
        void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) profiler_out_of_memory();
        return p;
    }

    T *make(uintptr_t address)
    {
        const size_t chunk = address >> CHUNK_BITS;
        if (!directory) directory = (T **)reserve(CHUNKS * sizeof *directory);
        directory[chunk] = (T *)reserve(CHUNK_NOTES * sizeof(T));
        if (chunk < first) first = chunk;
        if (chunk > last) last = chunk;
        return find(address);
    }

  public:
    /* The note about these bytes; NULL if nothing was noted about any around them. Its neighbours
     * follow it up to the next multiple of 32 MB. */
    T *find(uintptr_t address) const
    {
        const size_t chunk = address >> CHUNK_BITS;
        if (__builtin_expect(chunk >= CHUNKS || !directory || !directory[chunk], 0)) return nullptr;
        return &directory[chunk][address / GRAIN % CHUNK_NOTES];
    }

    /* The same, making room where there is none. For addresses that memory can have. */
    T *at(uintptr_t address)
    {
        T *note = find(address);
        return __builtin_expect(note != nullptr, 1) ? note : make(address);
    }

    /* Calls visit(notes, count) for the notes about [start, start + bytes), a chunk at a time. */
    template <class Visit> void over(uintptr_t start, size_t bytes, Visit visit)
    {
        const uintptr_t end = start + bytes;
        while (start < end) {
            const uintptr_t border = ((start >> CHUNK_BITS) + 1) << CHUNK_BITS;
            const uintptr_t stop = border < end ? border : end;
            visit(at(start), (stop - 1) / GRAIN - start / GRAIN + 1);
            start = stop;
        }
    }

    /* Zeroes the notes about whole pages of notes inside the range, and gives those back. */
    void forget(uintptr_t start, size_t bytes)
    {
        const uintptr_t page = 4096;
        over(start, bytes, [=](T *notes, size_t count) {
            const uintptr_t from = ((uintptr_t)notes + page - 1) & ~(page - 1);
            const uintptr_t to = (uintptr_t)(notes + count) & ~(page - 1);
            if (from < to) madvise((void *)from, to - from, MADV_DONTNEED);
        });
    }

    void forget_all()
    {
        for (size_t chunk = first; chunk <= last && directory; chunk++)
            if (directory[chunk]) madvise(directory[chunk], CHUNK_NOTES * sizeof(T), MADV_DONTNEED);
    }
};

#endif
