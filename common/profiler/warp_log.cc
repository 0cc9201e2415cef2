/*
 * warp_log.cc - what a warp does, from what its lanes did. On this backend lanes run one after the
 * other; on a GPU the lanes of a warp that are at the same instruction execute it together. So each
 * lane logs its events, and when the warp stops the 32 logs are replayed: in each step the lanes at
 * the first place of the code go on, those inside the deepest call before all others. Code lies in
 * source order (-fno-reorder-blocks). Hence lanes that left a branch or a loop early wait behind it
 * for the others. There a GPU's compiler makes them meet again.
 *
 * Basic blocks are events too: in their absence a lane that passes a loop without any access could
 * not be held back.
 */
#include "profiler/profiler.h"

/* A lane that has logged this many events lets the others go on, until they have been replayed. */
static const unsigned CAPACITY = 128;

/* Limits for how many replays lanes are held back: two million events of a lane before them. Then
 * they are taken to be what that lane waits for in a loop. A GPU gives them their turn at some
 * time; here they get it then, and from then on whenever their log is full. */
static const unsigned PATIENCE = 1 << 14;

struct event {
    uint32_t key; /* the place: lower ones go first */
    event_kind kind;
    uint8_t size;
    uintptr_t address;
};

/* A ring: events head .. tail - 1, modulo CAPACITY. */
struct lane_log {
    unsigned head, tail, depth;
    event events[CAPACITY];
};
struct warp_logs {
    lane_log lanes[WARP_LANES];
    unsigned held_back, patience; /* replays in a row that left some log full; how many may */
};
static warp_logs *logs[MAX_WARPS]; /* made when first used, then kept */

/* Code addresses fit 26 bits: 64 MB of code. Calls deeper than 63 are taken for 63 deep. */
static const unsigned PLACE_BITS = 26, DEEPEST = 63;
static const uint32_t NOWHERE = ~0u;
extern "C" char __executable_start;

static inline uint32_t key_of(const void *site, unsigned depth)
{
    const unsigned above = DEEPEST - (depth < DEEPEST ? depth : DEEPEST);
    return above << PLACE_BITS | (uint32_t)((const char *)site - &__executable_start);
}

static inline const void *site_of(uint32_t key)
{
    return &__executable_start + (key & ((1u << PLACE_BITS) - 1));
}

static inline lane_log *log_of(worker *self)
{
    const lane *me = self->running;
    return &logs[me->home->number]->lanes[me->index];
}

void log_event(worker *self, event_kind kind, unsigned size, uintptr_t address, const void *site)
{
    lane_log *l = log_of(self);
    while (__builtin_expect(l->tail - l->head == CAPACITY, 0))
        simt_yield(); /* to the end of this warp's turn, which is followed by a replay */
    l->events[l->tail++ % CAPACITY] = {key_of(site, l->depth), kind, (uint8_t)size, address};
}

unsigned log_noted(const lane *who)
{
    return logs[who->home->number]->lanes[who->index].tail;
}

unsigned log_replayed(unsigned warp, unsigned lane)
{
    return logs[warp]->lanes[lane].head;
}

void log_enter_function(worker *self)
{
    log_of(self)->depth++;
}

void log_leave_function(worker *self)
{
    log_of(self)->depth--;
}

void log_block_begins(worker *self)
{
    for (unsigned w = 0; w < self->warps_used; w++) {
        if (!logs[w]) logs[w] = new warp_logs;
        logs[w]->held_back = 0;
        logs[w]->patience = PATIENCE;
        for (lane_log &l : logs[w]->lanes)
            l.head = l.tail = l.depth = 0;
    }
}

static inline const event &next_event(const warp_logs *all, unsigned lane)
{
    const lane_log &log = all->lanes[lane];
    return log.events[log.head % CAPACITY];
}

/* Finds the step of the lanes in `lanes`, all at one place; step->lanes are those that take part.
 * At some places lanes do several things: cp.async reads, then writes. A lane that has nothing to
 * read is ahead of the others and waits for them: reads are the lower kinds. */
static void find_step(const warp_logs *all, uint32_t lanes, warp_step *step)
{
    const event *first = &next_event(all, lowest(lanes));
    for (uint32_t rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
        const event &e = next_event(all, lowest(rest));
        if (e.kind < first->kind) first = &e;
    }
    step->kind = first->kind;
    step->size = first->size;
    step->site = site_of(first->key);
    step->count = step->bytes = 0;
    step->lanes = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const unsigned l = lowest(rest);
        const event &own = next_event(all, l);
        if (own.kind != step->kind) continue;
        step->addresses[step->count++] = own.address;
        step->bytes += own.size;
        step->lanes |= 1u << l;
    }
}

/* Replays the logs of the lanes in `lanes` until one of those in `running` has no more: it may be
 * anywhere next, so nothing after that is certain. */
static void replay(warp_logs *all, unsigned warp_number, uint32_t lanes, uint32_t running)
{
    alignas(64) uint32_t keys[WARP_LANES];
    uint32_t pending = 0;
    for (unsigned l = 0; l < WARP_LANES; l++) {
        const lane_log &log = all->lanes[l];
        const bool some = lanes >> l & 1 && log.head != log.tail;
        keys[l] = some ? log.events[log.head % CAPACITY].key : NOWHERE;
        pending |= (uint32_t)some << l;
    }
    const uint32_t unfinished = running & pending;
    warp_step step = {};
    step.warp = warp_number;
    while (pending && !(unfinished & ~pending)) {
        uint32_t first = NOWHERE, here = 0;
        for (unsigned l = 0; l < WARP_LANES; l++)
            first = keys[l] < first ? keys[l] : first;
        for (unsigned l = 0; l < WARP_LANES; l++)
            here |= (uint32_t)(keys[l] == first) << l;
        find_step(all, here, &step);
        price_step(&step);
        for (uint32_t rest = step.lanes; rest; rest &= rest - 1) {
            const unsigned l = lowest(rest);
            lane_log &log = all->lanes[l];
            if (++log.head != log.tail) {
                keys[l] = log.events[log.head % CAPACITY].key;
            } else {
                keys[l] = NOWHERE;
                pending &= ~(1u << l);
            }
        }
    }
}

static uint32_t full_logs(const warp_logs *all)
{
    uint32_t full = 0;
    for (unsigned l = 0; l < WARP_LANES; l++)
        full |= (uint32_t)(all->lanes[l].tail - all->lanes[l].head == CAPACITY) << l;
    return full;
}

void log_replay(worker *, warp *w)
{
    warp_logs *all = logs[w->number];
    /* The others do not wait for a lane that waits, or has ended. */
    replay(all, w->number, ~0u, w->ready);
    const uint32_t full = full_logs(all);
    if (!full) {
        all->held_back = 0;
    } else if (all->held_back++ == all->patience) {
        replay(all, w->number, full, full);
        all->held_back = all->patience = 0;
    }
}

void log_replay_rest(const worker *self)
{
    for (unsigned w = 0; w < self->warps_used; w++)
        replay(logs[w], w, ~0u, 0);
}
