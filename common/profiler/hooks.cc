/*
 * hooks.cc - where traced kernels report what they do. The compiler calls the functions __tsan_*
 * and __sanitizer_cov_trace_pc (-fsanitize=thread, -fsanitize-coverage=trace-pc; those of libtsan
 * are not linked); the device headers call simt_traced_* (simt/trace.h).
 */
#include "profiler/checks.h"

#include <vector>

/* ---- accesses ------------------------------------------------------------------------------- */

/* Whether the address is one of the running lane's own local variables. */
static inline bool is_local(const lane *me, uintptr_t address)
{
    /* A stack has 64 KB below the lane; see fiber.cc. */
    return (uintptr_t)me - address <= 64 << 10;
}

/* The kernel's parameters, and variables of the program: __constant__ or __device__. */
static inline bool is_parameter(const worker *self, uintptr_t address)
{
    return address - (uintptr_t)self->job->arguments < self->job->argument_bytes ||
           simt_in_program_data(address);
}

static inline access_kind kind_of(const access &a)
{
    if (a.atomic) return a.shared ? SHARED_ATOMIC : GLOBAL_ATOMIC;
    if (a.write) return a.shared ? SHARED_STORE : GLOBAL_STORE;
    return a.shared ? SHARED_LOAD : GLOBAL_LOAD;
}

void log_access(const access *a)
{
    log_event(a->self, kind_of(*a), a->size, a->address, a->site);
}

static inline bool is_shared(const worker *self, uintptr_t address)
{
    return address - (uintptr_t)self->thread_local_block < self->thread_local_bytes ||
           address - (uintptr_t)self->shared < (uintptr_t)(self->shared_end - self->shared);
}

static void __attribute__((noinline)) report_access(access &a)
{
    a.shared = is_shared(a.self, a.address);
    if (a.shared && a.size == 1 &&
        simt_is_shared_guard(a.address - (uintptr_t)a.self->thread_local_block))
        return;
    if (profiler.memcheck) memcheck_access(&a);
    if (profiler.racecheck && !a.atomic) racecheck_access(&a);
    if (!a.shared) seen_access(&a);
    if (profiler.count) log_access(&a);
}

/* Reports an access to program data. Parameters do not change; in variables threads may meet. What is certain to be a
 * __device__ variable is counted as global memory, behind the rest of it. */
static void __attribute__((noinline)) variable_access(access &a)
{
    size_t all;
    if (!simt_in_program_data(a.address)) return;
    if (profiler.racecheck && !a.atomic) racecheck_access(&a);
    if (!simt_is_device_variable(a.address, a.write) || !profiler.count) return;
    const uintptr_t begin = simt_memory_begin(&all);
    log_event(a.self, kind_of(a), a.size, begin + all + (a.address - simt_program_begin()), a.site);
}

static inline __attribute__((always_inline)) void
on_access(const void *p, unsigned size, bool write, const void *site, strength how = WEAK)
{
    if (!profiler.tracing) return;
    worker *self = simt_worker;
    lane *me = self->running;
    const uintptr_t address = (uintptr_t)p;
    if (is_local(me, address)) return;
    access a = {address, size, false, write, false, site, self, me, how, false};
    if (__builtin_expect(is_parameter(self, address), 0))
        variable_access(a);
    else
        report_access(a);
}

/* An atomic function in its two halves, before and after. Returns whether it is looked at. */
static bool before_atomic(access *a, const void *p, unsigned size, const void *site)
{
    if (!profiler.tracing) return false;
    worker *self = simt_worker;
    *a = {(uintptr_t)p, size, false, true, true, site, self, self->running, WEAK, false};
    if (is_local(a->who, a->address)) return false;
    if (is_parameter(self, a->address))
        variable_access(*a);
    else
        report_access(*a);
    return true;
}

static void after_atomic(access *a, const void *old)
{
    a->unchanged = !memcmp((const void *)a->address, old, a->size);
    if (profiler.racecheck && profiler.tracing) racecheck_access(a);
}

void hooks_compiler_atomic(const void *p, unsigned size, compiler_atomic how, const void *site)
{
    access a;
    if (how != ATOMIC_UPDATE)
        on_access(p, size, how == ATOMIC_STORE, site, VOLATILE); /* CUDA C++ has no such */
    else if (before_atomic(&a, p, size, site) && profiler.racecheck)
        racecheck_access(&a);
}

/* A struct whose alignment is smaller than its size, or what the compiler sees to be misaligned.
 * nvcc moves a struct member by member, in no larger pieces than its alignment; that is not known
 * here, but most members have 4 bytes. */
static void on_range(const void *p, size_t bytes, bool write, const void *site)
{
    const char *at = (const char *)p;
    if (!profiler.tracing) return;
    while (bytes) {
        unsigned size = 4;
        while (size > bytes || (uintptr_t)at % size)
            size /= 2;
        on_access(at, size, write, site);
        at += size;
        bytes -= size;
    }
}

#define HOOKS(BYTES)                                       \
    void __tsan_read##BYTES(void *p)                       \
    {                                                      \
        on_access(p, BYTES, false, SIMT_CALLER);           \
    }                                                      \
    void __tsan_write##BYTES(void *p)                      \
    {                                                      \
        on_access(p, BYTES, true, SIMT_CALLER);            \
    }                                                      \
    void __tsan_volatile_read##BYTES(void *p)              \
    {                                                      \
        on_access(p, BYTES, false, SIMT_CALLER, VOLATILE); \
    }                                                      \
    void __tsan_volatile_write##BYTES(void *p)             \
    {                                                      \
        on_access(p, BYTES, true, SIMT_CALLER, VOLATILE);  \
    }

extern "C" {

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void __tsan_read_range(void *p, size_t bytes)
{
    on_range(p, bytes, false, SIMT_CALLER);
}
void __tsan_write_range(void *p, size_t bytes)
{
    on_range(p, bytes, true, SIMT_CALLER);
}

/* Replaces the C library's functions, also where the compiler calls them of its own accord. */
void *simt_traced_memset(void *to, int value, size_t bytes)
{
    on_range(to, bytes, true, SIMT_CALLER);
    return memset(to, value, bytes);
}
void *simt_traced_memcpy(void *to, const void *from, size_t bytes)
{
    on_range(from, bytes, false, SIMT_CALLER);
    on_range(to, bytes, true, SIMT_CALLER);
    return memcpy(to, from, bytes);
}
void *simt_traced_memmove(void *to, const void *from, size_t bytes)
{
    on_range(from, bytes, false, SIMT_CALLER);
    on_range(to, bytes, true, SIMT_CALLER);
    return memmove(to, from, bytes);
}

void __tsan_init(void) {}
void __tsan_vptr_update(void *, void *) {}

/* ---- control flow --------------------------------------------------------------------------- */

void __tsan_func_entry(void *)
{
    if (profiler.tracing && profiler.count) log_enter_function(simt_worker);
}
void __tsan_func_exit(void)
{
    if (profiler.tracing && profiler.count) log_leave_function(simt_worker);
}
void __sanitizer_cov_trace_pc(void)
{
    worker *self = simt_worker;
    if (self && __builtin_expect(self->timed_out, 0) && self->running)
        simt_leave_timed_out(SIMT_CALLER);
    if (profiler.tracing && profiler.count) log_event(self, EVENT_BASIC_BLOCK, 0, 0, SIMT_CALLER);
}

/* ---- what the device headers call ------------------------------------------------------------ */

/* `number` tells barriers of the block apart. */
static inline void on_operation(warp_operation what, const void *site, uint64_t number = 0)
{
    if (profiler.tracing && profiler.count)
        log_event(simt_worker, operation_event(what), 0, number, site);
}

uint64_t simt_traced_shuffle(uint32_t mask, uint64_t value, int operand, int width,
                             simt_collective how)
{
    on_operation(OP_SHUFFLE, SIMT_CALLER);
    return simt_shuffle_at(mask, value, operand, width, how, SIMT_CALLER);
}

/* The lanes that wait in __syncwarp with this mask have met when the first of them comes back:
 * until then none of them could do anything else. */
static uint32_t waiting_with[MAX_WARPS]
                            [WARP_LANES]; /* the mask a lane waits with, 0: it does not */

uint64_t simt_traced_vote(uint32_t mask, uint64_t value, simt_collective how)
{
    worker *self = simt_worker;
    lane *me = self->running;
    on_operation(how == SIMT_SYNCWARP ? OP_SYNCWARP : OP_VOTE, SIMT_CALLER);
    if (how != SIMT_SYNCWARP || !profiler.racecheck)
        return simt_vote_at(mask, value, how, SIMT_CALLER);
    uint32_t *waiting = waiting_with[me->home->number];
    waiting[me->index] = mask;
    simt_vote_at(mask, value, how, SIMT_CALLER);
    if (!waiting[me->index]) return 0;
    for (unsigned l = 0; l < WARP_LANES; l++)
        if (waiting[l] == mask) waiting[l] = 0;
    if (profiler.tracing) racecheck_syncwarp(self, me->home, mask);
    return 0;
}

/* The same for the block: of the threads that went into one barrier, the first to come back counts
 * it. */
static uint64_t barriers_passed;

/* A block's barrier orders nothing in the other blocks of its cluster. So it counts as a barrier in shared memory, whose
 * phase the first thread to come back ends. */
static uint64_t rank_passed[MAX_CLUSTER];
static int sync_in_cluster(int predicate, simt_barrier how, const void *site)
{
    worker *self = simt_worker;
    lane *me = self->running;
    const void *barrier = &self->barriers[me->rank];
    const bool checks = profiler.racecheck && profiler.tracing;
    const uint64_t before = rank_passed[me->rank];
    if (checks) order_mbarrier_reached(barrier, me);
    const int result = simt_syncthreads_at(predicate, how, site);
    if (rank_passed[me->rank] == before) {
        rank_passed[me->rank]++;
        if (checks) order_mbarrier_ended(barrier);
    }
    if (checks) order_mbarrier_waited(barrier, me);
    return result;
}

int simt_traced_syncthreads(int predicate, simt_barrier how)
{
    on_operation(OP_BARRIER, SIMT_CALLER, barriers_passed + 1);
    if (simt_worker->job->cluster > 1) return sync_in_cluster(predicate, how, SIMT_CALLER);
    const uint64_t before = barriers_passed;
    const int result = simt_syncthreads_at(predicate, how, SIMT_CALLER);
    if (barriers_passed == before) {
        barriers_passed++;
        if (profiler.racecheck && profiler.tracing) racecheck_barrier(simt_worker);
    }
    return result;
}

void simt_traced_cluster_sync(void)
{
    on_operation(OP_BARRIER, SIMT_CALLER, barriers_passed + 1);
    const uint64_t before = barriers_passed;
    simt_cluster_sync_at(SIMT_CALLER);
    if (barriers_passed != before) return;
    barriers_passed++;
    if (profiler.racecheck && profiler.tracing) racecheck_barrier(simt_worker);
}

static unsigned atomic_bytes(simt_atomic_op op)
{
    switch (op) {
    case SIMT_ADD_F16:
    case SIMT_ADD_BF16:
    case SIMT_CAS_16:
        return 2;
    case SIMT_ADD_U64:
    case SIMT_ADD_F64:
    case SIMT_EXCH_64:
    case SIMT_CAS_64:
    case SIMT_MIN_U64:
    case SIMT_MIN_S64:
    case SIMT_MAX_U64:
    case SIMT_MAX_S64:
    case SIMT_AND_64:
    case SIMT_OR_64:
    case SIMT_XOR_64:
        return 8;
    default:
        return 4;
    }
}

uint64_t simt_traced_atomic(void *address, uint64_t operand, uint64_t compare, simt_atomic_op op)
{
    access a;
    const bool looked_at = before_atomic(&a, address, atomic_bytes(op), SIMT_CALLER);
    const uint64_t old = simt_atomic_at(address, operand, compare, op, SIMT_CALLER);
    if (looked_at) after_atomic(&a, &old);
    return old;
}

void simt_traced_load_relaxed(const void *from, uint64_t to[2])
{
    on_access(from, 16, false, SIMT_CALLER, RELAXED);
    simt_load_relaxed(from, to);
}

void simt_traced_store_relaxed(void *to, const uint64_t from[2])
{
    on_access(to, 16, true, SIMT_CALLER, RELAXED);
    simt_store_relaxed(to, from);
}

void simt_traced_fence(simt_scope scope)
{
    simt_fence(scope);
    if (profiler.tracing && profiler.racecheck)
        racecheck_fence(simt_worker, simt_worker->running, scope);
}

void simt_traced_mma(simt_mma_kind kind, float d[4], const uint32_t *a, const uint32_t *b,
                     const float c[4])
{
    on_operation(OP_MMA, SIMT_CALLER);
    simt_mma_at(kind, d, a, b, c, SIMT_CALLER);
}

void simt_traced_mma_sp(simt_mma_kind kind, float d[4], const uint32_t *a, const uint32_t *b,
                        uint32_t metadata, int selector)
{
    on_operation(OP_MMA, SIMT_CALLER);
    simt_mma_sp_at(kind, d, a, b, metadata, selector, SIMT_CALLER);
}

void simt_traced_ldmatrix(uint32_t *fragments, const void *row, int count, bool transposed)
{
    on_operation(OP_LDMATRIX, SIMT_CALLER);
    /* Lanes beyond 8 * count pass no address. */
    if ((int)simt_worker->running->index < 8 * count) on_access(row, 16, false, SIMT_CALLER);
    simt_ldmatrix_at(fragments, row, count, transposed, SIMT_CALLER);
}

/* Lane l notes rows l, l + 32 and so on of what its warp reads: all of B, and its rows of an A in shared memory. */
static void trace_wgmma(float *d, const simt_wgmma_operands &operands,
                        const simt_wgmma_shape *shape, const void *site)
{
    simt_wgmma_part parts[SIMT_WGMMA_OPERANDS];
    on_operation(OP_MMA, site);
    simt_wgmma_parts(&operands, shape, parts);
    for (const simt_wgmma_part &part : parts)
        for (int row = (int)simt_worker->running->index; row < part.rows; row += WARP_LANES)
            for (int piece = part.first; piece < part.first + part.pieces; piece++)
                on_access(simt_wgmma_piece(simt_worker, &part, row, piece), 16, false, site);
    simt_wgmma_at(d, &operands, shape, site);
}

void simt_traced_wgmma(float *d, const uint32_t *a, uint64_t b, const simt_wgmma_shape *shape)
{
    trace_wgmma(d, {a, 0, b}, shape, SIMT_CALLER);
}

void simt_traced_wgmma_shared(float *d, uint64_t a, uint64_t b, const simt_wgmma_shape *shape)
{
    trace_wgmma(d, {nullptr, a, b}, shape, SIMT_CALLER);
}
}

/* A product may read until somebody has waited for it: its start and its end are both reads to racecheck. */
void hooks_product_done(const simt_wgmma_part *part, const void *site)
{
    worker *self = simt_worker;
    if (!profiler.tracing || !profiler.racecheck) return;
    for (int row = 0; row < part->rows; row++)
        for (int piece = part->first; piece < part->first + part->pieces; piece++) {
            const access a = {(uintptr_t)simt_wgmma_piece(self, part, row, piece),
                              16,
                              true,
                              false,
                              false,
                              site,
                              self,
                              self->running,
                              WEAK,
                              false};
            racecheck_access(&a);
        }
}

extern "C" {

/* ---- asynchronous copies --------------------------------------------------------------------- */

/* Copies that have yet to arrive, which they do when they are waited for. They are counted where
 * they are started. */
struct pending_copy {
    uintptr_t shared;
    unsigned bytes, group;
    const void *site;
};
struct pending_copies {
    std::vector<pending_copy> list; /* oldest first */
    unsigned group;                 /* being filled */
};
static pending_copies pending[MAX_THREADS];

void simt_traced_async_copy_start(void *shared, const void *global, int bytes, int source_bytes)
{
    worker *self = simt_worker;
    lane *me = self->running;
    simt_async_copy_start_at(shared, global, bytes, source_bytes, SIMT_CALLER);
    if (!profiler.tracing) return;
    const void *site = SIMT_CALLER;
    access from = {(uintptr_t)global,
                   (unsigned)source_bytes,
                   false,
                   false,
                   false,
                   site,
                   self,
                   me,
                   WEAK,
                   false};
    access to = {
        (uintptr_t)shared, (unsigned)bytes, true, true, false, site, self, me, WEAK, false};
    if (profiler.memcheck) memcheck_async_start(&from, &to);
    seen_access(&from);
    if (profiler.racecheck && source_bytes) racecheck_access(&from);
    if (profiler.racecheck) racecheck_access(&to);
    on_operation(OP_ASYNC_COPY, site);
    if (profiler.count && source_bytes) log_event(self, GLOBAL_LOAD, from.size, from.address, site);
    if (profiler.count) log_event(self, SHARED_STORE, to.size, to.address, site);
    pending_copies &p = pending[me->number];
    p.list.push_back({to.address, to.size, p.group, site});
}

/* The running lane's copies of groups before `group` have arrived. */
static void arrived(unsigned group)
{
    worker *self = simt_worker;
    pending_copies &p = pending[self->running->number];
    size_t done = 0;
    for (; done < p.list.size() && p.list[done].group < group; done++) {
        const pending_copy &c = p.list[done];
        lane *me = self->running;
        if (profiler.memcheck) memcheck_async_arrived(c.shared, c.bytes);
        if (profiler.racecheck) racecheck_async_arrived(self, me, c.shared, c.bytes, c.site);
    }
    p.list.erase(p.list.begin(), p.list.begin() + (ptrdiff_t)done);
}

void simt_traced_async_commit(void)
{
    simt_async_commit();
    pending[simt_worker->running->number].group++;
}

void simt_traced_async_wait(int left)
{
    simt_async_wait(left);
    const unsigned group = pending[simt_worker->running->number].group;
    if (profiler.tracing && group > (unsigned)left) arrived(group - (unsigned)left);
}

void simt_traced_async_wait_all(void)
{
    simt_async_wait_all();
    const unsigned group = ++pending[simt_worker->running->number].group;
    if (profiler.tracing) arrived(group);
}
}

/* ---- barriers in shared memory ---------------------------------------------------------------- */

static access barrier_access(const void *barrier, const void *site)
{
    worker *self = simt_worker;
    return {(uintptr_t)barrier, 8, true, true, true, site, self, self->running, WEAK, false};
}

/* An arrival, a wait or a bulk copy uses the barrier, which must have been made. */
static access use_barrier(const void *barrier, const void *site)
{
    const access a = barrier_access(barrier, site);
    if (profiler.tracing && profiler.memcheck) memcheck_access(&a);
    return a;
}

extern "C" {

void simt_traced_mbarrier_init(void *barrier, unsigned arrivals)
{
    access a = barrier_access(barrier, SIMT_CALLER);
    a.atomic = false;
    simt_mbarrier_init_at(barrier, arrivals, SIMT_CALLER);
    if (!profiler.tracing) return;
    if (profiler.memcheck) memcheck_access(&a);
    if (profiler.racecheck) racecheck_mbarrier_init(&a);
}

void simt_traced_mbarrier_arrive(void *barrier, unsigned bytes)
{
    const access a = use_barrier(barrier, SIMT_CALLER);
    if (profiler.tracing && profiler.racecheck) racecheck_mbarrier_reached(&a);
    simt_mbarrier_arrive_at(barrier, bytes, SIMT_CALLER);
}

void simt_traced_mbarrier_arrive_in(void *barrier, unsigned rank)
{
    void *there = simt_peer(barrier, rank, "mbarrier.arrive", SIMT_CALLER);
    const access a = use_barrier(there, SIMT_CALLER);
    if (profiler.tracing && profiler.racecheck) racecheck_mbarrier_reached(&a);
    simt_mbarrier_arrive_at(there, 0, SIMT_CALLER);
}

void simt_traced_mbarrier_wait(void *barrier, unsigned parity)
{
    const access a = use_barrier(barrier, SIMT_CALLER);
    on_operation(OP_BARRIER, SIMT_CALLER);
    simt_mbarrier_wait_at(barrier, parity, SIMT_CALLER);
    if (profiler.tracing && profiler.racecheck) racecheck_mbarrier_waited(&a);
}

void simt_traced_bulk_copy(void *shared, const void *global, unsigned bytes, void *barrier)
{
    worker *self = simt_worker;
    lane *me = self->running;
    const void *site = SIMT_CALLER;
    const access a = use_barrier(barrier, site);
    const access from = {
        (uintptr_t)global, bytes, false, false, false, site, self, me, WEAK, false};
    const access to = {(uintptr_t)shared, bytes, true, true, false, site, self, me, WEAK, false};
    if (profiler.tracing && profiler.racecheck) {
        racecheck_access(&from);
        racecheck_access(&to);
        racecheck_mbarrier_reached(&a);
    }
    /* The copy may arrive at once, if somebody waits for it. */
    if (profiler.tracing && profiler.memcheck) memcheck_async_start(&from, &to);
    if (profiler.tracing) seen_access(&from);
    simt_bulk_copy_at(shared, global, bytes, barrier, site);
    on_operation(OP_ASYNC_COPY, site);
    if (profiler.tracing && profiler.count)
        price_bulk_copy(me, from.address, to.address, bytes, site);
}

/* Columns of the box that the matrix has, from its first one on: the others are not read. */
static size_t columns_inside(const simt_tensor_map *map, int column)
{
    const int64_t left = (int64_t)map->columns - column;
    return (size_t)max((int64_t)0, min(left, (int64_t)map->box_columns));
}

/* A row of the box after the other, into each of the blocks. Global memory is read once. */
void simt_traced_tensor_copy(void *shared, const simt_tensor_map *map, int row, int column,
                             void *barrier, unsigned blocks)
{
    worker *self = simt_worker;
    lane *me = self->running;
    const void *site = SIMT_CALLER;
    const unsigned bytes = (unsigned)(simt_tensor_bytes(map) / (size_t)map->box_rows);
    const unsigned read = (unsigned)columns_inside(map, column) * 2;
    simt_tensor_check(self, shared, map, column, site);
    bool is_first = true;
    for (unsigned rank = 0; rank < self->job->cluster; rank++) {
        if (!(blocks >> rank & 1)) continue;
        char *there = (char *)simt_peer(shared, rank, "cp.async.bulk.tensor", site);
        const access a = use_barrier(simt_peer(barrier, rank, "cp.async.bulk.tensor", site), site);
        for (int r = 0; r < map->box_rows && profiler.tracing; r++) {
            const size_t at = (size_t)(row + r) * map->columns + (size_t)column;
            const bool is_there = read && row + r >= 0 && (size_t)(row + r) < map->rows;
            const access from = {(uintptr_t)map->base + 2 * at,
                                 is_there ? read : 0,
                                 false,
                                 false,
                                 false,
                                 site,
                                 self,
                                 me,
                                 WEAK,
                                 false};
            const access to = {(uintptr_t)there + (size_t)r * bytes,
                               bytes,
                               true,
                               true,
                               false,
                               site,
                               self,
                               me,
                               WEAK,
                               false};
            if (profiler.racecheck && is_there && is_first) racecheck_access(&from);
            if (profiler.racecheck) racecheck_access(&to);
            if (profiler.memcheck) memcheck_async_start(&from, &to);
            if (is_there && is_first) seen_access(&from);
            if (is_there && is_first && profiler.count)
                price_bulk_copy(me, from.address, to.address, read, site);
        }
        if (profiler.tracing && profiler.racecheck) racecheck_mbarrier_reached(&a);
        is_first = false;
    }
    simt_tensor_copy_at(shared, map, row, column, barrier, blocks, site);
    on_operation(OP_ASYNC_COPY, site);
}
}

void hooks_bulk_arrived(const void *shared, size_t bytes)
{
    if (profiler.tracing && profiler.memcheck) memcheck_async_arrived((uintptr_t)shared, bytes);
}

void hooks_phase_ended(const void *barrier)
{
    if (profiler.tracing && profiler.racecheck) racecheck_mbarrier_ended(barrier);
}

void hooks_block_begins(void)
{
    memset(waiting_with, 0, sizeof waiting_with);
    barriers_passed = 0;
    for (pending_copies &p : pending) {
        p.list.clear();
        p.group = 0;
    }
}
