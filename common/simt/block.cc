/*
 * block.cc - runs one block: gives its warps their turns, lets barriers go, notices when nobody can
 * go on.
 *
 * The barrier. Since Volta, __syncthreads() waits for every thread of the block that has not exited
 * (CUDA C++ Programming Guide, "Independent Thread Scheduling"). So a barrier after some threads
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

/* Warps of a barrier: the rank's, or all. */
struct warp_range {
    unsigned begin, end;
};
static warp_range warps_of(const worker *self, unsigned barrier)
{
    const unsigned cluster = self->job->cluster, each = self->warps_used / cluster;
    if (barrier == MAX_CLUSTER) return {0, self->warps_used};
    return {barrier * each, (barrier + 1) * each};
}

/* Everybody is at a barrier, but not at the same one: the compiler may have made two calls of one
 * in the source, so compare source lines. */
static bool barriers_agree(worker *self, unsigned barrier)
{
    const lane *first = nullptr;
    const warp_range warps = warps_of(self, barrier);
    for (unsigned i = warps.begin; i < warps.end; i++) {
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

static bool release_barrier(worker *self, unsigned barrier)
{
    thread_barrier *b = &self->barriers[barrier];
    if (__builtin_expect(b->sites_differ, 0) && !barriers_agree(self, barrier)) return false;
    b->released_threads = b->waiting;
    b->released_votes = b->votes;
    b->waiting = b->votes = 0;
    b->sites_differ = false;
    const warp_range warps = warps_of(self, barrier);
    for (unsigned i = warps.begin; i < warps.end; i++) {
        warp *w = &self->warps[i];
        w->ready |= w->at_barrier;
        w->at_barrier = 0;
    }
    return true;
}

/* Lets those go for whom nobody is missing any more. Whether there were any: in *released; false: a failure. */
static bool release_barriers(worker *self, bool *released)
{
    const unsigned cluster = self->job->cluster;
    *released = false;
    for (unsigned i = 0; i <= cluster; i++) {
        const unsigned number = i < cluster ? i : (unsigned)MAX_CLUSTER;
        const thread_barrier *b = &self->barriers[number];
        if (!b->waiting || b->waiting + b->exited != b->threads) continue;
        if (!release_barrier(self, number)) return false;
        *released = true;
    }
    return true;
}

static void begin_block(worker *self, uint64_t number)
{
    const launch *job = self->job;
    const uint3 &grid = job->config.grid;
    self->block_number = number;
    const uint64_t first = number * job->cluster;
    self->block = {(unsigned)(first % grid.x), (unsigned)(first / grid.x % grid.y),
                   (unsigned)(first / grid.x / grid.y)};
    self->timed_out = 0;
    __atomic_store_n(&self->blocks_started, self->blocks_started + 1, __ATOMIC_RELAXED);
    self->warps_used = (job->block_threads + WARP_LANES - 1) / WARP_LANES;
    self->threads_exited = 0;
    for (unsigned i = 0; i <= MAX_CLUSTER; i++)
        self->barriers[i] = {.threads = job->block_threads / (i < MAX_CLUSTER ? job->cluster : 1)};
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
        if (self->threads_exited == threads)
            return simt_mbarriers_finish(self) && simt_wgmma_finish(self);
        bool released;
        if (!release_barriers(self, &released)) return false;
        if (!released && !progress) {
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

/* Waits at one of self->barriers. */
static const thread_barrier *wait_at(unsigned barrier, int predicate, const void *site)
{
    worker *self = simt_worker;
    lane *me = self->running;
    warp *w = me->home;
    thread_barrier *b = &self->barriers[barrier];
    if (b->waiting == 0)
        b->site = site;
    else if (b->site != site)
        b->sites_differ = true;
    me->site = site;
    b->waiting++;
    b->votes += predicate != 0;
    w->ready &= ~me->bit;
    w->at_barrier |= me->bit;
    hand_over(self, me);
    return b;
}

extern "C" int simt_syncthreads_at(int predicate, simt_barrier how, const void *site)
{
    const thread_barrier *b = wait_at(simt_worker->running->rank, predicate, site);
    switch (how) {
    case SIMT_BARRIER_COUNT:
        return (int)b->released_votes;
    case SIMT_BARRIER_AND:
        return b->released_votes == b->released_threads;
    case SIMT_BARRIER_OR:
        return b->released_votes != 0;
    default:
        return 0;
    }
}

/* ---- clusters ------------------------------------------------------------------------------- */

extern "C" void simt_cluster_sync_at(const void *site)
{
    wait_at(MAX_CLUSTER, 0, site);
}

extern "C" void simt_cluster_sync(void)
{
    simt_cluster_sync_at(SIMT_CALLER);
}

void *simt_peer(const void *shared, unsigned rank, const char *what, const void *site)
{
    const worker *self = simt_worker;
    const unsigned char *own = simt_block_shared(self, self->running->rank);
    if (rank >= self->job->cluster)
        simt_fail(cudaErrorLaunchFailure, site, "%s: block %u of a cluster of %u", what, rank,
                  self->job->cluster);
    return simt_block_shared(self, rank) + ((const unsigned char *)shared - own);
}

extern "C" void *simt_cluster_shared(const void *shared, unsigned rank)
{
    return simt_peer(shared, rank, "mapa", SIMT_CALLER);
}
