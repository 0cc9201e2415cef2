/*
 * mbarrier.cc - barriers in shared memory that count arrivals and bytes, and the bulk copies that
 * report to them. PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier" and
 * "Data Movement and Conversion Instructions: cp.async.bulk".
 *
 * A copy is carried out when somebody waits for its barrier and nothing else is missing: the latest
 * moment hardware could choose. So a kernel that reads too early reads the old contents, every time.
 *
 * A copy that another block of the cluster sends may come before this block announces its bytes: its phase does not end
 * before they are announced.
 */
#include "simt/fiber.h"

/* Contents of the eight bytes of a barrier. Fresh shared memory is all ones, which is none. */
struct mbarrier_state {
    uint64_t missing : 20; /* arrivals of this phase */
    uint64_t arrivals : 20;
    uint64_t bytes : 23; /* announced, and not here yet */
    uint64_t parity : 1; /* of this phase */
};
static_assert(sizeof(mbarrier_state) == 8);
static const unsigned MOST_ARRIVALS = (1 << 20) - 2, MOST_BYTES = (1 << 20) - 1;

struct bulk_transfer {
    void *shared;
    const void *global;
    unsigned bytes;
    mbarrier_state *barrier;
    const void *site;
    simt_tensor_map map; /* of a tile: base is not NULL, and `global` is */
    int row, column;
};

/* Barriers of a block. */
struct mbarrier_board {
    bulk_transfer *transfers; /* on their way, oldest first */
    size_t count, capacity;
    unsigned fresh[MAX_CLUSTER]; /* barriers of each block that have not been published */
    const mbarrier_state *waited_for[MAX_THREADS]; /* by thread; NULL: by none */
};

static mbarrier_board *board_of(worker *self)
{
    if (!self->mbarriers) self->mbarriers = (mbarrier_board *)calloc(1, sizeof(mbarrier_board));
    if (!self->mbarriers)
        simt_fail(cudaErrorMemoryAllocation, nullptr, "no memory left for barriers");
    return self->mbarriers;
}

/* ---- what is wrong with a call --------------------------------------------------------------- */

static void check_place(worker *self, const void *barrier, const char *what, const void *site)
{
    if ((uintptr_t)barrier % 8)
        simt_fail(cudaErrorMisalignedAddress, site, "%s: barrier %p is not a multiple of 8", what,
                  barrier);
    if (!simt_shared_holds(self, barrier, 8))
        simt_fail(cudaErrorInvalidAddressSpace, site,
                  "%s: barrier %p is not in the block's shared memory", what, barrier);
}

static mbarrier_state *checked(worker *self, void *barrier, const char *what, const void *site)
{
    check_place(self, barrier, what, site);
    mbarrier_state *b = (mbarrier_state *)barrier;
    if (b->arrivals == 0 || b->arrivals > MOST_ARRIVALS)
        simt_fail(cudaErrorLaunchFailure, site, "%s: nobody has initialised the barrier at %p",
                  what, barrier);
    return b;
}

/* ---- phases ----------------------------------------------------------------------------------- */

static void end_phase(worker *self, mbarrier_board *board, mbarrier_state *b)
{
    b->missing = b->arrivals;
    b->parity ^= 1;
    if (simt_observer) simt_observer->phase_ended(b);
    for (unsigned i = 0; i < self->warps_used; i++) {
        warp *w = &self->warps[i];
        for (uint32_t set = w->at_mbarrier; set; set &= set - 1) {
            lane *t = w->lanes[lowest(set)];
            if (board->waited_for[t->number] != b) continue;
            board->waited_for[t->number] = nullptr;
            w->at_mbarrier &= ~t->bit;
            w->ready |= t->bit;
        }
    }
}

/* Carries out the copies for `b`, if that is all that is missing. */
static void fetch(worker *self, mbarrier_board *board, mbarrier_state *b)
{
    if (b->missing || !b->bytes) return;
    size_t kept = 0;
    for (size_t i = 0; i < board->count; i++) {
        const bulk_transfer t = board->transfers[i];
        if (t.barrier != b) {
            board->transfers[kept++] = t;
            continue;
        }
        self->async_site = t.site;
        if (t.map.base)
            simt_tensor_box(self, t.shared, &t.map, t.row, t.column);
        else
            memcpy(t.shared, t.global, t.bytes);
        self->async_site = nullptr;
        if (t.bytes > b->bytes)
            simt_fail(cudaErrorLaunchFailure, t.site,
                      "cp.async.bulk of %u bytes: only %u are announced to its barrier", t.bytes,
                      (unsigned)b->bytes);
        b->bytes -= t.bytes;
        if (simt_observer) simt_observer->bulk_arrived(t.shared, t.bytes);
    }
    board->count = kept;
    if (!b->bytes) end_phase(self, board, b);
}

static bool is_waited_for(const worker *self, const mbarrier_board *board, const mbarrier_state *b)
{
    for (unsigned i = 0; i < self->warps_used; i++)
        for (uint32_t set = self->warps[i].at_mbarrier; set; set &= set - 1)
            if (board->waited_for[i * WARP_LANES + lowest(set)] == b) return true;
    return false;
}

/* ---- calls ------------------------------------------------------------------------------------ */

void simt_mbarrier_init_at(void *barrier, unsigned arrivals, const void *site)
{
    simt_need_capability(90, site, "mbarrier.init of this kind");
    check_place(simt_worker, barrier, "mbarrier.init", site);
    if (arrivals == 0 || arrivals > MOST_ARRIVALS)
        simt_fail(cudaErrorLaunchFailure, site, "mbarrier.init: %u arrivals", arrivals);
    mbarrier_state *b = (mbarrier_state *)barrier;
    *b = {};
    b->missing = b->arrivals = arrivals;
    board_of(simt_worker)->fresh[simt_worker->running->rank]++;
}

void simt_mbarrier_arrive_at(void *barrier, unsigned bytes, const void *site)
{
    worker *self = simt_worker;
    mbarrier_state *b = checked(self, barrier, "mbarrier.arrive", site);
    if (b->missing == 0)
        simt_fail(cudaErrorLaunchFailure, site,
                  "mbarrier.arrive: all %u arrivals of this phase have been made, and bytes are "
                  "missing",
                  (unsigned)b->arrivals);
    if (b->bytes + bytes > MOST_BYTES)
        simt_fail(cudaErrorLaunchFailure, site, "mbarrier.arrive: %u bytes in a phase",
                  (unsigned)b->bytes + bytes);
    mbarrier_board *board = board_of(self);
    b->bytes += bytes;
    b->missing--;
    if (b->missing) return;
    if (!b->bytes)
        end_phase(self, board, b);
    else if (is_waited_for(self, board, b))
        fetch(self, board, b);
}

void simt_mbarrier_wait_at(void *barrier, unsigned parity, const void *site)
{
    worker *self = simt_worker;
    mbarrier_state *b = checked(self, barrier, "mbarrier.try_wait", site);
    mbarrier_board *board = board_of(self);
    if (b->parity == (parity & 1)) fetch(self, board, b);
    if (b->parity != (parity & 1)) return;
    lane *me = self->running;
    warp *w = me->home;
    me->site = site;
    board->waited_for[me->number] = b;
    w->ready &= ~me->bit;
    w->at_mbarrier |= me->bit;
    hand_over(self, me);
}

/* The queue is whole at every moment: the time limit may throw the lane out of here. */
static void grow(mbarrier_board *board)
{
    const size_t capacity = board->capacity ? 2 * board->capacity : 64;
    bulk_transfer *larger = (bulk_transfer *)malloc(capacity * sizeof *larger);
    bulk_transfer *smaller = board->transfers;
    if (!larger) simt_fail(cudaErrorMemoryAllocation, nullptr, "no memory left for bulk copies");
    if (smaller) memcpy(larger, smaller, board->count * sizeof *larger);
    board->transfers = larger;
    board->capacity = capacity;
    free(smaller);
}

/* A copy is on its way. */
static void start(worker *self, const bulk_transfer &t)
{
    mbarrier_board *board = board_of(self);
    if (board->fresh[self->running->rank])
        simt_fail(cudaErrorLaunchFailure, t.site,
                  "cp.async.bulk: no fence (mbarrier_publish) since a barrier was initialised");
    if (board->count == board->capacity) grow(board);
    board->transfers[board->count++] = t;
    if (is_waited_for(self, board, t.barrier)) fetch(self, board, t.barrier);
}

void simt_bulk_copy_at(void *shared, const void *global, unsigned bytes, void *barrier,
                       const void *site)
{
    worker *self = simt_worker;
    mbarrier_state *b = checked(self, barrier, "cp.async.bulk", site);
    if ((uintptr_t)shared % 16 || (uintptr_t)global % 16 || bytes % 16)
        simt_fail(cudaErrorMisalignedAddress, site,
                  "cp.async.bulk of %u bytes from %p to %p: all three must be multiples of 16",
                  bytes, global, shared);
    if (!simt_shared_holds(self, shared, bytes))
        simt_fail(cudaErrorInvalidAddressSpace, site,
                  "cp.async.bulk of %u bytes to %p: not the block's shared memory (%zu bytes of it "
                  "are dynamic)",
                  bytes, shared, self->job->config.dynamic_shared_bytes);
    if (bytes > b->bytes)
        simt_fail(cudaErrorLaunchFailure, site,
                  "cp.async.bulk of %u bytes: %u are announced to its barrier (announce them "
                  "before the copy)",
                  bytes, (unsigned)b->bytes);
    start(self, {shared, global, bytes, b, site, {}, 0, 0});
}

void simt_tensor_copy_at(void *shared, const simt_tensor_map *map, int row, int column,
                         void *barrier, unsigned blocks, const void *site)
{
    worker *self = simt_worker;
    const unsigned bytes = (unsigned)simt_tensor_bytes(map);
    simt_tensor_check(self, shared, map, column, site);
    if (!blocks || blocks >> self->job->cluster)
        simt_fail(cudaErrorLaunchFailure, site,
                  "cp.async.bulk.tensor to blocks 0x%x of a cluster of %u", blocks,
                  self->job->cluster);
    for (unsigned rank = 0; rank < self->job->cluster; rank++) {
        if (!(blocks >> rank & 1)) continue;
        void *there = simt_peer(shared, rank, "cp.async.bulk.tensor", site);
        mbarrier_state *b = checked(self, simt_peer(barrier, rank, "cp.async.bulk.tensor", site),
                                    "cp.async.bulk.tensor", site);
        if (rank == self->running->rank && bytes > b->bytes)
            simt_fail(cudaErrorLaunchFailure, site,
                      "cp.async.bulk.tensor of %u bytes: %u are announced to its barrier (announce "
                      "them before the copy)",
                      bytes, (unsigned)b->bytes);
        start(self, {there, nullptr, bytes, b, site, *map, row, column});
    }
}

extern "C" {
void simt_mbarrier_init(void *barrier, unsigned arrivals)
{
    simt_mbarrier_init_at(barrier, arrivals, SIMT_CALLER);
}
void simt_mbarrier_arrive(void *barrier, unsigned bytes)
{
    simt_mbarrier_arrive_at(barrier, bytes, SIMT_CALLER);
}
void simt_mbarrier_publish(void)
{
    board_of(simt_worker)->fresh[simt_worker->running->rank] = 0;
}
void simt_mbarrier_arrive_in(void *barrier, unsigned rank)
{
    simt_mbarrier_arrive_at(simt_peer(barrier, rank, "mbarrier.arrive", SIMT_CALLER), 0,
                            SIMT_CALLER);
}
void simt_mbarrier_wait(void *barrier, unsigned parity)
{
    simt_mbarrier_wait_at(barrier, parity, SIMT_CALLER);
}
void simt_tensor_copy(void *shared, const simt_tensor_map *map, int row, int column, void *barrier,
                      unsigned blocks)
{
    simt_tensor_copy_at(shared, map, row, column, barrier, blocks, SIMT_CALLER);
}
void simt_bulk_copy(void *shared, const void *global, unsigned bytes, void *barrier)
{
    simt_bulk_copy_at(shared, global, bytes, barrier, SIMT_CALLER);
}
}

/* ---- the end of a block ------------------------------------------------------------------------ */

bool simt_mbarriers_finish(worker *self)
{
    mbarrier_board *board = self->mbarriers;
    if (!board) return true;
    memset(board->fresh, 0, sizeof board->fresh);
    if (!board->count) return true;
    const bulk_transfer &t = board->transfers[0];
    self->failed.site = t.site;
    simt_note_failure(self, cudaErrorLaunchFailure,
                      "the block ends while a bulk copy of %u bytes is on its way, for which "
                      "nobody has waited",
                      t.bytes);
    return false;
}

void simt_mbarriers_forget(worker *self)
{
    mbarrier_board *board = self->mbarriers;
    if (!board) return;
    self->async_site = nullptr;
    board->count = 0;
    memset(board->fresh, 0, sizeof board->fresh);
    memset(board->waited_for, 0, sizeof board->waited_for);
}
