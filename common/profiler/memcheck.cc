/*
 * memcheck.cc - whether an access goes to memory that the kernel may use, in that way: inside an
 * array, aligned, to something that has been written, not into an input.
 *
 * For every 8 bytes of device and shared memory there are 4 bytes of notes (shadow.h), with a bit
 * for each byte. Nearly all accesses are found to be right by a comparison of these bits. Only for
 * the others it is worked out what is wrong, so that part may take its time.
 *
 * Where a harness has named arrays inside an allocation, the rest of the allocation (its guard
 * zones) is out of bounds. Static __shared__ variables have no gaps between them: an index that
 * leaves its own array is caught where the array's type is known (-fsanitize=bounds), and elsewhere
 * only if it leaves all of them.
 */
#include "profiler/checks.h"
#include "profiler/shadow.h"

#include <set>

namespace
{

/* About 8 bytes: bit i is for byte i. */
struct byte_notes {
    uint8_t initialised;
    uint8_t readable; /* in bounds */
    uint8_t writable; /* in bounds, and not of a read-only array */
    uint8_t arriving; /* the target of an asynchronous copy; then neither readable nor writable */
};
const size_t GRAIN = 8;
shadow<byte_notes, GRAIN> notes;

/* Starts of the live allocations. */
std::set<uintptr_t> &live = *new std::set<uintptr_t>;

} // namespace

/* ---- keeping the notes ----------------------------------------------------------------------- */

/* Calls change(note, bits) for the bytes of a range. */
template <class Change> static void change_notes(uintptr_t start, size_t bytes, Change change)
{
    if (!bytes) return;
    const uint8_t first = (uint8_t)(0xff << start % GRAIN);
    const uint8_t last = (uint8_t)(0xff >> (GRAIN - 1 - (start + bytes - 1) % GRAIN));
    byte_notes *front = notes.at(start), *back = notes.at(start + bytes - 1);
    if (front == back) {
        change(front, first & last);
        return;
    }
    change(front, first);
    change(back, last);
    const uintptr_t inner = (start / GRAIN + 1) * GRAIN, end = (start + bytes - 1) / GRAIN * GRAIN;
    if (inner < end)
        notes.over(inner, end - inner, [=](byte_notes *n, size_t count) {
            for (size_t i = 0; i < count; i++)
                change(&n[i], (uint8_t)0xff);
        });
}

static inline void put(uint8_t *bits, uint8_t which, bool on)
{
    *bits = (uint8_t)(on ? *bits | which : *bits & ~which);
}

static void set_bounds(uintptr_t start, size_t bytes, bool readable, bool writable)
{
    change_notes(start, bytes, [=](byte_notes *n, uint8_t bits) {
        put(&n->arriving, bits, false);
        put(&n->readable, bits, readable);
        put(&n->writable, bits, writable);
    });
}

static void set_initialised(uintptr_t start, size_t bytes, bool initialised)
{
    change_notes(start, bytes,
                 [=](byte_notes *n, uint8_t bits) { put(&n->initialised, bits, initialised); });
}

/* Shared memory as a block finds it. */
static void set_fresh(uintptr_t start, size_t bytes)
{
    change_notes(start, bytes, [](byte_notes *n, uint8_t bits) {
        put(&n->initialised, bits, false);
        put(&n->arriving, bits, false);
        put(&n->readable, bits, true);
        put(&n->writable, bits, true);
    });
}

/* An allocation without named arrays is all in bounds; otherwise only these are. */
static void bound_allocation(const device_array &d)
{
    const named_array *n = next_named_array(d.start);
    const bool named = n && n->start < d.start + d.bytes;
    set_bounds(d.start, d.bytes, !named, !named);
    for (; n && n->start < d.start + d.bytes; n = next_named_array(n->start + 1))
        set_bounds(n->start, n->bytes, true, !n->read_only);
}

void memcheck_named(uintptr_t start)
{
    const device_array d = simt_memory_find(start);
    if (profiler.memcheck && live.count(d.start)) bound_allocation(d);
}

void memcheck_names_forgotten(void)
{
    if (!profiler.memcheck) return;
    for (uintptr_t start : live)
        bound_allocation(simt_memory_find(start));
}

void memcheck_allocated(const void *start, size_t bytes)
{
    live.insert((uintptr_t)start);
    if (!profiler.memcheck) return;
    set_initialised((uintptr_t)start, bytes, false);
    set_bounds((uintptr_t)start, bytes, true, true);
}

void memcheck_freed(const void *start, size_t bytes)
{
    racecheck_freed(start, bytes);
    live.erase((uintptr_t)start);
    if (profiler.memcheck) set_bounds((uintptr_t)start, bytes, false, false);
}

void memcheck_host_wrote(const void *to, size_t bytes)
{
    if (profiler.memcheck && simt_memory_holds(to)) set_initialised((uintptr_t)to, bytes, true);
}

void memcheck_forget_contents(const void *start, size_t bytes)
{
    if (profiler.memcheck) set_initialised((uintptr_t)start, bytes, false);
}

static bool is_initialised(uintptr_t address)
{
    const byte_notes *n = notes.find(address);
    return n && n->initialised >> address % GRAIN & 1;
}

void memcheck_host_copied(const void *to, const void *from, size_t bytes)
{
    if (!profiler.memcheck || !simt_memory_holds(to)) return;
    const uintptr_t target = (uintptr_t)to, source = (uintptr_t)from;
    if (!simt_memory_holds(from)) {
        set_initialised(target, bytes, true);
        return;
    }
    /* Within device memory contents move with their state, in the direction that memmove would take
     * where the ranges overlap. */
    for (size_t i = 0; i < bytes; i++) {
        const size_t k = target <= source ? i : bytes - 1 - i;
        set_initialised(target + k, 1, is_initialised(source + k));
    }
}

void memcheck_launch_untraced(void)
{
    if (!profiler.memcheck) return;
    for (uintptr_t start : live)
        set_initialised(start, simt_memory_find(start).bytes, true);
}

/* ---- blocks and their shared memory ---------------------------------------------------------- */

static bool first_block; /* of its launch */

void memcheck_launch_begin(const launch *)
{
    first_block = true;
}

void memcheck_block_begin(worker *self)
{
    static unsigned widest = 1; /* cluster so far, whose blocks' memory is side by side */
    const launch *job = self->job;
    widest = max(widest, job->cluster);
    const size_t most = (size_t)SHARED_OPTIN_BYTES * widest;
    if (first_block) set_bounds((uintptr_t)self->shared_end - most, most, false, false);
    first_block = false;
    for (unsigned rank = 0; rank < job->cluster; rank++)
        set_fresh((uintptr_t)simt_block_shared(self, rank), job->config.dynamic_shared_bytes);
    for (size_t i = 0; i < job->shared_ranges; i++)
        set_fresh((uintptr_t)self->thread_local_block + job->shared[i].offset,
                  job->shared[i].bytes);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static const char *verb(const access *a)
{
    return a->atomic ? "updates" : a->write ? "writes" : "reads";
}

static void note(const char *kind, const access *a, const char *advice, const char *rest)
{
    if (finding_again(kind, a, nullptr)) return;
    char where[256];
    describe_address(a, where, sizeof where);
    finding_add(kind, a, nullptr, advice, "%s %u bytes at %s%s", verb(a), a->size, where, rest);
}

/* Whether the processor can make the access without harm to this program. It is aligned and small,
 * so it lies in one page. */
static bool can_go_on(const access *a, place where)
{
    const uintptr_t page = 4096;
    switch (where) {
    case DEVICE_MEMORY: {
        const device_array d = simt_memory_find(a->address);
        return d.number && !d.freed && a->address >= (d.start & ~(page - 1)) &&
               a->address < ((d.start + d.bytes + page - 1) & ~(page - 1));
    }
    case DYNAMIC_SHARED:
        return a->address - ((uintptr_t)a->self->shared_end - SHARED_OPTIN_BYTES) <
               SHARED_OPTIN_BYTES;
    case STATIC_SHARED:
        return !a->write && simt_shared_holds(a->self, (const void *)a->address, a->size);
    default:
        return false;
    }
}

static void out_of_bounds(const access *a, place where)
{
    static const char *const kind = "out of bounds";
    if (where == HOST_MEMORY)
        note("host pointer", a,
             "a kernel sees device memory only: cudaMalloc an array, cudaMemcpy the data, pass its "
             "address",
             ", which is not device memory");
    else if (where == LOCAL_MEMORY)
        note("local memory of another thread", a,
             "local variables are their thread's own: pass the value through __shfl_sync or shared "
             "memory",
             "");
    else if (where == DEVICE_MEMORY && simt_memory_find(a->address).freed)
        note("use after free", a, "free an array after the last kernel that uses it has finished",
             "");
    else if (where == DEVICE_MEMORY)
        note(kind, a,
             "the last row, tile or block is often shorter than the others: guard the access with "
             "if (index < count), and see that the index cannot be negative",
             "");
    else if (where == DYNAMIC_SHARED)
        note(kind, a,
             "compare the index with the bytes that the launch asks for: <<<grid, block, bytes>>>",
             "");
    else
        note(kind, a, "compare the index with the size in the __shared__ declaration", "");
    if (!can_go_on(a, where)) finding_ends_launch(cudaErrorIllegalAddress, a);
}

/* Finds out what is wrong with the part of an access that lies at the bytes `bits` of one note. */
static void diagnose(const access *a, uintptr_t first_byte, uint8_t bits)
{
    static const byte_notes none = {};
    const byte_notes *found = notes.find(first_byte), *n = found ? found : &none;
    const bool reads = !a->write || a->atomic;
    /* Copy, narrowed to the first byte that is wrong. */
    access part = *a;
    auto wrong = [&](uint8_t bad) {
        part.address = first_byte / GRAIN * GRAIN + (bad ? lowest(bad) : 0);
        return bad != 0;
    };
    if (wrong(n->arriving & bits)) {
        note("asynchronous copy", &part,
             "async_wait<...>() for the copy first, and a __syncthreads() if another thread "
             "started it",
             ", where an asynchronous copy has yet to arrive");
    } else if (wrong(bits & ~n->readable)) {
        out_of_bounds(&part, place_of(a->self, part.address));
    } else if (a->write && wrong(bits & ~n->writable)) {
        note("write to an input", &part,
             "inputs are shared with other runs: write to the output, or to a workspace of prepare",
             ", an element of an array that must not change");
    } else if (reads && wrong(bits & ~n->initialised)) {
        const bool global = place_of(a->self, part.address) == DEVICE_MEMORY;
        if (global && profiler.partial) return; /* a block that did not run may have to write it */
        if (global)
            note("uninitialised read", &part,
                 "clear the array with cudaMemset, or see why nobody has written this element",
                 ", which nobody has written");
        else
            note("uninitialised read", &part,
                 "a store is missing before this line, or the __syncthreads() between the two; "
                 "at first the contents are arbitrary",
                 ", which no thread of this block has written");
    }
}

/* ---- what hooks.cc calls --------------------------------------------------------------------- */

/* Whether all is well with bytes of one note. */
static inline bool is_right(const byte_notes *n, uint8_t bits, const access *a)
{
    if (a->write && (n->writable & bits) != bits) return false;
    return (a->write && !a->atomic) || (n->initialised & n->readable & bits) == bits;
}

/* An access to bytes [at, at + size) of one note. */
static inline void check_note(const access *a, uintptr_t at, unsigned size)
{
    const uint8_t bits = (uint8_t)(((1u << size) - 1) << at % GRAIN);
    byte_notes *n = notes.find(at);
    if (__builtin_expect(!n || !is_right(n, bits, a), 0)) diagnose(a, at, bits);
    if (a->write && n) n->initialised |= bits;
}

static void check_range(const access *a)
{
    const uintptr_t end = a->address + a->size;
    for (uintptr_t at = a->address, next; at < end; at = next) {
        next = min((at / GRAIN + 1) * GRAIN, end);
        check_note(a, at, (unsigned)(next - at));
    }
}

static void misaligned(const access *a)
{
    char rest[64];
    snprintf(rest, sizeof rest, ": 0x%zx is not a multiple of %u", (size_t)a->address, a->size);
    note("misaligned", a,
         "a vector load or store needs an address that is a multiple of its size: pad rows to a "
         "multiple of the vector, or handle the first elements one by one",
         rest);
}

void memcheck_access(const access *a)
{
    if (__builtin_expect(a->address % a->size, 0))
        misaligned(a); /* which a GPU refuses and this processor allows */
    else if (a->size <= GRAIN)
        check_note(a, a->address, a->size);
    else
        check_range(a);
}

void memcheck_async_start(const access *from, const access *to)
{
    check_range(from);
    check_range(to);
    change_notes(to->address, to->size, [](byte_notes *n, uint8_t bits) {
        bits &= n->writable; /* what is out of bounds stays so */
        put(&n->arriving, bits, true);
        put(&n->initialised, bits, false);
        put(&n->readable, bits, false);
        put(&n->writable, bits, false);
    });
}

void memcheck_async_arrived(uintptr_t shared, size_t bytes)
{
    change_notes(shared, bytes, [](byte_notes *n, uint8_t which) {
        which &= n->arriving;
        put(&n->arriving, which, false);
        put(&n->initialised, which, true);
        put(&n->readable, which, true);
        put(&n->writable, which, true);
    });
}

/* ---- an index outside a dimension of its array ----------------------------------------------- */

/* Message of the compiler about a check that failed (-fsanitize=bounds), as libubsan would be told. */
struct type_text {
    uint16_t kind, info;
    char name[]; /* 'float [33]' */
};
struct bad_index {
    struct {
        const char *file;
        uint32_t line, column;
    } place;
    const type_text *array, *index;
};

static void index_out_of_bounds(const bad_index *bad, uintptr_t index, const void *site)
{
    worker *self = simt_worker;
    if (!profiler.memcheck || !profiler.tracing || !self || !self->running) return;
    const access a = {0, 0, false, false, false, site, self, self->running, WEAK, false};
    const char *advice =
        "compare each index with its own dimension: the element that this one reaches "
        "is in another row, or another array";
    finding_add("index out of bounds", &a, nullptr, advice,
                "index %lld is outside its dimension of an array %s", (long long)index,
                bad->array->name);
}

extern "C" {
void __ubsan_handle_out_of_bounds(const bad_index *bad, uintptr_t index)
{
    index_out_of_bounds(bad, index, SIMT_CALLER);
}
void __ubsan_handle_out_of_bounds_abort(const bad_index *bad, uintptr_t index)
{
    index_out_of_bounds(bad, index, SIMT_CALLER);
}
}
