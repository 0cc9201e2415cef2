/*
 * warp_log.cc - what a warp does, from what its lanes did. On this backend lanes run one after the
 * other; on a GPU the lanes of a warp that are at the same instruction execute it together. So each
 * lane logs its events, and when the warp stops the 32 logs are replayed: in each step the lanes at
 * the first place of the code go on, those inside the deepest call before all others. Code lies in
 * source order (-fno-reorder-blocks), hence lanes that left a branch or a loop early wait behind it
 * for the others, where a GPU's compiler makes them meet again.
 *
 * Basic blocks are events too: in their absence a lane that passes a loop without any access could
 * not be held back.
 */
#include "profiler/profiler.h"

/* A lane that has logged this many events lets the others go on, until they have been replayed. */
static const unsigned CAPACITY = 128;

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
        for (lane_log &l : logs[w]->lanes)
            l.head = l.tail = l.depth = 0;
    }
}

/* Takes the step out of the logs of the lanes in `lanes`, all at one place. Lanes that do several
 * things there (cp.async reads and writes) are at the same one in step->lanes. */
static void take_step(warp_logs *all, uint32_t lanes, warp_step *step)
{
    const lane_log &first = all->lanes[lowest(lanes)];
    const event &e = first.events[first.head % CAPACITY];
    step->kind = e.kind;
    step->size = e.size;
    step->site = site_of(e.key);
    step->count = 0;
    step->lanes = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const unsigned l = lowest(rest);
        const lane_log &log = all->lanes[l];
        const event &own = log.events[log.head % CAPACITY];
        if (own.kind != step->kind) continue;
        step->addresses[step->count++] = own.address;
        step->lanes |= 1u << l;
    }
}

void log_replay(worker *, warp *w)
{
    warp_logs *all = logs[w->number];
    alignas(64) uint32_t keys[WARP_LANES];
    uint32_t pending = 0;
    for (unsigned l = 0; l < WARP_LANES; l++) {
        const lane_log &log = all->lanes[l];
        const bool some = log.head != log.tail;
        keys[l] = some ? log.events[log.head % CAPACITY].key : NOWHERE;
        pending |= (uint32_t)some << l;
    }
    /* A lane that can go on may be anywhere next: nothing is certain once its log is empty. One that
     * waits cannot, and the others need not wait for it. */
    const uint32_t unfinished = w->ready & pending;
    warp_step step = {};
    step.warp = w->number;
    while (pending && !(unfinished & ~pending)) {
        uint32_t first = NOWHERE, lanes = 0;
        for (unsigned l = 0; l < WARP_LANES; l++)
            first = keys[l] < first ? keys[l] : first;
        for (unsigned l = 0; l < WARP_LANES; l++)
            lanes |= (uint32_t)(keys[l] == first) << l;
        take_step(all, lanes, &step);
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
