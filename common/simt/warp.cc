/*
 * warp.cc - functions in which the lanes of a warp take part together: shuffles, votes, matches,
 * reductions, __syncwarp. Semantics: CUDA C++ Programming Guide, "Warp Shuffle Functions" and the
 * sections around it; PTX ISA, shfl.sync, for the corner cases of widths and offsets.
 *
 * A lane that exits, or that the block never had, does not count in a mask.
 */
#include "simt/fiber.h"

/* Other meetings are open: joins or opens one for `mask`, unless that must end badly. */
static __attribute__((noinline)) meeting *find_meeting(warp *w, const lane *me, uint32_t mask,
                                                       const collective *what, const void *site)
{
    for (uint32_t open = w->open; open; open &= open - 1) {
        meeting *m = &w->meetings[lowest(open)];
        if (m->mask == mask && m->what == what) return m;
        /* Somebody there waits for this lane, and would now be waited for by it. */
        if ((m->mask & me->bit) && (m->arrived & mask))
            simt_fail(cudaErrorLaunchFailure, site,
                      "lane %u calls %s with mask 0x%08x while lanes 0x%08x of its warp wait in %s "
                      "with mask 0x%08x",
                      me->index, what->name, mask, m->arrived, m->what->name, m->mask);
    }
    return &w->meetings[lowest(~w->open)]; /* fewer than 32 are open: a lane waits in each */
}

static inline __attribute__((always_inline)) uint64_t meet(uint32_t mask, uint64_t value,
                                                           const collective *what, const void *site)
{
    worker *self = simt_worker;
    lane *me = self->running;
    warp *w = me->home;
    const uint64_t *result = &w->out[me->index];
    w->in[me->index] = value;
    me->site = site;
    if (__builtin_expect(!(mask & me->bit), 0))
        simt_fail(cudaErrorLaunchFailure, site, "%s: the calling lane %u is not in the mask 0x%08x",
                  what->name, me->index, mask);
    meeting *m = &w->meetings[lowest(mask)];
    if (m->arrived ? m->mask != mask || m->what != what : w->open)
        m = find_meeting(w, me, mask, what, site);
    if (!m->arrived) {
        m->mask = mask;
        m->what = what;
        w->open |= 1u << (m - w->meetings);
    }
    m->arrived |= me->bit;
    if (m->arrived == (mask & w->present & ~w->exited)) {
        simt_conclude(w, m, me->bit);
    } else {
        w->ready &= ~me->bit;
        hand_over(self, me);
    }
    return *result;
}

uint64_t simt_meet(uint32_t mask, uint64_t value, const collective *what, const void *site)
{
    return meet(mask, value, what, site);
}

void simt_conclude(warp *w, meeting *m, uint32_t stay)
{
    uint32_t lanes = m->arrived;
    m->what->combine(w, lanes);
    m->arrived = 0;
    w->open &= ~(1u << (m - w->meetings));
    w->ready |= lanes & ~stay;
}

/* ---- what is computed when all are there --------------------------------------------------- */

#define FOR_LANES(l, set) \
    for (uint32_t rest_ = (set), l = 0; rest_ && (l = lowest(rest_), true); rest_ &= rest_ - 1)

static void combine_nothing(warp *, uint32_t) {}

static void combine_shuffle(warp *w, uint32_t lanes)
{
    FOR_LANES(l, lanes)
    {
        unsigned from = w->from[l];
        if (__builtin_expect(!(lanes >> from & 1), 0))
            simt_fail_lane(cudaErrorLaunchFailure, w->lanes[l],
                           "shuffle: lane %u reads from lane %u, which %s (taking part: 0x%08x)", l,
                           from, w->exited >> from & 1 ? "has exited" : "does not take part",
                           lanes);
        w->out[l] = w->in[from];
    }
}

static inline void give_all(warp *w, uint32_t lanes, uint64_t result)
{
    FOR_LANES(l, lanes) w->out[l] = result;
}

static uint32_t votes(const warp *w, uint32_t lanes)
{
    uint32_t set = 0;
    FOR_LANES(l, lanes) set |= (uint32_t)(w->in[l] != 0) << l;
    return set;
}
static void combine_ballot(warp *w, uint32_t lanes)
{
    give_all(w, lanes, votes(w, lanes));
}
static void combine_any(warp *w, uint32_t lanes)
{
    give_all(w, lanes, votes(w, lanes) != 0);
}
static void combine_all(warp *w, uint32_t lanes)
{
    give_all(w, lanes, votes(w, lanes) == lanes);
}

static uint32_t equal_to(const warp *w, uint32_t lanes, uint64_t value)
{
    uint32_t set = 0;
    FOR_LANES(l, lanes) set |= (uint32_t)(w->in[l] == value) << l;
    return set;
}
static void combine_match_any(warp *w, uint32_t lanes)
{
    FOR_LANES(l, lanes) w->out[l] = equal_to(w, lanes, w->in[l]);
}
static void combine_match_all(warp *w, uint32_t lanes)
{
    bool same = equal_to(w, lanes, w->in[lowest(lanes)]) == lanes;
    give_all(w, lanes, same ? lanes : 0);
}

/* In ascending order of the lanes; every operation here is associative and commutative. */
template <class T, T OPERATION(T, T)> static void combine_reduce(warp *w, uint32_t lanes)
{
    T result = (T)w->in[lowest(lanes)];
    FOR_LANES(l, lanes & (lanes - 1)) result = OPERATION(result, (T)w->in[l]);
    give_all(w, lanes, (uint32_t)result);
}
static uint32_t sum_of(uint32_t a, uint32_t b)
{
    return a + b;
}
static uint32_t and_of(uint32_t a, uint32_t b)
{
    return a & b;
}
static uint32_t or_of(uint32_t a, uint32_t b)
{
    return a | b;
}
static uint32_t xor_of(uint32_t a, uint32_t b)
{
    return a ^ b;
}
template <class T> static T min_of(T a, T b)
{
    return a < b ? a : b;
}
template <class T> static T max_of(T a, T b)
{
    return a > b ? a : b;
}

/* In the order of enum simt_collective. */
static const collective collectives[SIMT_COLLECTIVES] = {
    {"__shfl_sync", combine_shuffle},
    {"__shfl_up_sync", combine_shuffle},
    {"__shfl_down_sync", combine_shuffle},
    {"__shfl_xor_sync", combine_shuffle},
    {"__ballot_sync", combine_ballot},
    {"__any_sync", combine_any},
    {"__all_sync", combine_all},
    {"__match_any_sync", combine_match_any},
    {"__match_all_sync", combine_match_all},
    {"__reduce_add_sync", combine_reduce<uint32_t, sum_of>},
    {"__reduce_min_sync", combine_reduce<uint32_t, min_of<uint32_t>>},
    {"__reduce_min_sync", combine_reduce<int32_t, min_of<int32_t>>},
    {"__reduce_max_sync", combine_reduce<uint32_t, max_of<uint32_t>>},
    {"__reduce_max_sync", combine_reduce<int32_t, max_of<int32_t>>},
    {"__reduce_and_sync", combine_reduce<uint32_t, and_of>},
    {"__reduce_or_sync", combine_reduce<uint32_t, or_of>},
    {"__reduce_xor_sync", combine_reduce<uint32_t, xor_of>},
    {"__syncwarp", combine_nothing},
};

/* ---- entry points, called through the doors in switch_*.S ---------------------------------- */

/* The lane that lane `index` reads from, after PTX's shfl: the warp is cut into segments of `width`
 * lanes; offsets count modulo 32; who would look past its segment's end (for `up`, before its
 * start) gets its own value. */
static inline unsigned shuffle_source(unsigned index, int operand, int width, simt_collective how)
{
    int me = (int)index, offset = operand & 31;
    int first = me & -width, last = first + width - 1;
    int from = how == SIMT_SHFL        ? first | (operand & (width - 1))
               : how == SIMT_SHFL_UP   ? me - offset
               : how == SIMT_SHFL_DOWN ? me + offset
                                       : me ^ offset;
    bool inside = how == SIMT_SHFL_UP ? from >= first : from <= last;
    return (unsigned)(inside ? from : me);
}

extern "C" {

uint64_t simt_shuffle_at(uint32_t mask, uint64_t value, int operand, int width, simt_collective how,
                         const void *site)
{
    lane *me = simt_worker->running;
    if (__builtin_expect(width < 1 || width > WARP_LANES || (width & (width - 1)), 0))
        simt_fail(cudaErrorLaunchFailure, site, "%s: width %d is not 1, 2, 4, 8, 16 or 32",
                  collectives[how].name, width);
    me->home->from[me->index] = (uint8_t)shuffle_source(me->index, operand, width, how);
    return meet(mask, value, &collectives[how], site);
}

uint64_t simt_vote_at(uint32_t mask, uint64_t value, simt_collective how, const void *site)
{
    return meet(mask, value, &collectives[how], site);
}

unsigned simt_activemask(void)
{
    return simt_worker->running->bit;
}
}
