/*
 * block.cc - runs one block: gives its warps their turns, lets barriers go, notices when nobody can
 * go on.
 *
 * The barrier. Since Volta, __syncthreads() waits for every thread of the block that has not exited
 * (CUDA C++ Programming Guide, "Independent Thread Scheduling"), so a barrier after some threads
 * have returned is correct and passes here. The guide allows it in conditional code only where the
 * condition is the same for the whole block; threads that meet at barriers on different source
 * lines break that rule and are reported, although hardware would let them pass.
 */
#include "simt/fiber.h"

/* Runs lanes of `w` until each waits, has exited or has yielded. */
static bool run_warp(worker *self, warp *w)
{
    int index = next_lane(w, before_first_lane());
    if (index == NO_LANE) return false;
    lane *t = w->fresh >> index & 1 ? simt_start_lane(self, w, (unsigned)index) : w->lanes[index];
    self->running = t;
    self->atomics_since_switch = 0;
    simt_switch(&self->scheduler_sp, t->sp);
    if (__builtin_expect(self->fault.signal, 0)) simt_fault_to_failure(self);
    if (simt_observer && !self->failed.error) simt_observer->warp_stops(self, w);
    return true;
}

/* Everybody is at a barrier, but not at the same one: the compiler may have made two calls of one
 * in the source, so compare source lines. */
static bool barriers_agree(worker *self)
{
    const lane *first = nullptr;
    for (unsigned i = 0; i < self->warps_used; i++) {
        const warp *w = &self->warps[i];
        for (uint32_t set = w->at_barrier; set; set &= set - 1) {
            const lane *t = w->lanes[lowest(set)];
            if (!first) first = t;
            if (simt_same_source_line(first->site, t->site)) continue;
            char line[256];
            simt_source_line(first->site, line, sizeof line);
            self->failed.culprit = t;
            self->failed.site = t->site;
            simt_note_failure(self, cudaErrorLaunchFailure,
                              "barrier divergence: this thread waits in __syncthreads() while "
                              "thread %u of its block waits in another one, at %s",
                              first->number, line);
            return false;
        }
    }
    return true;
}

static bool release_barrier(worker *self)
{
    if (__builtin_expect(self->barrier_sites_differ, 0) && !barriers_agree(self)) return false;
    self->released_threads = self->barrier_waiting;
    self->released_votes = self->barrier_votes;
    self->barrier_waiting = self->barrier_votes = 0;
    self->barrier_sites_differ = false;
    for (unsigned i = 0; i < self->warps_used; i++) {
        warp *w = &self->warps[i];
        w->ready |= w->at_barrier;
        w->at_barrier = 0;
    }
    return true;
}

static void begin_block(worker *self, uint64_t number)
{
    const launch *job = self->job;
    const uint3 &grid = job->config.grid;
    self->block_number = number;
    self->block = {(unsigned)(number % grid.x), (unsigned)(number / grid.x % grid.y),
                   (unsigned)(number / grid.x / grid.y)};
    self->timed_out = 0;
    __atomic_store_n(&self->blocks_started, self->blocks_started + 1, __ATOMIC_RELAXED);
    self->warps_used = (job->block_threads + WARP_LANES - 1) / WARP_LANES;
    self->threads_exited = 0;
    self->barrier_waiting = self->barrier_votes = 0;
    self->barrier_sites_differ = false;
    for (unsigned i = 0; i < self->warps_used; i++) {
        warp *w = &self->warps[i];
        unsigned left = job->block_threads - i * WARP_LANES;
        w->number = i;
        w->present = w->fresh = left >= WARP_LANES ? ~0u : (1u << left) - 1;
        w->ready = w->at_barrier = w->at_mbarrier = w->exited = w->open = 0;
    }
    simt_shared_poison(self);
}

static bool run_block(worker *self)
{
    unsigned threads = self->job->block_threads;
    for (;;) {
        bool progress = false;
        for (unsigned i = 0; i < self->warps_used; i++) {
            unsigned turn = simt_settings.reverse ? self->warps_used - 1 - i : i;
            progress |= run_warp(self, &self->warps[turn]);
            if (__builtin_expect(self->failed.error, 0)) return false;
        }
        if (self->threads_exited == threads) return simt_mbarriers_finish(self);
        if (self->barrier_waiting && self->barrier_waiting + self->threads_exited == threads) {
            if (!release_barrier(self)) return false;
        } else if (!progress) {
            self->failed.show_waiting = true;
            simt_note_failure(self, cudaErrorLaunchTimeout,
                              "deadlock: no thread of the block can go on");
            return false;
        }
        if (__builtin_expect(__atomic_load_n(&self->job->stop, __ATOMIC_RELAXED), 0)) return true;
    }
}

bool simt_run_block(worker *self, uint64_t number)
{
    begin_block(self, number);
    if (!simt_observer) return run_block(self);
    if (!simt_observer->block_begins(self)) return true;
    const bool done = run_block(self);
    if (done) simt_observer->block_ends(self);
    return done;
}

/* ---- __syncthreads, called through the door in switch_*.S ---------------------------------- */

extern "C" int simt_syncthreads_at(int predicate, simt_barrier how, const void *site)
{
    worker *self = simt_worker;
    lane *me = self->running;
    warp *w = me->home;
    if (self->barrier_waiting == 0)
        self->barrier_site = site;
    else if (self->barrier_site != site)
        self->barrier_sites_differ = true;
    me->site = site;
    self->barrier_waiting++;
    self->barrier_votes += predicate != 0;
    w->ready &= ~me->bit;
    w->at_barrier |= me->bit;
    hand_over(self, me);
    switch (how) {
    case SIMT_BARRIER_COUNT:
        return (int)self->released_votes;
    case SIMT_BARRIER_AND:
        return self->released_votes == self->released_threads;
    case SIMT_BARRIER_OR:
        return self->released_votes != 0;
    default:
        return 0;
    }
}
