/*
 * seen.cc - which bytes of the named arrays kernels, copies and fills were seen to read and to write.
 *
 * The instruments know what the compiler reports. Code that is kept from reporting (an attribute, a
 * pragma, assembly, a library's function) would pass every check. But a result tells what must have
 * been done for it: its own bytes were written, and the inputs behind it were read. What is missing
 * here was done out of sight (harness/hidden.h).
 */
#include "profiler/checks.h"
#include "profiler/shadow.h"

namespace
{

/* About 8 bytes: bit i is for byte i. */
struct byte_sights {
    uint8_t read;
    uint8_t stored; /* by a kernel, or a copy */
    uint8_t filled; /* by cudaMemset */
};
const size_t GRAIN = 8;
shadow<byte_sights, GRAIN> sights;
bool handed; /* the host has given the device something since the last reset */

} // namespace

/* The bits of bytes [start, end) in the note that `at` belongs to. */
static inline uint8_t bits_of(uintptr_t at, uintptr_t start, uintptr_t end)
{
    const uintptr_t first = at / GRAIN * GRAIN;
    const unsigned from = start > first ? (unsigned)(start - first) : 0;
    const unsigned to = end - first < GRAIN ? (unsigned)(end - first) : GRAIN;
    return (uint8_t)((0xffu << from) & (0xffu >> (GRAIN - to)));
}

/* Calls visit(note, bits) for the notes about a range; those that nobody has made room for are left out. */
template <class Visit> static inline void each(uintptr_t start, size_t bytes, Visit visit)
{
    const uintptr_t end = start + bytes;
    for (uintptr_t at = start / GRAIN * GRAIN; at < end; at += GRAIN)
        if (byte_sights *n = sights.find(at)) visit(n, bits_of(at, start, end));
}

static inline void see(uintptr_t start, size_t bytes, bool read, bool stored)
{
    each(start, bytes, [=](byte_sights *n, uint8_t bits) {
        if (read) n->read |= bits;
        if (stored) n->stored |= bits;
    });
}

void seen_access(const access *a)
{
    see(a->address, a->size, !a->write || a->atomic, a->write);
}

void seen_named(uintptr_t start, size_t bytes)
{
    sights.over(start, bytes, [](byte_sights *, size_t) {});
}

void seen_filled(const void *to, size_t bytes)
{
    each((uintptr_t)to, bytes, [](byte_sights *n, uint8_t bits) { n->filled |= bits; });
}

void seen_copied(const void *to, const void *from, size_t bytes, bool traced)
{
    see((uintptr_t)from, bytes, true, false);
    see((uintptr_t)to, bytes, false, true);
    handed |= traced && !simt_memory_holds(from);
}

void seen_forget(const void *start, size_t bytes)
{
    each((uintptr_t)start, bytes, [](byte_sights *n, uint8_t bits) {
        n->read &= (uint8_t)~bits;
        n->stored &= (uint8_t)~bits;
        n->filled &= (uint8_t)~bits;
    });
}

void seen_reset(void)
{
    sights.forget_all();
    handed = false;
}

int64_t seen_bytes(const void *start, size_t bytes, sight what)
{
    int64_t count = 0;
    each((uintptr_t)start, bytes, [&](byte_sights *n, uint8_t bits) {
        const int set = what == SEEN_READ     ? n->read
                        : what == SEEN_STORED ? n->stored
                                              : n->stored | n->filled;
        count += __builtin_popcount(set & bits);
    });
    return count;
}

bool seen_handed(void)
{
    return handed;
}
