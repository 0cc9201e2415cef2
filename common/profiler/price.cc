/*
 * price.cc - what one step of a warp costs.
 *
 * Global memory moves in sectors of 32 bytes: a request costs as many as its lanes touch. Shared
 * memory has 32 banks of 4 bytes: a request takes as many wavefronts as the most wanted bank has
 * different words to deliver. Lanes with 8 bytes each are served in halves of the warp, with 16 bytes
 * in quarters, since one wavefront moves 128 bytes; lanes that want the same word share it. (CUDA C++
 * Programming Guide, "Shared Memory".) Nsight Compute shows two rules more on an H200, with the
 * patterns of tests/counters. Loads of pairs that are alike take twice as many lanes at a time. An
 * atomic sends a sector once for each lane that wants the same address in it.
 */
#include "profiler/machine.h"
#include "profiler/profiler.h"

#include <algorithm>

static const unsigned SECTOR_BYTES = 32, BANKS = 32, BANK_BYTES = 4;

static counters totals;

/* One for each instruction and kind; open addressing. */
static const unsigned MAX_SITES = 4096;
static site_counters sites[MAX_SITES];
static uint16_t used[MAX_SITES]; /* in the order of their first use */
static size_t used_count;

static access_counters *counters_of(const void *site, event_kind kind, unsigned size)
{
    const uintptr_t key = (uintptr_t)site * 8 + kind;
    unsigned i = (uint32_t)(key * 2654435761u) >> 20; /* 12 bits */
    while (sites[i].site && (sites[i].site != site || sites[i].kind != kind))
        i = (i + 1) % MAX_SITES;
    if (!sites[i].site && used_count < MAX_SITES - 1) {
        sites[i] = {site, kind, size, {}};
        used[used_count++] = (uint16_t)i;
    }
    return &sites[i].n;
}

void price_launch_begins(void)
{
    totals = {};
    for (size_t i = 0; i < used_count; i++)
        sites[used[i]] = {};
    used_count = 0;
}

const site_counters *price_sites(size_t *count)
{
    static site_counters list[MAX_SITES];
    for (size_t i = 0; i < used_count; i++)
        list[i] = sites[used[i]];
    *count = used_count;
    return list;
}

/* ---- global memory --------------------------------------------------------------------------- */

/* The different numbers among the first `count`, in ascending order; returns how many. */
static unsigned distinct(uint64_t *numbers, unsigned count)
{
    bool ascending = true;
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++) {
        if (n && numbers[n - 1] == numbers[i]) continue;
        ascending &= !n || numbers[n - 1] < numbers[i];
        numbers[n++] = numbers[i];
    }
    if (ascending) return n;
    std::sort(numbers, numbers + n);
    return (unsigned)(std::unique(numbers, numbers + n) - numbers);
}

/* Units of `unit` bytes that this many bytes fill. */
static inline int64_t units(int64_t bytes, unsigned unit)
{
    return (bytes + unit - 1) / unit;
}

/* Turns of lanes that want the same address, of which only one is served at a time: how many times something has to
 * be sent if it is so for each sector by itself, and if for the request as a whole. */
struct turns {
    unsigned sectors, request;
};
static turns take_turns(const warp_step *s)
{
    uintptr_t sorted[WARP_LANES];
    std::copy_n(s->addresses, s->count, sorted);
    std::sort(sorted, sorted + s->count);
    turns of = {};
    for (unsigned i = 0; i < s->count;) {
        const uintptr_t sector = sorted[i] / SECTOR_BYTES;
        unsigned most = 0;
        while (i < s->count && sorted[i] / SECTOR_BYTES == sector) {
            const uintptr_t address = sorted[i];
            unsigned run = 0;
            for (; i < s->count && sorted[i] == address; i++)
                run++;
            most = std::max(most, run);
        }
        of.sectors += most;
        of.request = std::max(of.request, most);
    }
    return of;
}

static void price_global(const warp_step *s, access_counters *n)
{
    uint64_t sectors[WARP_LANES];
    size_t bytes;
    const uintptr_t begin = simt_memory_begin(&bytes); /* so that they are the same in every run */
    for (unsigned i = 0; i < s->count; i++)
        sectors[i] = (s->addresses[i] - begin) / SECTOR_BYTES;
    const unsigned count = distinct(sectors, s->count);
    n->ideal += units(s->bytes, SECTOR_BYTES);
    if (s->kind == GLOBAL_ATOMIC) {
        const turns of = take_turns(s);
        n->cost += of.sectors;
        n->serial += of.request;
    } else {
        n->cost += count;
    }
    machine_request(s->warp, (access_kind)s->kind, sectors, count, s->size);
}

/* ---- shared memory --------------------------------------------------------------------------- */

/* Counts for lanes served together the words each bank must deliver, and returns the most that one must. */
static int64_t wavefronts_of_part(const warp_step *s, unsigned begin, unsigned end)
{
    uint64_t words[4 * WARP_LANES];
    uint8_t wanted[BANKS] = {};
    const unsigned words_each = std::max(1u, s->size / BANK_BYTES);
    unsigned count = 0;
    for (unsigned i = begin; i < end; i++)
        for (unsigned k = 0; k < words_each; k++)
            words[count++] = s->addresses[i] / BANK_BYTES + k;
    count = distinct(words, count);
    uint8_t most = 0;
    for (unsigned i = 0; i < count; i++)
        most = std::max(most, ++wanted[words[i] % BANKS]);
    return most;
}

/* Whether lanes i and i ^ distance want the same address, as far as both want any. */
static bool alike(const warp_step *s, unsigned distance)
{
    uintptr_t address[WARP_LANES] = {};
    uint32_t rest = s->lanes;
    for (unsigned i = 0; i < s->count; i++, rest &= rest - 1)
        address[lowest(rest)] = s->addresses[i];
    for (unsigned l = 0; l < WARP_LANES; l++)
        if (address[l] && address[l ^ distance] && address[l] != address[l ^ distance])
            return false;
    return true;
}

static int64_t wavefronts(const warp_step *s)
{
    unsigned lanes_together = s->size <= 4 ? 32 : 128 / s->size;
    if (s->size > 4 && s->kind == SHARED_LOAD && (alike(s, 1) || alike(s, 2))) lanes_together *= 2;
    int64_t sum = 0;
    uint32_t rest = s->lanes;
    for (unsigned begin = 0; begin < s->count;) {
        const unsigned part = lowest(rest) / lanes_together;
        unsigned end = begin;
        for (; rest && lowest(rest) / lanes_together == part; rest &= rest - 1)
            end++;
        sum += wavefronts_of_part(s, begin, end);
        begin = end;
    }
    return sum;
}

static void price_shared(const warp_step *s, access_counters *n)
{
    const int64_t cost = wavefronts(s);
    n->cost += cost;
    n->ideal += std::min(cost, units(s->bytes, BANKS * BANK_BYTES));
    if (s->kind == SHARED_ATOMIC) n->serial += take_turns(s).request;
    machine_step(s->warp);
}

/* ---- bulk copies ----------------------------------------------------------------------------- */

/* They are no warp's load and store: a unit of its own carries them out while the warp goes on. So they
 * count as requests and bytes, but not as steps. */
void price_bulk_copy(const lane *who, uintptr_t global, uintptr_t shared, unsigned bytes,
                     const void *site)
{
    const unsigned warp = who->home->number;
    size_t all;
    const uint64_t first = (global - simt_memory_begin(&all)) / SECTOR_BYTES;
    const uint64_t end =
        (global - simt_memory_begin(&all) + bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
    access_counters *const load = counters_of(site, GLOBAL_LOAD, SECTOR_BYTES);
    access_counters *const store = counters_of(site, SHARED_STORE, SECTOR_BYTES);
    const int64_t wavefronts = units(bytes, BANKS * BANK_BYTES);
    const access_counters loaded = {.requests = 1,
                                    .lanes = 1,
                                    .bytes = bytes,
                                    .cost = (int64_t)(end - first),
                                    .ideal = units(bytes, SECTOR_BYTES)};
    const access_counters stored = {
        .requests = 1, .lanes = 1, .bytes = bytes, .cost = wavefronts, .ideal = wavefronts};
    access_counters_add(load, &loaded);
    access_counters_add(store, &stored);
    if (profiler.record) {
        const warp_step from = {warp,     GLOBAL_LOAD, SECTOR_BYTES, bytes, site,
                                who->bit, 1,           {global}};
        const warp_step to = {warp, SHARED_STORE, SECTOR_BYTES, bytes, site, who->bit, 1, {shared}};
        record_step(&from, &loaded);
        record_step(&to, &stored);
    }
    for (uint64_t at = first; at < end;) {
        uint64_t sectors[WARP_LANES];
        unsigned count = 0;
        while (count < WARP_LANES && at < end)
            sectors[count++] = at++;
        machine_request(warp, GLOBAL_LOAD, sectors, count, 16);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

void price_step(const warp_step *s)
{
    totals.steps++;
    totals.lane_steps += s->count;
    if (s->kind == EVENT_BASIC_BLOCK) return;
    if (s->kind >= EVENT_OPERATION) {
        const access_counters none = {};
        totals.operations[s->kind - EVENT_OPERATION]++;
        if (profiler.record) record_step(s, &none);
        machine_step(s->warp);
        return;
    }
    totals.memory_steps++;
    totals.memory_lanes += s->count;
    access_counters n = {.requests = 1, .lanes = s->count, .bytes = s->bytes};
    if (s->kind <= GLOBAL_ATOMIC)
        price_global(s, &n);
    else
        price_shared(s, &n);
    access_counters_add(counters_of(s->site, s->kind, s->size), &n);
    if (profiler.record) record_step(s, &n);
}

void price_totals(counters *total)
{
    for (size_t i = 0; i < used_count; i++) {
        const site_counters &s = sites[used[i]];
        access_counters *to = &totals.access[s.kind];
        to->requests += s.n.requests;
        to->lanes += s.n.lanes;
        to->bytes += s.n.bytes;
        to->cost += s.n.cost;
        to->ideal += s.n.ideal;
        to->serial += s.n.serial;
    }
    counters_add(total, &totals);
}
