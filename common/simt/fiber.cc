/*
 * fiber.cc - the stacks CUDA threads run on, and a thread's start and end.
 */
#include "simt/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

/* A thread may use 64 KB of local memory. The odd 9 lines of 64 B keep equal frames of different
 * lanes out of the same cache sets: with a power-of-two stride a shuffle takes twice as long. */
static const size_t USABLE = 64 << 10, PAGE = (size_t)sysconf(_SC_PAGESIZE);
static const size_t STRIDE = USABLE + 2 * PAGE + 9 * 64;

/* Every guard page costs the process two of the 65 530 mappings that Linux allows by default. With
 * more OS threads than this leaves room for, the later ones run without. */
static const int MAX_GUARDS = 16 * 1024;
static int guards;

/* Maps 32 more stacks. A stack is STRIDE bytes, and the first whole page in it is its guard. */
static bool map_stacks(worker *self)
{
    void *mapping = mmap(nullptr, WARP_LANES * STRIDE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return false;
    uintptr_t low = (uintptr_t)mapping;
    unsigned slab = self->stack_count / WARP_LANES;
    self->stack_low[slab] = low;
    self->stack_high[slab] = low + WARP_LANES * STRIDE;
    for (unsigned i = 0; i < WARP_LANES; i++) {
        uintptr_t stack = low + i * STRIDE;
        if (__atomic_fetch_add(&guards, 1, __ATOMIC_RELAXED) < MAX_GUARDS)
            mprotect((void *)((stack + PAGE - 1) & ~(PAGE - 1)), PAGE, PROT_NONE);
        lane *at_end = (lane *)((stack + STRIDE - sizeof(lane)) & ~(uintptr_t)63);
        self->stacks[self->stack_count + i] = at_end;
        self->idle_stacks[self->idle_count + i] = at_end;
    }
    self->stack_count += WARP_LANES;
    self->idle_count += WARP_LANES;
    return true;
}

/* Before the first block, not when a lane needs one: an OS thread that gets none can still leave
 * the blocks to the others. Until a stack is used it takes no memory, only addresses. */
bool simt_stacks_open(worker *self, unsigned threads)
{
    while (self->stack_count < threads)
        if (!map_stacks(self)) return false;
    return true;
}

const lane *simt_stack_holding(const worker *self, uintptr_t address, bool *guard)
{
    *guard = false;
    for (unsigned slab = 0; slab < self->stack_count / WARP_LANES; slab++) {
        if (address < self->stack_low[slab] || address >= self->stack_high[slab]) continue;
        size_t offset = address - self->stack_low[slab];
        *guard = offset % STRIDE < 2 * PAGE;
        return self->stacks[slab * WARP_LANES + offset / STRIDE];
    }
    return nullptr;
}

void simt_abandon_lanes(worker *self)
{
    memcpy(self->idle_stacks, self->stacks, self->stack_count * sizeof self->stacks[0]);
    self->idle_count = self->stack_count;
    for (warp &w : self->warps)
        for (meeting &m : w.meetings)
            m.arrived = 0;
    simt_async_forget(self);
    simt_mbarriers_forget(self);
    simt_wgmma_forget(self);
    self->failed = {};
    self->fault.signal = 0;
    self->timed_out = 0;
}

/* Makes `t` the lane `index` of `w`. */
static void become(lane *t, const worker *self, warp *w, unsigned index)
{
    const uint3 &shape = self->job->config.block;
    unsigned number = w->number * WARP_LANES + index;
    t->home = w;
    t->index = index;
    t->bit = 1u << index;
    t->number = number;
    t->site = nullptr;
    const unsigned each = self->job->block_threads / self->job->cluster;
    t->rank = number / each;
    number -= t->rank * each;
    t->thread = shape.x == each ? uint3{number, 0, 0}
                                : uint3{number % shape.x, number / shape.x % shape.y,
                                        number / shape.x / shape.y};
    w->lanes[index] = t;
    w->fresh &= ~t->bit;
    w->ready |= t->bit;
}

static void retire(worker *self, lane *me)
{
    warp *w = me->home;
    w->ready &= ~me->bit;
    w->exited |= me->bit;
    self->threads_exited++;
    self->barriers[me->rank].exited++;
    self->barriers[MAX_CLUSTER].exited++;
    /* An exited lane no longer counts in a mask: it may have been the last one waited for. */
    for (uint32_t open = w->open; open; open &= open - 1) {
        meeting *m = &w->meetings[lowest(open)];
        if (m->arrived == (m->mask & w->present & ~w->exited)) simt_conclude(w, m, 0);
    }
}

/* The bottom frame of every stack: runs one CUDA thread after the other for as long as the next one
 * has not started either. */
static void lane_main(void)
{
    worker *self = simt_worker;
    for (;;) {
        lane *me = self->running;
        warp *w = me->home;
        self->job->entry(self->job->arguments);
        if (self->async_queues) simt_async_finish(self);
        retire(self, me);
        int next = next_lane(w, (int)me->index);
        if (next != NO_LANE && w->fresh >> next & 1) {
            become(me, self, w, (unsigned)next);
            continue;
        }
        self->idle_stacks[self->idle_count++] = me;
        self->running = next == NO_LANE ? nullptr : w->lanes[next];
        self->atomics_since_switch = 0;
        simt_leave(self->running ? self->running->sp : self->scheduler_sp);
    }
}

lane *simt_start_lane(worker *self, warp *w, unsigned index)
{
    lane *t = self->idle_stacks[--self->idle_count];
    t->successor = nullptr;
    become(t, self, w, index);
    t->sp = simt_prepare(t, lane_main);
    return t;
}

/* ---- what a thread asks about itself ------------------------------------------------------- */

static inline unsigned along(int axis, const uint3 &v)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

extern "C" {

unsigned simt_thread_index(int axis)
{
    return along(axis, simt_worker->running->thread);
}
unsigned simt_block_index(int axis)
{
    const worker *self = simt_worker;
    return along(axis, simt_block_of(self, self->running));
}
unsigned simt_block_shape(int axis)
{
    return along(axis, simt_worker->job->config.block);
}
unsigned simt_grid_shape(int axis)
{
    return along(axis, simt_worker->job->config.grid);
}
int simt_lane_id(void)
{
    return (int)simt_worker->running->index;
}
int simt_warp_id(void)
{
    const worker *self = simt_worker;
    const unsigned each = self->job->block_threads / WARP_LANES / self->job->cluster;
    const unsigned number = self->running->home->number;
    return (int)(self->job->cluster == 1 ? number : number % each);
}
int simt_cluster_rank(void)
{
    return (int)simt_worker->running->rank;
}
void *simt_dynamic_shared(void)
{
    return simt_block_shared(simt_worker, simt_worker->running->rank);
}

unsigned simt_sm_id(void)
{
    const worker *self = simt_worker;
    const uint64_t number = self->block_number * self->job->cluster + self->running->rank;
    return (unsigned)(number % MULTIPROCESSORS);
}

void simt_yield(void)
{
    worker *self = simt_worker;
    lane *me = self->running;
    warp *w = me->home;
    /* Only lanes after this one, then back to the scheduler: so every warp gets its turn, and two
     * lanes that both spin cannot keep the others out. */
    int next = next_lane(w, (int)me->index);
    bool after = simt_settings.reverse ? next < (int)me->index : next > (int)me->index;
    lane *t = nullptr;
    if (after) t = w->fresh >> next & 1 ? simt_start_lane(self, w, (unsigned)next) : w->lanes[next];
    self->running = t;
    self->atomics_since_switch = 0;
    simt_switch(&me->sp, t ? t->sp : self->scheduler_sp);
}
}
