/*
 * checks.h - what the files behind memcheck and racecheck share.
 *
 *   memcheck.cc   addresses, initialisation, read-only arrays
 *   racecheck.cc  accesses that nothing orders
 *   stream_order.cc  work on streams that do not wait for each other
 *   order.cc      what orders two accesses: barriers, __syncwarp, fences and flags
 *   findings.cc   what the checks found
 *   address.cc    what an address is called
 */
#ifndef PROFILER_CHECKS_H
#define PROFILER_CHECKS_H

#include "profiler/profiler.h"

/* ---- findings.cc ----------------------------------------------------------------------------- */

/* Counts the finding once more if it is known; then there is no need to put it into words. Which of
 * two racing lines is `a` does not matter. */
bool finding_again(const char *kind, const access *a, const void *other);

/* Names the other thread of the race that was noted last, if it is one of this block. */
void finding_partner(unsigned thread, const void *site);

/* Ends the launch after a finding that is noted: findings_failed() will not note it again. */
[[noreturn]] void finding_ends_launch(cudaError_t error, const access *a);

/* ---- address.cc ------------------------------------------------------------------------------ */

/* An array that the harness has named. */
struct named_array {
    uintptr_t start;
    size_t bytes, element;
    char name[64];
    bool read_only;
};
/* The lowest one that starts at `from` or above, NULL if there is none. */
const named_array *next_named_array(uintptr_t from);
/* Whether it is an element of an array that no kernel may write. */
bool is_read_only(uintptr_t address);

/* Where an address lies. */
enum place {
    DEVICE_MEMORY,
    STATIC_SHARED,  /* or near it */
    DYNAMIC_SHARED, /* or near it */
    LOCAL_MEMORY,   /* of some thread of the block */
    HOST_MEMORY     /* or none at all */
};
place place_of(const worker *self, uintptr_t address);

/* ---- order.cc -------------------------------------------------------------------------------- */

/* Time is a number that grows whenever something is ordered: at every barrier, __syncwarp, fence,
 * block and launch, for the whole process. What two threads do at one time is unordered. As blocks
 * run one after the other, a moment also tells the block and the launch. */
typedef uint64_t moment;
extern moment time_now; /* from 1; stands still at END_OF_TIME */
constexpr moment END_OF_TIME = ((moment)1 << 32) - 1;

/* Thread number `thread` of the block that ran at `time` did something. */
struct event_of_thread {
    moment time;
    unsigned thread;
};

void order_launch_begin(void);
void order_block_begin(uint64_t number);
void order_barrier(void);
void order_syncwarp(const warp *w, uint32_t mask);
void order_fence(const lane *who, simt_scope scope);

/* An atomic or volatile access, which may carry a message. `update`: the write also reads, and adds
 * to the messages that are there. */
void order_strong_write(uintptr_t address, const lane *who, bool shared, bool update);
void order_strong_read(uintptr_t address, const lane *who, bool shared);

/* Whether a volatile store of this thread is a message now: it has passed a fence for it. */
bool order_has_message(const lane *who);
/* Whether thread `me` may write over the message that was left at the address `before`: it has read it,
 * and has passed a fence since. An atomic function needs none, as it reads and writes at once. */
bool order_took_turn(uintptr_t address, event_of_thread before, const lane *me, bool atomic);

/* Barriers in shared memory (device/mbarrier.cuh): a thread arrives at one, or starts a bulk copy that
 * counts for it; its phase has ended; a thread has waited for that. */
void order_mbarrier_reached(const void *barrier, const lane *who);
void order_mbarrier_ended(const void *barrier);
void order_mbarrier_waited(const void *barrier, const lane *who);

/* The number of the block that ran at `time`, in this launch. */
uint64_t order_block_at(moment time);

struct order_marks {
    moment launch_start, block_start; /* of the current ones */
    moment barrier;                   /* the block's last, or its start */
    bool told;                        /* some thread of the block has read a message */
    bool waited;                      /* or has waited for a barrier in shared memory */
};
extern order_marks order;
/* The rest of is_over(). */
bool order_search(event_of_thread before, const lane *me);

/* Whether what happened `before` is certain to be over for thread `me` of the current block.
 * `shared`: it was in shared memory, of which every block has its own. */
static inline bool is_over(event_of_thread before, const lane *me, bool shared)
{
    bool same_warp = false;
    if (before.time < order.block_start) {
        if (shared || before.time < order.launch_start) return true;
    } else {
        if (before.time < order.barrier || before.thread == me->number) return true;
        same_warp = before.thread / WARP_LANES == me->number / WARP_LANES;
    }
    return (same_warp || order.told || order.waited) && order_search(before, me);
}

/* ---- memcheck.cc ----------------------------------------------------------------------------- */

/* An array that starts here has got a name; no array has one any more. */
void memcheck_named(uintptr_t start);
void memcheck_names_forgotten(void);

/* ---- racecheck.cc ---------------------------------------------------------------------------- */

/* Nobody will use this memory again. */
void racecheck_freed(const void *start, size_t bytes);

/* ---- stream_order.cc ------------------------------------------------------------------------- */

/* A launch begins; it makes an access to global memory; it is over once the next piece of work begins. */
void stream_order_launch(const launch *job);
void stream_order_access(const access *a);
/* A copy, or a fill (from: NULL), was enqueued on a stream. */
void stream_order_moved(const void *to, const void *from, size_t bytes, cudaStream_t stream);
void stream_order_freed(const void *start, size_t bytes);

#endif
