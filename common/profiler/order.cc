/*
 * order.cc - what orders two accesses. CUDA C++ Programming Guide, "Memory Fence Functions",
 * "Synchronization Functions", "Warp Vote Functions"; PTX ISA, "Memory Consistency Model".
 *
 *   in a thread         the program
 *   in a warp           __syncwarp, for the lanes of its mask; not shuffles, votes or mma, which
 *                       exchange registers and order no memory
 *   in a block          __syncthreads; barriers in shared memory (mbarrier), for those who arrive
 *                       before a phase ends, and those who wait for its end
 *   between blocks      nothing but a message
 *   between launches    everything: launches of one stream follow each other; of others see stream_order.cc
 *
 * A message: a thread passes a fence and then writes a flag with an atomic function or a volatile
 * store; another thread reads the flag, again with an atomic or volatile access. What the sender
 * knew to be over at its fence is over for the receiver. After a fence of its own the receiver may
 * write over the flag: so threads take turns. A second fence, between the receiver's
 * read and what it reads afterwards, belongs to the rule too. CUDA's own example
 * (threadFenceReduction) does without it, so its absence is not held against anybody.
 *
 * A thread that has exited counts as having arrived wherever others wait for it: so the hardware
 * counts.
 *
 * Barriers are cheap to follow: all that happened in the block before the last one is over, so that
 * one moment is enough. The same for a warp and __syncwarp() with a full mask. After one with a
 * partial mask every lane has a clock for each of the others, 32 x 32 moments for the warp. Once a
 * block uses barriers in shared memory each of its threads has one for every other. What a bulk copy
 * writes counts as done by the thread that started it, when it started it.
 */
#include "profiler/checks.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string.h>
#include <unordered_map>
#include <vector>

moment time_now = 1;
order_marks order;

namespace
{

enum { TO_BLOCK, TO_DEVICE, SCOPES }; /* whom a fence is meant for */

struct warp_order {
    moment synced; /* when all its lanes last met */
    bool partial;  /* some of them have met since */
    /* Times of the other lanes: all that lane m did before known[l][m] is over for lane l. Valid while `partial`. */
    moment known[WARP_LANES][WARP_LANES];
    /* The last fence of any of its lanes, and the last that all of them know of. */
    moment fence[SCOPES], known_fence[SCOPES];
};
warp_order warps[MAX_WARPS];
moment block_fence[SCOPES], block_known_fence[SCOPES]; /* the same for the block */

/* Accesses that a fence lets others see: those of the thread itself before `own`, its warp before `warp`,
 * all threads of its block before `block`. */
struct coverage {
    moment own, warp, block;

    bool empty() const { return !own && !warp && !block; }
    bool holds(event_of_thread e, unsigned thread) const
    {
        return e.time < block || (e.time < warp && e.thread / WARP_LANES == thread / WARP_LANES) ||
               (e.time < own && e.thread == thread);
    }
};
coverage fences[MAX_THREADS][SCOPES]; /* of each thread, in the block if own >= its start */
bool fenced; /* there was a fence in this launch: without, there are no messages */

struct flag;

/* A thread has read a flag: it knows the first `messages` that were left there. */
struct receipt {
    const flag *from;
    size_t messages;
    event_of_thread reader;
};
std::vector<receipt> receipts; /* of this launch */
size_t first_receipt;          /* of this block */

struct message {
    moment block_start, written;
    unsigned thread;
    coverage to[SCOPES];
    size_t receipts_begin, receipts_end; /* what the sender's block had been told */
};

/* The messages an address has carried since something else was written to it, oldest first: so
 * their blocks ascend. An atomic function adds its own; a store begins anew. */
struct flag {
    uintptr_t address;
    std::vector<message> messages;
    std::vector<size_t> relays; /* those whose senders had read other flags */
};
std::deque<flag> flags; /* of this launch; they stay where they are */
typedef std::unordered_map<uintptr_t, flag *> flag_board;
flag_board global_flags, shared_flags;

/* Times of the threads: all that thread t did before clock[t] is over. */
typedef std::vector<moment> block_clock;
block_clock clocks[MAX_THREADS]; /* of each thread; empty: it knows of nobody */
struct phase_clocks {
    block_clock ended,
        current; /* for who waits: of past phases, and of the one that has not ended */
};
std::map<const void *, phase_clocks> mbarriers; /* of this block */

std::vector<std::pair<moment, uint64_t>> blocks; /* when each block of this launch began */

} // namespace

static inline moment tick(void)
{
    if (time_now < END_OF_TIME) time_now++;
    return time_now;
}

/* ---- launches and blocks --------------------------------------------------------------------- */

void order_launch_begin(void)
{
    order.launch_start = tick();
    fenced = false;
    receipts.clear();
    flags.clear();
    global_flags.clear();
    blocks.clear();
}

void order_block_begin(uint64_t number)
{
    order.block_start = order.barrier = tick();
    blocks.push_back({order.block_start, number});
    first_receipt = receipts.size();
    order.told = false;
    if (order.waited || !mbarriers.empty())
        for (block_clock &c : clocks)
            c.clear();
    order.waited = false;
    mbarriers.clear();
    shared_flags.clear();
    for (warp_order &w : warps) {
        w.synced = order.block_start;
        w.partial = false;
        for (int s = 0; s < SCOPES; s++)
            w.fence[s] = w.known_fence[s] = 0;
    }
    for (int s = 0; s < SCOPES; s++)
        block_fence[s] = block_known_fence[s] = 0;
}

uint64_t order_block_at(moment time)
{
    auto later = std::upper_bound(blocks.begin(), blocks.end(), std::make_pair(time, ~(uint64_t)0));
    return later == blocks.begin() ? 0 : (--later)->second;
}

/* ---- barriers in shared memory --------------------------------------------------------------- */

static void learn(block_clock *mine, const block_clock &theirs)
{
    if (mine->size() < theirs.size()) mine->resize(theirs.size());
    for (size_t t = 0; t < theirs.size(); t++)
        (*mine)[t] = std::max((*mine)[t], theirs[t]);
}

static void learn_of(block_clock *mine, unsigned thread, moment until)
{
    if (mine->size() <= thread) mine->resize(thread + 1);
    (*mine)[thread] = std::max((*mine)[thread], until);
}

/* Lanes that meet know what any of them knew. */
static void share_clocks(const warp *w, uint32_t mask)
{
    block_clock together;
    for (uint32_t set = mask; set; set &= set - 1)
        learn(&together, clocks[w->number * WARP_LANES + lowest(set)]);
    for (uint32_t set = mask; set; set &= set - 1)
        clocks[w->number * WARP_LANES + lowest(set)] = together;
}

void order_mbarrier_reached(const void *barrier, const lane *who)
{
    block_clock &said = mbarriers[barrier].current;
    const warp_order &w = warps[who->home->number];
    learn(&said, clocks[who->number]);
    for (unsigned l = 0; l < WARP_LANES; l++)
        learn_of(&said, who->home->number * WARP_LANES + l,
                 w.partial ? std::max(w.synced, w.known[who->index][l]) : w.synced);
    learn_of(&said, who->number, tick());
}

void order_mbarrier_ended(const void *barrier)
{
    phase_clocks &b = mbarriers[barrier];
    learn(&b.ended, b.current);
    b.current.clear();
}

void order_mbarrier_waited(const void *barrier, const lane *who)
{
    order.waited = true;
    learn(&clocks[who->number], mbarriers[barrier].ended);
}

/* ---- barriers, __syncwarp, fences ------------------------------------------------------------ */

void order_barrier(void)
{
    order.barrier = tick();
    for (int s = 0; s < SCOPES; s++)
        block_known_fence[s] = block_fence[s];
}

void order_syncwarp(const warp *w, uint32_t mask)
{
    const moment now = tick();
    warp_order &o = warps[w->number];
    for (int s = 0; s < SCOPES; s++)
        o.known_fence[s] = o.fence[s];
    mask &= w->present;
    if (order.waited) share_clocks(w, mask);
    if (mask == w->present) {
        o.synced = now;
        o.partial = false;
        return;
    }
    if (!o.partial) memset(o.known, 0, sizeof o.known);
    o.partial = true;
    /* Each now knows what any of them knew, and what they did themselves. */
    moment together[WARP_LANES] = {};
    for (uint32_t set = mask; set; set &= set - 1)
        for (int m = 0; m < WARP_LANES; m++)
            together[m] = std::max(together[m], o.known[lowest(set)][m]);
    for (uint32_t set = mask; set; set &= set - 1)
        together[lowest(set)] = now;
    for (uint32_t set = mask; set; set &= set - 1)
        memcpy(o.known[lowest(set)], together, sizeof together);
}

void order_fence(const lane *who, simt_scope scope)
{
    const moment now = tick();
    warp_order &w = warps[who->home->number];
    fenced = true;
    for (int s = TO_BLOCK; s <= (scope == SIMT_SCOPE_BLOCK ? TO_BLOCK : TO_DEVICE); s++) {
        /* Once some lanes have met without the others, the whole warp is taken to be covered. */
        fences[who->number][s] = {now, w.partial ? now : w.synced, order.barrier};
        w.fence[s] = block_fence[s] = now;
    }
}

/* Returns the accesses that a message of this thread would cover. A fence before a barrier counts for the threads that
 * the barrier let go, too: "write, __threadfence, __syncthreads, one thread's atomic" is common. */
static coverage covered(const lane *who, int scope)
{
    const warp_order &w = warps[who->home->number];
    coverage c = fences[who->number][scope];
    if (c.own < order.block_start) c = {};
    c.warp = std::max(c.warp, w.known_fence[scope]);
    c.block = std::max(c.block, block_known_fence[scope]);
    return c;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* A thread that waits by an atomic function says the same again and again. */
static bool is_repeated(const message &last, const message &next)
{
    return last.block_start == next.block_start && last.thread == next.thread &&
           !memcmp(last.to, next.to, sizeof last.to);
}

void order_strong_write(uintptr_t address, const lane *who, bool shared, bool update)
{
    if (!fenced) return;
    flag_board &board = shared ? shared_flags : global_flags;
    const coverage to_block = covered(who, TO_BLOCK), to_device = covered(who, TO_DEVICE);
    const bool empty = to_block.empty(); /* a fence for the device is one for the block */
    auto known = board.find(address);
    if (empty && !update && known != board.end()) board.erase(known);
    if (empty) return;
    flag *f = update && known != board.end() ? known->second : &flags.emplace_back();
    f->address = address;
    board[address] = f;
    const message fresh = {order.block_start,     time_now,      who->number,
                           {to_block, to_device}, first_receipt, receipts.size()};
    if (!f->messages.empty() && is_repeated(f->messages.back(), fresh)) {
        f->messages.back().receipts_end = fresh.receipts_end;
        f->messages.back().written = time_now;
        return;
    }
    for (size_t i = first_receipt; i < receipts.size(); i++)
        if (receipts[i].from != f) {
            f->relays.push_back(f->messages.size());
            break;
        }
    f->messages.push_back(fresh);
}

void order_strong_read(uintptr_t address, const lane *who, bool shared)
{
    if (!fenced) return;
    const flag_board &board = shared ? shared_flags : global_flags;
    auto known = board.find(address);
    if (known == board.end()) return;
    const flag *f = known->second;
    const receipt fresh = {f, f->messages.size(), {time_now, who->number}};
    if (receipts.size() > first_receipt) {
        /* One that waits reads again and again. Nobody has learnt of its last receipt in between if
         * time has stood still. */
        receipt &last = receipts.back();
        const bool same = last.from == f && last.reader.thread == who->number;
        if (same && last.messages == fresh.messages) return;
        if (same && last.reader.time == time_now) {
            last = fresh;
            return;
        }
    }
    receipts.push_back(fresh);
    order.told = true;
}

static bool over_in_block(event_of_thread before, const lane *me)
{
    if (before.time < order.barrier || before.thread == me->number) return true;
    const block_clock &clock = clocks[me->number];
    if (before.thread < clock.size() && before.time < clock[before.thread]) return true;
    if (before.thread / WARP_LANES != me->home->number) return false;
    const warp_order &w = warps[me->home->number];
    return before.time < w.synced ||
           (w.partial && before.time < w.known[me->index][before.thread % WARP_LANES]);
}

/* Rest of a search: the first `messages` of a flag, as far as they are meant for
 * `scope`. What was passed on to this block by another may have been told to that one alone. */
struct reading {
    const flag *from;
    size_t messages;
    int scope;
};

/* Whether one of these messages covers `before`. Adds what their senders in turn had read. */
static bool tells(reading r, event_of_thread before, std::vector<reading> *more)
{
    const std::vector<message> &all = r.from->messages;
    const auto end = all.begin() + (ptrdiff_t)r.messages;
    const auto after =
        std::upper_bound(all.begin(), end, before.time,
                         [](moment time, const message &m) { return time < m.block_start; });
    /* The last block to begin by then may be the one meant; an earlier one's fences were before. */
    auto first = after;
    while (first != all.begin() && (first - 1)->block_start == (after - 1)->block_start) {
        --first;
        if (first->to[r.scope].holds(before, first->thread)) return true;
    }
    const std::vector<size_t> &relays = r.from->relays;
    auto relay = std::lower_bound(relays.begin(), relays.end(), (size_t)(first - all.begin()));
    for (; relay != relays.end() && *relay < r.messages; ++relay)
        for (size_t i = all[*relay].receipts_begin; i < all[*relay].receipts_end; i++)
            more->push_back({receipts[i].from, receipts[i].messages, TO_BLOCK});
    return false;
}

/* Whether thread `me` has been told, directly or not. */
static bool told(event_of_thread before, const lane *me)
{
    if (!order.told) return false;
    const int scope = before.time < order.block_start ? TO_DEVICE : TO_BLOCK;
    std::vector<reading> open;
    std::map<std::pair<const flag *, int>, size_t> read;
    for (size_t i = first_receipt; i < receipts.size(); i++)
        if (over_in_block(receipts[i].reader, me))
            open.push_back({receipts[i].from, receipts[i].messages, scope});
    while (!open.empty()) {
        const reading r = open.back();
        open.pop_back();
        size_t &known = read[{r.from, r.scope}];
        if (known >= r.messages) continue;
        known = r.messages;
        if (tells(r, before, &open)) return true;
    }
    return false;
}

bool order_has_message(const lane *who)
{
    return fenced &&
           !covered(who, TO_BLOCK).empty(); /* a fence for the device is one for the block */
}

bool order_took_turn(uintptr_t address, event_of_thread before, const lane *me, bool atomic)
{
    if (!order.told) return false;
    const coverage mine = covered(me, TO_BLOCK);
    const moment fence = std::max(mine.own, std::max(mine.warp, mine.block));
    for (size_t i = receipts.size(); i-- > first_receipt;) {
        const receipt &r = receipts[i];
        if (r.from->address != address || !over_in_block(r.reader, me)) continue;
        if (!atomic && fence <= r.reader.time) continue;
        for (size_t k = r.messages; k-- > 0;) {
            const message &m = r.from->messages[k];
            if (m.thread == before.thread && m.block_start <= before.time &&
                before.time <= m.written)
                return true;
        }
    }
    return false;
}

bool order_search(event_of_thread before, const lane *me)
{
    if (before.time >= order.block_start && over_in_block(before, me)) return true;
    return told(before, me);
}
