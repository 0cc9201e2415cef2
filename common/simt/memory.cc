/*
 * memory.cc - device memory.
 *
 * One range of addresses is reserved for it, sixteen times as large as the machine's memory;
 * allocations are cut from it in ascending order, each on pages of its own with an inaccessible
 * page behind:
 *
 *     | guard | 0xFF ... | allocation, 0xFF at first | < 256 bytes 0xFF | guard | 0xFF ...
 *
 * An allocation ends as close to its guard as its 256-byte alignment lets it. So reading past the
 * end gives NaN for at most 255 bytes and then faults. Freed pages go back to the operating system
 * and their addresses stay forbidden, so use after free faults; an address is used again only when
 * the whole range has been.
 */
#include "simt/simt.h"

extern "C" {
#include "matrix/memory.h"
}
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

static const size_t PAGE = (size_t)sysconf(_SC_PAGESIZE), ALIGNMENT = 256;
static const size_t LEAST_RESERVED = (size_t)1 << 30;
static const size_t HUGE_PAGE = 2 << 20;

struct allocation {
    uintptr_t start;
    size_t bytes;
    uintptr_t pages; /* first page; the guard page follows the last */
    size_t page_bytes;
    unsigned number; /* 1, 2, ... in order of allocation */
    bool freed;
};

struct arena {
    std::mutex lock;
    enum simt_host_access host; /* what it may do */
    unsigned opened;            /* launches, copies and fills at work */
    uintptr_t begin, end;       /* reserved; 0 until the first allocation */
    uintptr_t next;             /* where to look for room */
    unsigned count;
    size_t unasked; /* allocated since the system was last asked what is available */
    std::map<uintptr_t, allocation> known; /* by `pages`; freed ones until their room is reused */
};
static arena &device = *new arena(); /* leaked: it must outlive static destructors */

void simt_host_memory(size_t *available, size_t *total)
{
    *total = (size_t)sysconf(_SC_PHYS_PAGES) * PAGE;
    *available = min((size_t)memory_available(), *total);
}

static bool reserve(void)
{
    size_t available, total;
    simt_host_memory(&available, &total);
    for (size_t bytes = 16 * (total & ~(PAGE - 1)); bytes >= LEAST_RESERVED;
         bytes = bytes / 2 & ~(PAGE - 1)) {
        void *p =
            mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) continue;
        device.begin = (uintptr_t)p;
        device.end = device.begin + bytes;
        device.next = device.begin + PAGE;
        return true;
    }
    return false;
}

/* Finds `bytes` of pages that no live allocation has, from device.next upwards and, once, from the
 * beginning; forgets the freed allocations that lay there. */
static uintptr_t find_room(size_t bytes)
{
    for (int pass = 0; pass < 2; pass++) {
        uintptr_t at = device.next;
        auto it = device.known.upper_bound(at);
        if (it != device.known.begin()) --it;
        for (; it != device.known.end() && it->first < at + bytes; ++it) {
            const allocation &a = it->second;
            if (!a.freed && a.pages + a.page_bytes + PAGE > at) at = a.pages + a.page_bytes + PAGE;
        }
        if (at + bytes <= device.end) {
            it = device.known.lower_bound(at);
            while (it != device.known.end() && it->first < at + bytes)
                it = device.known.erase(it);
            device.next = at + bytes;
            return at;
        }
        device.next = device.begin + PAGE;
    }
    return 0;
}

/* Linux would grant far more than there is, and kill the process when it is used. A 32nd is left to
 * the rest of the machine. Asking takes 20 us, so small allocations ask once in 16 MB. */
static bool fits(size_t bytes)
{
    const size_t small = 16 << 20;
    if (bytes < small && (device.unasked += bytes) < small) return true;
    device.unasked = 0;
    size_t available, total;
    simt_host_memory(&available, &total);
    return bytes <= available - available / 32;
}

static bool is_within_reach(void)
{
    return device.host == SIMT_HOST_EVERYTHING || device.opened;
}

static void protect(const allocation &a)
{
    if (!a.freed)
        mprotect((void *)a.pages, a.page_bytes,
                 is_within_reach() ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static void protect_all(void)
{
    for (const auto &entry : device.known)
        protect(entry.second);
}

extern "C" void simt_host_access(enum simt_host_access allowed)
{
    std::lock_guard<std::mutex> guard(device.lock);
    const bool before = is_within_reach();
    device.host = allowed;
    if (is_within_reach() != before) protect_all();
}

void simt_memory_open(void)
{
    std::lock_guard<std::mutex> guard(device.lock);
    if (device.opened++ == 0 && device.host != SIMT_HOST_EVERYTHING) protect_all();
}

void simt_memory_close(void)
{
    std::lock_guard<std::mutex> guard(device.lock);
    if (--device.opened == 0 && device.host != SIMT_HOST_EVERYTHING) protect_all();
}

bool simt_memory_is_sealed(void)
{
    return device.host == SIMT_HOST_NOTHING;
}

cudaError_t simt_memory_allocate(void **pointer, size_t bytes)
{
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    std::lock_guard<std::mutex> guard(device.lock);
    if (!fits(bytes)) return cudaErrorMemoryAllocation;
    if (!device.begin && !reserve()) return cudaErrorMemoryAllocation;
    allocation a = {};
    a.bytes = bytes;
    a.page_bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    a.pages = find_room(a.page_bytes + PAGE);
    if (!a.pages) return cudaErrorMemoryAllocation;
    a.start = (a.pages + a.page_bytes - bytes) & ~(ALIGNMENT - 1);
    void *pages = (void *)a.pages;
    if (mprotect(pages, a.page_bytes, PROT_READ | PROT_WRITE) != 0)
        return cudaErrorMemoryAllocation;
    if (a.page_bytes >= 2 * HUGE_PAGE) madvise(pages, a.page_bytes, MADV_HUGEPAGE);
    memset(pages, 0xff, a.page_bytes);
    a.number = ++device.count;
    device.known[a.pages] = a;
    if (!is_within_reach()) protect(a);
    if (simt_observer) simt_observer->allocated((void *)a.start, bytes);
    *pointer = (void *)a.start;
    return cudaSuccess;
}

/* The allocation whose pages, or guard page, hold the address; NULL if there is none. */
static allocation *find(uintptr_t address)
{
    auto it = device.known.upper_bound(address);
    if (it == device.known.begin()) return nullptr;
    --it;
    allocation &a = it->second;
    return address < a.pages + a.page_bytes + PAGE ? &a : nullptr;
}

static void release(allocation *a)
{
    if (simt_observer) simt_observer->freed((void *)a->start, a->bytes);
    /* A fresh mapping over the old one: its memory is free at once. */
    mmap((void *)a->pages, a->page_bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    a->freed = true;
}

cudaError_t simt_memory_free(void *pointer)
{
    std::lock_guard<std::mutex> guard(device.lock);
    allocation *a = find((uintptr_t)pointer);
    if (!a || a->start != (uintptr_t)pointer || a->freed) return cudaErrorInvalidValue;
    release(a);
    return cudaSuccess;
}

void simt_memory_free_all(void)
{
    std::lock_guard<std::mutex> guard(device.lock);
    for (auto &entry : device.known)
        if (!entry.second.freed) release(&entry.second);
}

bool simt_memory_holds(const void *pointer)
{
    return (uintptr_t)pointer - device.begin < device.end - device.begin;
}

device_array simt_memory_find(uintptr_t address)
{
    std::lock_guard<std::mutex> guard(device.lock);
    const allocation *a = find(address);
    return a ? device_array{a->start, a->bytes, a->number, a->freed} : device_array{};
}

uintptr_t simt_memory_begin(size_t *bytes)
{
    *bytes = device.end - device.begin;
    return device.begin;
}

bool simt_memory_valid(const void *pointer, size_t bytes)
{
    std::lock_guard<std::mutex> guard(device.lock);
    uintptr_t start = (uintptr_t)pointer;
    const allocation *a = find(start);
    return a && !a->freed && start >= a->start && bytes <= a->bytes &&
           start - a->start <= a->bytes - bytes;
}

void simt_memory_describe(uintptr_t address, char *text, size_t size)
{
    std::lock_guard<std::mutex> guard(device.lock);
    const allocation *a = find(address);
    if (!a) {
        snprintf(text, size, "device memory that was never allocated");
        return;
    }
    const char *state = a->freed ? "freed " : "";
    uintptr_t end = a->start + a->bytes;
    if (address < a->start)
        snprintf(text, size, "%zu bytes before %sallocation %u (%zu bytes)",
                 (size_t)(a->start - address), state, a->number, a->bytes);
    else if (address < end)
        snprintf(text, size, "byte %zu of %sallocation %u (%zu bytes)",
                 (size_t)(address - a->start), state, a->number, a->bytes);
    else
        snprintf(text, size, "%zu bytes past the end of %sallocation %u (%zu bytes)",
                 (size_t)(address - end), state, a->number, a->bytes);
}
