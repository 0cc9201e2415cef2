/*
 * racecheck.cc - two threads access the same bytes, at least one of them writes, and nothing orders
 * the two (order.cc says what does). On a GPU either may come first, so the result is a matter of
 * luck, even if it has been right every time so far.
 *
 * It does not matter whether both write the same value: CUDA leaves that undefined too, and whoever
 * changes the kernel will not know that it has to stay so.
 *
 * Which accesses may meet without order:
 *
 *     two atomic functions    always: each reads and writes at once
 *     an atomic function or volatile store, and a volatile load
 *                             a flag and who polls it: the load finds the old value or the new one.
 *                             A volatile store is a flag only after a fence: without one it says
 *                             nothing about what was written before, so it is data
 *     two that write, one of them a volatile store
 *                             never: one is lost, or falls between another's load and store. That
 *                             includes x = x + 1 with a volatile x, which is a load, then a store.
 *                             Who has read the other's flag and passed a fence comes after it
 *     a plain access          never
 *
 * Relaxed accesses of 16 bytes (device/vec.cuh) count as atomic functions: posted sums are given and
 * taken back by them without a fence. So a sum formed by a relaxed load and store is not found.
 *
 * `volatile` tells the compiler to make an access as it is written. CUDA promises with it neither one
 * piece nor any order ("Memory Fence Functions"; PTX ISA, "Memory Consistency Model": such an access
 * is relaxed). An atomic function that leaves the value as it was counts as a load beside a volatile
 * store: so a lock that others try to take may be let go by one.
 *
 * Launches of streams that do not wait for each other are stream_order.cc's affair.
 *
 * How. Every 4-byte word of memory has notes on who used it last, 32 bytes in all (shadow.h):
 *
 *     write, other_write    the last access that wrote; one more that nothing orders with it
 *     read, other_read      the same for reads
 *
 * An access is compared with these and then takes the place of those that are over by now: what
 * comes after it comes after them as well (Flanagan and Freund, FastTrack, PLDI 2009). Where a
 * third reader finds two that are not over, it is enough to know two, of different warps if
 * possible: whoever writes next is at most one of them, and warps are ordered by barriers only,
 * which order all. So nothing is reported that is ordered. A race can be missed where three threads
 * use bytes of one word. It can be missed, too, where messages order two of three readers with the
 * writer but not the third.
 */
#include "profiler/checks.h"
#include "profiler/shadow.h"

namespace
{

/* Classes of accesses: the kind of an access decides which others it may meet. */
enum access_class { PLAIN, DATA, FLAG, TRIAL, ATOMIC }; /* DATA, FLAG: volatile */

/* One access to a word, in 64 bits. */
struct record {
    uint64_t time : 32; /* 0: there was none */
    uint64_t thread : 12;
    uint64_t kind : 3;  /* an access_class */
    uint64_t bytes : 4; /* of the word: bit i is byte i */
    uint64_t site : 13; /* in `sites` */
};
static_assert(MAX_THREADS <= 1 << 12 && END_OF_TIME < (moment)1 << 32);

struct cell {
    record write, other_write, read, other_read;
};
const size_t WORD = 4;
shadow<cell, WORD> cells;

/* Code addresses that accesses come from: a hash table, and an entry's place is its number. */
const unsigned SITES = 1 << 13, MOST_SITES = SITES / 4 * 3;
const void *sites[SITES]; /* number 0 is for those for which there is no room */
unsigned site_count;

} // namespace

static inline unsigned site_number(const void *site)
{
    unsigned i = (unsigned)((uintptr_t)site * 0x9E3779B97F4A7C15u >> (64 - 13));
    while (sites[i] != site || i == 0) {
        if (i != 0 && !sites[i]) {
            if (site_count == MOST_SITES) return 0;
            site_count++;
            sites[i] = site;
            return i;
        }
        i = (i + 1) % SITES;
    }
    return i;
}

/* ---- one word -------------------------------------------------------------------------------- */

static inline bool is_over(record old, const access *a)
{
    return !old.time || is_over({old.time, (unsigned)old.thread}, a->who, a->shared);
}

/* Whether the two may come in any order. */
static bool may_meet(record old, bool old_wrote, record mine, bool i_write)
{
    if (old.kind == PLAIN || mine.kind == PLAIN) return false;
    if (old.kind >= TRIAL && mine.kind >= TRIAL) return true; /* both atomic */
    const bool old_changes = old_wrote && old.kind != TRIAL,
               i_change = i_write && mine.kind != TRIAL;
    if (old_changes && i_change) return false;
    return !(old_changes && old.kind == DATA) && !(i_change && mine.kind == DATA);
}

/* Whether `old` left a message that this access, which writes, may write over. */
static inline bool took_turn(record old, record mine, const access *a)
{
    if (old.kind == PLAIN || mine.kind == PLAIN || (old.kind >= TRIAL && mine.kind >= TRIAL))
        return false;
    return order_took_turn(a->address, {old.time, (unsigned)old.thread}, a->who, a->atomic);
}

static inline bool conflicts(record old, bool old_wrote, record mine, const access *a)
{
    return (old.bytes & mine.bytes) && !is_over(old, a) &&
           !may_meet(old, old_wrote, mine, a->write) &&
           !(old_wrote && a->write && took_turn(old, mine, a));
}

/* Says of accesses that are not over whether they are of one warp. */
static inline bool same_warp(record a, record b)
{
    const bool block_a = a.time < order.block_start, block_b = b.time < order.block_start;
    return block_a == block_b && a.thread / WARP_LANES == b.thread / WARP_LANES;
}

static inline void note_read(cell *c, record mine, const access *a)
{
    if (is_over(c->read, a))
        c->read = mine;
    else if (is_over(c->other_read, a) || same_warp(c->read, c->other_read))
        c->other_read = mine;
}

static inline void note_write(cell *c, record mine, const access *a)
{
    if (took_turn(c->write, mine, a)) /* who wrote before had taken turns, too */
        c->other_write = {};
    else if (!is_over(c->write, a) &&
             (is_over(c->other_write, a) || same_warp(c->other_write, mine) ||
              !same_warp(c->write, mine)))
        c->other_write = c->write;
    c->write = mine;
    /* Whoever comes after this comes after those. */
    if (mine.bytes == 15) {
        if (is_over(c->other_write, a)) c->other_write = {};
        if (is_over(c->read, a)) c->read = {};
        if (is_over(c->other_read, a)) c->other_read = {};
    }
}

/* ---- a finding ------------------------------------------------------------------------------- */

/* "thread (3,0,0) of its warp", "... of its block", "... of block (2,0,0)" */
static void describe_thread(record old, const access *a, char *text, size_t size)
{
    const simt_launch_config &c = a->self->job->config;
    const unsigned n = (unsigned)old.thread, x = c.block.x, y = c.block.y;
    int used = snprintf(text, size, "thread (%u,%u,%u) of ", n % x, n / x % y, n / x / y);
    if (old.time < order.block_start) {
        const uint64_t b = order_block_at(old.time);
        snprintf(text + used, size - (size_t)used, "block (%u,%u,%u)", (unsigned)(b % c.grid.x),
                 (unsigned)(b / c.grid.x % c.grid.y), (unsigned)(b / c.grid.x / c.grid.y));
    } else {
        const bool same = n / WARP_LANES == a->who->home->number;
        snprintf(text + used, size - (size_t)used, "its %s", same ? "warp" : "block");
    }
}

static const char *advice_for(record old, record mine, const access *a, bool both_write)
{
    if ((old.kind == DATA || old.kind == FLAG) && (mine.kind == DATA || mine.kind == FLAG))
        return both_write ? "volatile makes no x = x + 1 atomic and orders no stores: use an "
                            "atomic function, "
                            "or a barrier between the two"
                          : "volatile orders nothing: put a barrier between the two; a flag that "
                            "others poll "
                            "needs a __threadfence() before its store";
    if (old.kind != PLAIN || mine.kind != PLAIN)
        return "an atomic function protects from other atomic ones only: make both accesses atomic "
               "(a read may be volatile), or put a barrier between them";
    if (old.time < order.block_start && both_write)
        return "blocks run in any order: add with atomicAdd, or give each element to one block";
    if (old.time < order.block_start)
        return "blocks run in any order: use two launches, or pass a message: write, "
               "__threadfence(), atomic function; atomic function, __threadfence(), read";
    if (old.thread / WARP_LANES == a->who->home->number)
        return "lanes of a warp do not run in step: between the two is missing a __syncwarp() of "
               "all lanes concerned, or a __syncthreads(); in a loop also between two rounds";
    return "a __syncthreads() is missing between the two; in a loop also between two rounds";
}

static void report(record old, bool old_wrote, record mine, const access *a)
{
    static const char *const kind = "race";
    const void *other = sites[old.site];
    if (finding_again(kind, a, other)) return;
    char where[256], who[96];
    describe_address(a, where, sizeof where);
    describe_thread(old, a, who, sizeof who);
    finding_add(kind, a, other, advice_for(old, mine, a, old_wrote && a->write),
                "%s %s, which %s %s: nothing orders the two (%s after %s)",
                a->atomic  ? "updates"
                : a->write ? "writes"
                           : "reads",
                where, who, old_wrote ? "writes" : "reads", a->write ? "write" : "read",
                old_wrote ? "write" : "read");
    if (old.time >= order.block_start) finding_partner((unsigned)old.thread, other);
}

/* ---- what hooks.cc calls --------------------------------------------------------------------- */

/* One word of the access; true if it is part of a race, which is reported unless `known`. */
static inline bool check_word(cell *c, record mine, const access *a, bool known)
{
    const record *culprit = nullptr;
    if (conflicts(c->write, true, mine, a))
        culprit = &c->write;
    else if (conflicts(c->other_write, true, mine, a))
        culprit = &c->other_write;
    else if (a->write && conflicts(c->read, false, mine, a))
        culprit = &c->read;
    else if (a->write && conflicts(c->other_read, false, mine, a))
        culprit = &c->other_read;
    if (__builtin_expect(culprit && !known, 0))
        report(*culprit, culprit == &c->write || culprit == &c->other_write, mine, a);
    if (a->write)
        note_write(c, mine, a);
    else
        note_read(c, mine, a);
    return culprit != nullptr;
}

static bool is_watched(const access *a)
{
    if (__builtin_expect(time_now == END_OF_TIME || a->address >> 47, 0)) return false;
    /* Read-only memory needs no watching; whoever writes it all the same, memcheck finds. */
    return a->write || a->shared || !is_read_only(a->address);
}

static access_class class_of(const access *a)
{
    if (a->atomic) return a->unchanged ? TRIAL : ATOMIC;
    if (a->how == WEAK) return PLAIN;
    if (a->how == RELAXED) return ATOMIC;
    return !a->write || order_has_message(a->who) ? FLAG : DATA;
}

static void check_words(const access *a, access_class kind)
{
    record mine = {time_now, a->who->number, kind, 0, site_number(a->site)};
    const uintptr_t end = a->address + a->size;
    bool racing = false;
    for (uintptr_t at = a->address, next; at < end; at = next) {
        next = min((at / WORD + 1) * WORD, end);
        mine.bytes = ((1u << (next - at)) - 1) << at % WORD;
        racing |= check_word(cells.at(at), mine, a, racing); /* one finding for all of its words */
    }
}

void racecheck_access(const access *a)
{
    if (!is_watched(a)) return;
    if (!a->shared) stream_order_access(a);
    const bool strong = a->atomic || a->how != WEAK;
    if (strong && (a->atomic || !a->write)) order_strong_read(a->address, a->who, a->shared);
    check_words(a, class_of(a));
    if (strong && a->write) order_strong_write(a->address, a->who, a->shared, a->atomic);
}

void racecheck_async_arrived(worker *self, lane *who, uintptr_t shared, unsigned bytes,
                             const void *site)
{
    const access to = {shared, bytes, true, true, false, site, self, who, WEAK, false};
    racecheck_access(&to);
}

void racecheck_mbarrier_init(const access *barrier)
{
    if (is_watched(barrier)) check_words(barrier, PLAIN);
}

void racecheck_mbarrier_reached(const access *barrier)
{
    if (is_watched(barrier)) check_words(barrier, ATOMIC);
    order_mbarrier_reached((const void *)barrier->address, barrier->who);
}

void racecheck_mbarrier_waited(const access *barrier)
{
    if (is_watched(barrier)) check_words(barrier, ATOMIC);
    order_mbarrier_waited((const void *)barrier->address, barrier->who);
}

void racecheck_mbarrier_ended(const void *barrier)
{
    order_mbarrier_ended(barrier);
}

void racecheck_syncwarp(worker *, warp *w, uint32_t mask)
{
    order_syncwarp(w, mask);
}

void racecheck_barrier(worker *)
{
    order_barrier();
}

void racecheck_fence(worker *, lane *who, simt_scope scope)
{
    order_fence(who, scope);
}

void racecheck_launch_begin(const launch *job)
{
    stream_order_launch(job);
    /* Half of all time is left for a launch: 2 thousand million barriers, fences and blocks. One
     * that needs more is not checked to its end. */
    if (time_now > END_OF_TIME / 2) {
        cells.forget_all();
        time_now = 1;
    }
    order_launch_begin();
}

void racecheck_block_begin(worker *self)
{
    order_block_begin(self->block_number);
}

void racecheck_freed(const void *start, size_t bytes)
{
    if (!profiler.racecheck) return;
    cells.forget((uintptr_t)start, bytes);
    stream_order_freed(start, bytes);
}
