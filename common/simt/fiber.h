/*
 * fiber.h - handing the processor from one lane to the next.
 */
#ifndef SIMT_FIBER_H
#define SIMT_FIBER_H

#include "simt/simt.h"

enum { NO_LANE = -1 };

/* The lane of `w` that goes on when lane `index` cannot: the next higher one that can, else the
 * lowest. `index` may be one past either end. In reverse order the other way round. */
static inline int next_lane(const warp *w, int index)
{
    uint32_t able = w->ready | w->fresh;
    if (!able) return NO_LANE;
    if (simt_settings.reverse) {
        uint32_t below = index < WARP_LANES ? able & ((1u << index) - 1) : able;
        return 31 - __builtin_clz(below ? below : able);
    }
    uint32_t above = index < 0 ? able : able & (~1u << index);
    return (int)lowest(above ? above : able);
}

static inline int before_first_lane(void)
{
    return simt_settings.reverse ? WARP_LANES : -1;
}

/* The running lane waits; its bit is already out of w->ready. Returns when it may go on. */
static inline void hand_over(worker *self, lane *me)
{
    warp *w = me->home;
    int index = next_lane(w, (int)me->index);
    lane *next = me->successor;
    /* Comparing with the last successor lets the processor run ahead into the next lane before it
     * has worked out which one it is. */
    if (__builtin_expect(!next || index != (int)next->index || w->lanes[index] != next ||
                             !(w->ready & next->bit),
                         0)) {
        next = index == NO_LANE        ? nullptr
               : w->fresh >> index & 1 ? simt_start_lane(self, w, (unsigned)index)
                                       : w->lanes[index];
        me->successor = next;
    }
    self->running = next;
    self->atomics_since_switch = 0;
    simt_switch(&me->sp, next ? next->sp : self->scheduler_sp);
}

#endif
