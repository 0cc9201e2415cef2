/*
 * profiler.h - the private structures of the instruments, shared by the files of this folder.
 *
 *   hooks.cc      where kernels report: the compiler's instrumentation and the device headers
 *   host_atomics.cc  the same of the compiler's own atomics
 *   warp_log.cc   what each lane did, replayed as the warp would have done it together
 *   price.cc      what one request of a warp costs: sectors, wavefronts, turns
 *   machine.cc    the GPU it is played to: SMs, caches
 *   gpu_model.c   the parameters of GPUs
 *   predict.c     from counters to an estimate of time
 *   memcheck.cc   addresses, initialisation, read-only arrays
 *   racecheck.cc  accesses that nothing orders
 *   order.cc      what orders two accesses: barriers, __syncwarp, fences and flags
 *   seen.cc       which bytes of the inputs and results were accessed in sight
 *   findings.cc   what the checks found
 *   recorder.cc   the steps of one block, for a page that shows them
 *   address.cc    what an address is called
 *   profile.cc    sums by kernel and line; the interface to the harness
 *
 * How it works. The traced twin of a program has its kernels compiled with -fsanitize=thread and
 * -fsanitize-coverage=trace-pc, but is linked with the functions here instead of a sanitizer's. So
 * every load and store of a kernel is reported (its own stack's left aside), and every basic block;
 * barriers, shuffles and atomics are by the device headers (simt/trace.h). A traced program runs on
 * one OS thread: what it finds is the same on every machine.
 */
#ifndef PROFILER_PROFILER_H
#define PROFILER_PROFILER_H

#include "harness/instruments.h"
#include "simt/simt.h"

/* How an access is spelled: what a compiler and a GPU may make of it. */
enum strength : uint8_t {
    WEAK,     /* an ordinary one */
    VOLATILE, /* made as it is written, but promised neither order nor one piece */
    RELAXED   /* of 16 bytes in one piece, ordering nothing else (device/vec.cuh) */
};

/* One lane's access, as the checks see it. */
struct access {
    uintptr_t address;
    unsigned size; /* 1, 2, 4, 8, 16 */
    bool shared;   /* else global */
    bool write;
    bool atomic;      /* an atomic function: read and written at once */
    const void *site; /* return address of the hook, for simt_source_line */
    worker *self;
    lane *who;
    strength how;   /* of a load or a store */
    bool unchanged; /* the atomic function has left the value as it was */
};

/* Settings that the instruments were opened with, and whether a kernel is being traced now. */
struct profiler_state {
    bool count, memcheck, racecheck;
    bool record;  /* steps of a block; then `count` is on, too */
    bool partial; /* some blocks are not run: --sample */
    bool tracing; /* a block that shall be traced runs */
};
extern profiler_state profiler;

/* Says so in one line and ends the process with STATUS_MEMORY. */
[[noreturn]] void profiler_out_of_memory(void);

/* ---- checks: memcheck.cc, racecheck.cc, findings.cc ------------------------------------------ */

/* Called by hooks.cc in this order, each only if its instrument is on, before the access is made;
 * racecheck hears of an atomic function after it, when its effect is known. They note what they find
 * and return; after an access that cannot be made they end the launch (simt_fail).
 */
void memcheck_access(const access *a);
void racecheck_access(const access *a);

/* A range of shared memory that an asynchronous copy will fill, and the moment it has. `from` may
 * be of any size up to that of `to`. The copy may write at any time from start to arrival, so both
 * are writes to racecheck: it is told of the first as of any access. */
void memcheck_async_start(const access *from, const access *to);
void memcheck_async_arrived(uintptr_t shared, size_t bytes);
void racecheck_async_arrived(worker *self, lane *who, uintptr_t shared, unsigned bytes,
                             const void *site);

/* Barriers in shared memory: `barrier` is an access to the 8 bytes of one, by the thread that makes
 * it; that arrives, or starts a bulk copy that counts for it (before that is done); that has waited.
 * A bulk copy may write from its start on, and is over for those who have waited: its start is the
 * one write that racecheck is told of. */
void racecheck_mbarrier_init(const access *barrier);
void racecheck_mbarrier_reached(const access *barrier);
void racecheck_mbarrier_waited(const access *barrier);
void racecheck_mbarrier_ended(const void *barrier);

/* All lanes of `mask` that have not exited have met in __syncwarp; all threads of the block at
 * __syncthreads; one thread has passed a fence. */
void racecheck_syncwarp(worker *self, warp *w, uint32_t mask);
void racecheck_barrier(worker *self);
void racecheck_fence(worker *self, lane *who, simt_scope scope);

void memcheck_launch_begin(const launch *job);
void memcheck_block_begin(worker *self);
void racecheck_launch_begin(const launch *job);
void racecheck_block_begin(worker *self);

/* A launch was not traced, or some of its blocks were not: nobody knows what it has written, so all
 * device memory counts as initialised from now on. */
void memcheck_launch_untraced(void);
/* For instruments.forget_contents. */
void memcheck_forget_contents(const void *start, size_t bytes);

/* Host code or the runtime wrote, copied or freed device memory. */
void memcheck_host_wrote(const void *to, size_t bytes);
void memcheck_host_copied(const void *to, const void *from, size_t bytes);
void memcheck_allocated(const void *start, size_t bytes);
void memcheck_freed(const void *start, size_t bytes);

/* Notes a finding of the running lane at a->site. `other` is the other site of a race, NULL for
 * none. Findings with the same kind, kernel and sites are one, with a count. */
void finding_add(const char *kind, const access *a, const void *other, const char *advice,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
size_t findings_list(const finding **all);
void findings_reset(void);
/* Notes one that no access of a lane stands for: `where` is a source line. */
void finding_note(const char *kind, const char *kernel, const char *where, const char *advice,
                  const char *text);
/* The runtime itself abandoned a launch: self->failed says why. */
void findings_failed(const worker *self);

/* "B[1204]" or "byte 12 of allocation 3 (64 bytes)", "shared tile_col[3]": the element an access
 * goes to, by the name the harness gave its array. */
void describe_address(const access *a, char *text, size_t size);
void names_add(const void *start, size_t bytes, size_t element, const char *name, bool read_only);
void names_forget(void);

/* ---- what was seen: seen.cc ------------------------------------------------------------------ */

/* An access to global memory; a range has got a name, and is looked at from now on; the host or the
 * runtime has filled or copied device memory (`traced`: on behalf of a contender). */
void seen_access(const access *a);
void seen_named(uintptr_t start, size_t bytes);
void seen_filled(const void *to, size_t bytes);
void seen_copied(const void *to, const void *from, size_t bytes, bool traced);
void seen_forget(const void *start, size_t bytes);
void seen_reset(void);
/* As in struct instruments. */
int64_t seen_bytes(const void *start, size_t bytes, sight what);
bool seen_handed(void);

/* One of the compiler's own atomics, which a kernel may have made. */
enum compiler_atomic { ATOMIC_LOAD, ATOMIC_STORE, ATOMIC_UPDATE };
void hooks_compiler_atomic(const void *p, unsigned size, compiler_atomic how, const void *site);

/* Forgets what waits or is on its way in hooks.cc. */
void hooks_block_begins(void);
/* As in struct observer. */
void hooks_bulk_arrived(const void *shared, size_t bytes);
void hooks_product_done(const simt_wgmma_part *part, const void *site);
void hooks_phase_ended(const void *barrier);

/* ---- counting: warp_log.cc, price.cc --------------------------------------------------------- */

/* Kind of a lane's event: a memory access (access_kind), a warp operation, or entering a basic
 * block. */
typedef uint8_t event_kind;
constexpr event_kind EVENT_OPERATION = ACCESS_KINDS; /* the first of them */
constexpr event_kind EVENT_BASIC_BLOCK = (int)ACCESS_KINDS + (int)WARP_OPERATIONS;
static inline event_kind operation_event(warp_operation what)
{
    return (event_kind)(EVENT_OPERATION + what);
}

/* Notes that the running lane does something at `site`, in a call `depth` deep. */
void log_event(worker *self, event_kind kind, unsigned size, uintptr_t address, const void *site);
/* The same of an access. */
void log_access(const access *a);
void log_enter_function(worker *self);
void log_leave_function(worker *self);

void log_block_begins(worker *self);
/* Replays what the lanes of `w` have logged. */
void log_replay(worker *self, warp *w);
/* The same of all warps, to the end: the block has been abandoned. */
void log_replay_rest(const worker *self);
/* Counts the events that a lane has logged in this block, and those of them that have been replayed. */
unsigned log_noted(const lane *who);
unsigned log_replayed(unsigned warp, unsigned lane);

/* One step of a warp: the lanes in `lanes` do the same at once. addresses[i] is that of the i-th
 * lowest lane, for accesses. */
struct warp_step {
    unsigned warp;
    event_kind kind;
    unsigned size;  /* of the first lane's access */
    unsigned bytes; /* of all lanes together: cp.async may read less in some */
    const void *site;
    uint32_t lanes;
    unsigned count; /* of lanes */
    uintptr_t addresses[WARP_LANES];
};

/* Counts it, and passes global accesses on to the machine model. */
void price_step(const warp_step *step);
/* A bulk copy by one thread: a load and a store of whole sectors and wavefronts. */
void price_bulk_copy(const lane *who, uintptr_t global, uintptr_t shared, unsigned bytes,
                     const void *site);

/* The counters since the last launch began; one entry of `sites` for each instruction and kind. */
struct site_counters {
    const void *site;
    event_kind kind;
    unsigned size;
    access_counters n;
};
void price_launch_begins(void);
const site_counters *price_sites(size_t *count);
void price_totals(counters *total);

/* ---- recording: recorder.cc ------------------------------------------------------------------- */

/* Each only while profiler.record. */
void record_open(const instrument_settings *s);
void record_launch_begins(const launch *job, bool in_prepare);
void record_block_begins(const worker *self);
/* Chooses between the block that has ended, or was abandoned, and the one kept so far. */
void record_block_ends(void);
/* One step, before its events count as replayed; `n` is what it costs. Basic blocks are left out. */
void record_step(const warp_step *step, const access_counters *n);
/* The running block made finding number `finding`, by `who` at the event after the first `noted` of
 * its log. The partner of a race is a thread of the block, at `site`. */
void record_finding(size_t finding, const lane *who, unsigned noted);
void record_partner(size_t finding, unsigned thread, const void *site);
recording *record_take(size_t *count);
void record_reset(void);

#endif
