/*
 * nccl.c - ranks with a device each, between which NCCL moves bytes: threads of this process, or processes of a launch.
 *
 * Ranks meet once in a process, and each exchange uses the communicators that they made then. A thread a rank waits for
 * steps. Communicators do not block: where a call needs others, the rank asks until it is done (settle), so that it can
 * give up. There are three ways to notice that somebody is missing: a step of another rank failed, NCCL tells of an
 * error, or time is up. Then all communicators of this process are aborted, which ends what they have on the devices, and
 * no exchange works any more.
 */
#include "exchange/exchange.h"

#include "device/cuda_try.h"
#include "exchange/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double exchange_timeout(void)
{
    const char *text = getenv("EXCHANGE_TIMEOUT");
    const double seconds = text ? strtod(text, NULL) : 0;
    return seconds > 0 ? seconds : 60;
}

#ifdef EXCHANGE_NCCL

#include <nccl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { FIRST_TO_SHARE = 23000 }; /* version 2.30.0 */

/* A rank of this process, and its thread. */
typedef struct member {
    int rank, device;
    ncclComm_t comm;
    pthread_t thread;
    bool has_thread;
    cudaError_t error; /* of its last step */
    char text[256];    /* what cuda_failure_text says of it */
} member;

/* All ranks, as this process sees them. */
typedef struct company {
    int ranks, locals; /* 0: they have not met */
    member member[EXCHANGE_MOST_RANKS];
    launch_place place;
    int *d_codes;                    /* an error of each rank: exchange_agree */
    atomic_bool broken;              /* somebody is missing: nothing works any more */
    atomic_bool called;              /* NCCL was called in this step */
    _Atomic(struct member *) failed; /* whose step failed first; NULL: nobody's */
    cudaError_t error;               /* why it is broken */
    char text[256];                  /* the same in words */
    pthread_mutex_t lock;            /* of the rest */
    pthread_cond_t begins, ended;
    unsigned long step_number;
    int busy; /* members whose step has not ended */
    bool over;
    exchange *e;
    exchange_step step;
    void *context;
} company;

static company all = {.lock = PTHREAD_MUTEX_INITIALIZER,
                      .begins = PTHREAD_COND_INITIALIZER,
                      .ended = PTHREAD_COND_INITIALIZER};

/* ---- giving up ------------------------------------------------------------------------------- */

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Notes why ranks give up, unless another has. */
static cudaError_t give_up(int rank, const char *why)
{
    pthread_mutex_lock(&all.lock);
    if (!atomic_load(&all.broken)) {
        all.error = cudaErrorUnknown;
        snprintf(all.text, sizeof all.text, "rank %d of %d %.200s", rank, all.ranks, why);
        atomic_store(&all.broken, true);
    }
    pthread_mutex_unlock(&all.lock);
    return cuda_failed_as(all.error, all.text);
}

static cudaError_t late(int rank)
{
    char why[160];
    snprintf(
        why, sizeof why,
        "waited %g s for another rank, in vain: it ended, failed or hangs (EXCHANGE_TIMEOUT sets "
        "the time)",
        exchange_timeout());
    return give_up(rank, why);
}

static cudaError_t nccl_failed(int rank, ncclResult_t result)
{
    char why[160];
    snprintf(why, sizeof why, "has an error of NCCL: %s", ncclGetErrorString(result));
    return give_up(rank, why);
}

static cudaError_t why_broken(void)
{
    return cuda_failed_as(all.error, all.text);
}

static void pause_briefly(void)
{
    const struct timespec some = {.tv_nsec = 20000};
    nanosleep(&some, NULL);
}

/* Waits until NCCL has taken the member's last call. */
static cudaError_t settle(member *m)
{
    const double end = seconds_now() + exchange_timeout();
    for (;;) {
        ncclResult_t state = ncclSuccess;
        const ncclResult_t asked = ncclCommGetAsyncError(m->comm, &state);
        if (asked != ncclSuccess) state = asked;
        if (state == ncclSuccess) return cudaSuccess;
        if (state != ncclInProgress) return nccl_failed(m->rank, state);
        if (atomic_load(&all.broken)) return why_broken();
        const member *const failed = atomic_load(&all.failed); /* it will not call any more */
        if (failed) return give_up(failed->rank, failed->text);
        if (seconds_now() > end) return late(m->rank);
        pause_briefly();
    }
}

/* Ends what communicators have on the devices. Nobody uses them any more. */
static void abort_all(void)
{
    for (int i = 0; i < all.locals; i++) {
        if (all.member[i].comm) ncclCommAbort(all.member[i].comm);
        all.member[i].comm = NULL;
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The rank of the exchange that the member works for. */
static exchange_rank *rank_of(exchange *e, const member *m)
{
    return &e->local[m->rank - e->local[0].rank];
}

static void do_step(member *m)
{
    m->error = all.step(all.e ? rank_of(all.e, m) : NULL, all.e ? all.context : m);
    if (m->error == cudaSuccess) return;
    struct member *nobody = NULL;
    snprintf(m->text, sizeof m->text, "%s", cuda_failure_text(m->error));
    atomic_compare_exchange_strong(&all.failed, &nobody, m);
}

static void *live(void *context)
{
    member *const m = context;
    unsigned long seen = 0;
    pthread_mutex_lock(&all.lock);
    for (;;) {
        while (!all.over && all.step_number == seen)
            pthread_cond_wait(&all.begins, &all.lock);
        if (all.over) break;
        seen = all.step_number;
        pthread_mutex_unlock(&all.lock);
        do_step(m);
        pthread_mutex_lock(&all.lock);
        if (--all.busy == 0) pthread_cond_signal(&all.ended);
    }
    pthread_mutex_unlock(&all.lock);
    return NULL;
}

/* Lets all members do a step: their own threads, or the only one here. e: NULL where the context is the member. */
static cudaError_t all_do(exchange *e, exchange_step step, void *context)
{
    /* Other processes may wait for what the last step has not done, and would take this one for it. */
    const member *const before = atomic_load(&all.failed);
    if (all.place.is_launch && before) {
        give_up(before->rank, before->text);
        abort_all();
        return why_broken();
    }
    pthread_mutex_lock(&all.lock);
    all.e = e;
    all.step = step;
    all.context = context;
    all.busy = all.locals;
    atomic_store(&all.called, false);
    atomic_store(&all.failed, NULL);
    all.step_number++;
    if (all.place.is_launch) {
        pthread_mutex_unlock(&all.lock);
        do_step(&all.member[0]);
    } else {
        pthread_cond_broadcast(&all.begins);
        while (all.busy > 0)
            pthread_cond_wait(&all.ended, &all.lock);
        pthread_mutex_unlock(&all.lock);
    }
    /* Work of the others on their devices waits for the rank that did not call. */
    const member *const failed = atomic_load(&all.failed);
    if (failed && atomic_load(&all.called)) give_up(failed->rank, failed->text);
    if (atomic_load(&all.broken)) {
        abort_all();
        return why_broken();
    }
    for (int i = 0; i < all.locals; i++)
        if (all.member[i].error != cudaSuccess)
            return cuda_failed_as(all.member[i].error, all.member[i].text);
    return cudaSuccess;
}

static cudaError_t nccl_each(exchange *e, exchange_step step, void *context)
{
    return atomic_load(&all.broken) ? why_broken() : all_do(e, step, context);
}

/* ---- what moves ------------------------------------------------------------------------------ */

static member *member_of(const exchange_rank *r)
{
    return &all.member[r->rank - all.member[0].rank];
}

/* Ends a group, whose calls had the result `given` so far. */
static cudaError_t end_group(member *m, ncclResult_t given)
{
    const ncclResult_t ended = ncclGroupEnd();
    if (given == ncclSuccess || given == ncclInProgress) given = ended;
    if (given != ncclSuccess && given != ncclInProgress) return nccl_failed(m->rank, given);
    return settle(m);
}

/* Whether an all-gather says it: pieces of one size, one behind the other. */
static bool is_all_gather(const exchange *e, const exchange_piece *pieces)
{
    for (int q = 1; q < e->ranks; q++)
        if (pieces[q].bytes != pieces[0].bytes ||
            pieces[q].at != pieces[0].at + q * pieces[0].bytes)
            return false;
    return pieces[0].bytes > 0;
}

static cudaError_t nccl_gather(exchange *e, exchange_rank *r, const exchange_piece *pieces,
                               void *whole)
{
    member *const m = member_of(r);
    char *const to = whole;
    if (atomic_load(&all.broken)) return why_broken();
    atomic_store(&all.called, true);
    ncclResult_t given = ncclGroupStart();
    if (is_all_gather(e, pieces))
        given = ncclAllGather(pieces[r->rank].from, to + pieces[0].at, pieces[0].bytes, ncclUint8,
                              m->comm, r->wire);
    else
        for (int q = 0; q < e->ranks && (given == ncclSuccess || given == ncclInProgress); q++)
            if (pieces[q].bytes > 0) {
                void *const place = to + pieces[q].at;
                given = ncclBroadcast(q == r->rank ? pieces[q].from : place, place, pieces[q].bytes,
                                      ncclUint8, q, m->comm, r->wire);
            }
    return end_group(m, given);
}

static cudaError_t nccl_swap(exchange *e, exchange_rank *r, const exchange_parcel *parcels)
{
    member *const m = member_of(r);
    const exchange_parcel *const own = &parcels[r->rank];
    if (atomic_load(&all.broken)) return why_broken();
    atomic_store(&all.called, true);
    if (own->take_bytes > 0)
        CUDA_TRY(cudaMemcpyAsync(own->take, own->give, own->take_bytes, cudaMemcpyDeviceToDevice,
                                 r->wire));
    ncclResult_t given = ncclGroupStart();
    for (int q = 0; q < e->ranks && (given == ncclSuccess || given == ncclInProgress); q++) {
        const exchange_parcel *const p = &parcels[q];
        if (q == r->rank) continue;
        if (p->give_bytes > 0)
            given = ncclSend(p->give, p->give_bytes, ncclUint8, q, m->comm, r->wire);
        if ((given == ncclSuccess || given == ncclInProgress) && p->take_bytes > 0)
            given = ncclRecv(p->take, p->take_bytes, ncclUint8, q, m->comm, r->wire);
    }
    return end_group(m, given);
}

static const exchange_kind NCCL = {"NCCL", false, nccl_each, nccl_gather, nccl_swap};

bool exchange_has_devices(void)
{
    return true;
}

bool exchange_may_share(void)
{
    const char *asked = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    int version;
    return asked && !strcmp(asked, "1") && ncclGetVersion(&version) == ncclSuccess &&
           version >= FIRST_TO_SHARE;
}

const char *exchange_failure(void)
{
    return atomic_load(&all.broken) ? all.text : NULL;
}

/* ---- meeting --------------------------------------------------------------------------------- */

static ncclUniqueId meeting_id;

/* Makes the communicator of a member, once all have come. The member's first step: its thread takes the device. */
static cudaError_t join(exchange_rank *none, void *context)
{
    member *const m = context;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    (void)none;
    CUDA_TRY(cudaSetDevice(m->device));
    config.blocking = 0;
    atomic_store(&all.called, true);
    const ncclResult_t result =
        ncclCommInitRankConfig(&m->comm, all.ranks, meeting_id, m->rank, &config);
    if (result != ncclSuccess && result != ncclInProgress) return nccl_failed(m->rank, result);
    return settle(m);
}

static cudaError_t get_id(void)
{
    char text[200];
    const launch_place *const place = &all.place;
    if (place->rank == 0) {
        const ncclResult_t result = ncclGetUniqueId(&meeting_id);
        if (result != ncclSuccess) return nccl_failed(0, result);
        if (!place->is_launch || launch_tell(place, &meeting_id, sizeof meeting_id))
            return cudaSuccess;
        snprintf(text, sizeof text,
                 "cannot make EXCHANGE_FILE %.100s: give each launch the name of a new file",
                 place->file);
        return give_up(0, text);
    }
    if (launch_ask(place, &meeting_id, sizeof meeting_id, exchange_timeout())) return cudaSuccess;
    snprintf(text, sizeof text, "waited %g s for EXCHANGE_FILE %.100s of rank 0",
             exchange_timeout(), place->file);
    return give_up(place->rank, text);
}

/* Numbers the members. Processes of a launch have each the device that is current; threads have that and those after. */
static cudaError_t seat(int ranks)
{
    char text[200];
    int count = 0, here = 0;
    if (!launch_find(&all.place, text, sizeof text))
        return cuda_failed_as(cudaErrorInvalidValue, text);
    CUDA_TRY(cudaGetDeviceCount(&count));
    CUDA_TRY(cudaGetDevice(&here));
    const bool is_launch = all.place.is_launch;
    if (is_launch && all.place.ranks != ranks) {
        snprintf(text, sizeof text, "--devices %d, but the launch has %d ranks", ranks,
                 all.place.ranks);
        return cuda_failed_as(cudaErrorInvalidValue, text);
    }
    if (!is_launch && ranks > count && !exchange_may_share()) {
        snprintf(text, sizeof text, "%d devices were asked for, and this machine has %d", ranks,
                 count);
        return cuda_failed_as(cudaErrorInvalidDevice, text);
    }
    all.ranks = ranks;
    all.locals = is_launch ? 1 : ranks;
    for (int i = 0; i < all.locals; i++)
        all.member[i] = (member){.rank = is_launch ? all.place.rank : i,
                                 .device = is_launch ? here : (here + i) % count};
    for (int i = 0; i < all.locals && !is_launch; i++) {
        member *const m = &all.member[i];
        m->has_thread = pthread_create(&m->thread, NULL, live, m) == 0;
        if (!m->has_thread) return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

static cudaError_t meet(int ranks)
{
    CUDA_TRY(seat(ranks));
    CUDA_TRY(get_id());
    const cudaError_t error = all_do(NULL, join, NULL);
    if (all.place.is_launch && all.place.rank == 0) launch_met(&all.place);
    CUDA_TRY(error);
    return cudaMalloc((void **)&all.d_codes, ranks * sizeof *all.d_codes);
}

cudaError_t exchange_open_nccl(int ranks, exchange **opened)
{
    int device[EXCHANGE_MOST_RANKS];
    *opened = NULL;
    if (ranks < 1 || ranks > EXCHANGE_MOST_RANKS || (all.ranks && all.ranks != ranks))
        return cudaErrorInvalidValue;
    if (atomic_load(&all.broken)) return why_broken();
    if (!all.ranks) {
        const cudaError_t error = meet(ranks);
        if (error != cudaSuccess) {
            if (!atomic_load(&all.broken)) exchange_part_company();
            return error;
        }
    }
    for (int i = 0; i < all.locals; i++)
        device[i] = all.member[i].device;
    return exchange_make(&NCCL, ranks, all.member[0].rank, all.locals, device, opened);
}

/* Flushes a communicator, which the others do as well. */
static cudaError_t finish(exchange_rank *none, void *context)
{
    member *const m = context;
    (void)none;
    atomic_store(&all.called, true);
    const ncclResult_t result = ncclCommFinalize(m->comm);
    if (result != ncclSuccess && result != ncclInProgress) return nccl_failed(m->rank, result);
    const cudaError_t error = settle(m);
    if (error != cudaSuccess) return error;
    ncclCommDestroy(m->comm);
    m->comm = NULL;
    return cudaSuccess;
}

void exchange_part_company(void)
{
    bool met = all.ranks > 0;
    for (int i = 0; i < all.locals; i++)
        met = met && all.member[i].comm;
    if (met && !atomic_load(&all.broken)) all_do(NULL, finish, NULL);
    cudaFree(all.d_codes);
    pthread_mutex_lock(&all.lock);
    all.over = true;
    pthread_cond_broadcast(&all.begins);
    pthread_mutex_unlock(&all.lock);
    for (int i = 0; i < all.locals; i++)
        if (all.member[i].has_thread) pthread_join(all.member[i].thread, NULL);
    all.ranks = all.locals = 0;
    atomic_store(&all.failed, NULL);
    all.d_codes = NULL;
    all.over = false;
    all.step_number = 0;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static cudaError_t look_after_members(void)
{
    for (int i = 0; i < all.locals; i++) {
        ncclResult_t state = ncclSuccess;
        const ncclResult_t asked = ncclCommGetAsyncError(all.member[i].comm, &state);
        if (asked != ncclSuccess) state = asked;
        if (state != ncclSuccess && state != ncclInProgress)
            return nccl_failed(all.member[i].rank, state);
    }
    return cudaSuccess;
}

cudaError_t exchange_wait(cudaStream_t stream)
{
    if (!all.ranks) return cudaSuccess;
    if (atomic_load(&all.broken)) return why_broken();
    const double end = seconds_now() + exchange_timeout();
    cudaError_t error = cudaErrorNotReady;
    while (error == cudaErrorNotReady) {
        const cudaError_t seen = look_after_members();
        error = seen != cudaSuccess ? seen : cudaStreamQuery(stream);
        if (error == cudaErrorNotReady && seconds_now() > end) error = late(all.member[0].rank);
    }
    if (atomic_load(&all.broken)) abort_all();
    return error;
}

/* Gathers the errors of all ranks. */
static cudaError_t spread(exchange_rank *r, void *context)
{
    const exchange *const e = context;
    exchange_piece pieces[EXCHANGE_MOST_RANKS];
    for (int q = 0; q < e->ranks; q++)
        pieces[q] = (exchange_piece){all.d_codes + q, sizeof *all.d_codes, q * sizeof *all.d_codes};
    return nccl_gather(all.e, r, pieces, all.d_codes);
}

cudaError_t exchange_agree(exchange *e, cudaError_t error)
{
    int code = (int)error, codes[EXCHANGE_MOST_RANKS];
    if (e->locals == e->ranks || atomic_load(&all.broken)) return error;
    atomic_store(&all.failed, NULL); /* the others will know */
    /* On the wire, which does not wait for the default stream. */
    CUDA_TRY(cudaMemcpyAsync(all.d_codes + all.place.rank, &code, sizeof code,
                             cudaMemcpyHostToDevice, e->local[0].wire));
    CUDA_TRY(all_do(e, spread, e));
    CUDA_TRY(exchange_wait(e->local[0].wire));
    CUDA_TRY(cudaMemcpy(codes, all.d_codes, e->ranks * sizeof code, cudaMemcpyDeviceToHost));
    for (int q = 0; q < e->ranks; q++)
        if (codes[q] != cudaSuccess) return (cudaError_t)codes[q];
    return cudaSuccess;
}

#else

bool exchange_has_devices(void)
{
    return false;
}

bool exchange_may_share(void)
{
    return false;
}

const char *exchange_failure(void)
{
    return NULL;
}

cudaError_t exchange_open_nccl(int ranks, exchange **e)
{
    (void)ranks;
    *e = NULL;
    return cuda_failed_as(cudaErrorNotSupported,
                          "this program was built without NCCL: scripts/setup --cuda brings it");
}

void exchange_part_company(void) {}

cudaError_t exchange_wait(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

cudaError_t exchange_agree(exchange *e, cudaError_t error)
{
    (void)e;
    return error;
}

#endif
