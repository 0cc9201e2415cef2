/*
 * nccl.cc - the sends, receives, broadcasts and all-gathers of include/nccl.h.
 *
 * Each pair of ranks has a mailbox in a file in memory. The sender puts a piece there and counts it as filled; the
 * receiver takes it and counts it as taken; so a box is the sender's while both counts are equal. A broadcast is a send
 * to each rank, an all-gather a broadcast of each rank. Nobody waits here: ncclCommGetAsyncError goes once round all
 * that is left to do.
 */
#include "simt/simt.h"

#include <atomic>
#include <deque>
#include <fcntl.h>
#include <nccl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace
{

enum { MOST_RANKS = 64 };
const size_t BOX_BYTES = 64 << 10;

/* A mailbox from one rank to another. */
struct mailbox {
    std::atomic<uint64_t> filled, taken; /* pieces */
    uint64_t bytes;                      /* of the transfer that the piece belongs to */
    char piece[BOX_BYTES];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free); /* so it may lie between processes */

/* The file: how many ranks have joined, then a mailbox for each pair. */
struct meeting_place {
    std::atomic<int> joined;
    mailbox boxes[];
};

/* A send or a receive, and how far it has come. */
struct transfer {
    bool sends;
    int partner;
    char *data;
    size_t bytes, done;
    uint64_t last; /* number of its last piece in the box; 0: not given yet */
};

enum planned_fault { NO_FAULT, FAULT_EXIT, FAULT_ERROR, FAULT_MISS, FAULT_ASYNC };

} // namespace

struct ncclComm {
    char name[NCCL_UNIQUE_ID_BYTES];
    int ranks, rank;
    meeting_place *place;
    size_t place_bytes;
    bool joined;
    uint64_t calls;
    ncclResult_t error;
    std::deque<transfer> given; /* of the group that has ended */
    std::vector<transfer> group;
};

static thread_local int depth; /* of groups that have begun */
static thread_local std::vector<ncclComm_t> in_group;

/* ---- faults on demand ------------------------------------------------------------------------ */

static planned_fault fault_of(int rank, uint64_t call)
{
    static const char *const NAMES[] = {"", "exit", "error", "miss", "async"};
    const char *text = getenv("SIMT_NCCL_FAULT");
    char kind[8];
    int who;
    unsigned long long which;
    if (!text || sscanf(text, "%7[a-z]:%d:%llu", kind, &who, &which) != 3) return NO_FAULT;
    if (who != rank || which != call) return NO_FAULT;
    for (int f = FAULT_EXIT; f <= FAULT_ASYNC; f++)
        if (!strcmp(kind, NAMES[f])) return (planned_fault)f;
    return NO_FAULT;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static mailbox *box_of(const ncclComm *c, int from, int to)
{
    return &c->place->boxes[from * c->ranks + to];
}

/* Gives or takes the next piece where the box allows it. True: the transfer is done. */
static bool advance(ncclComm *c, transfer *t)
{
    mailbox *const box = t->sends ? box_of(c, c->rank, t->partner) : box_of(c, t->partner, c->rank);
    const uint64_t filled = box->filled.load(), taken = box->taken.load();
    const size_t piece = min(t->bytes - t->done, BOX_BYTES);
    if (t->sends && t->last) return taken >= t->last;
    if (t->sends ? filled != taken : filled == taken) return false;
    if (t->sends)
        box->bytes = t->bytes;
    else if (box->bytes != t->bytes) {
        c->error = ncclInvalidUsage; /* the other one sends something else */
        return false;
    }
    simt_memory_open();
    memcpy(t->sends ? box->piece : t->data + t->done, t->sends ? t->data + t->done : box->piece,
           piece);
    simt_memory_close();
    t->done += piece;
    (t->sends ? box->filled : box->taken).fetch_add(1);
    if (t->done < t->bytes) return false;
    t->last = filled + 1;
    if (!t->sends && simt_observer) simt_observer->written(t->data, t->bytes);
    return !t->sends;
}

/* Goes once round what is left to do. Transfers between the same two ranks follow each other. */
static void go_round(ncclComm *c)
{
    bool busy[2][MOST_RANKS] = {};
    for (size_t i = 0; i < c->given.size() && !c->error;) {
        transfer *const t = &c->given[i];
        bool *const waits = &busy[t->sends][t->partner];
        if (!*waits && advance(c, t)) {
            c->given.erase(c->given.begin() + i);
            continue;
        }
        *waits = true;
        i++;
    }
}

/* ---- communicators --------------------------------------------------------------------------- */

static ncclResult_t meet(ncclComm *c)
{
    c->place_bytes = sizeof(meeting_place) + (size_t)c->ranks * c->ranks * sizeof(mailbox);
    const int file = shm_open(c->name, O_CREAT | O_RDWR, 0600);
    if (file < 0) return ncclSystemError;
    void *p = MAP_FAILED;
    if (ftruncate(file, (off_t)c->place_bytes) == 0)
        p = mmap(nullptr, c->place_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (p == MAP_FAILED) return ncclSystemError;
    c->place = (meeting_place *)p;
    c->place->joined++;
    return ncclSuccess;
}

static void forget(ncclComm *c)
{
    if (c->place) munmap((void *)c->place, c->place_bytes);
    shm_unlink(c->name); /* gone already, once all have joined */
    delete c;
}

extern "C" {

ncclResult_t ncclGetVersion(int *version)
{
    *version = 23000;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static std::atomic<int> number;
    *id = {};
    snprintf(id->internal, sizeof id->internal, "/simt-nccl-%d-%d-%llx", (int)getpid(), number++,
             (unsigned long long)simt_nanoseconds());
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    *comm = nullptr;
    if (ranks < 1 || ranks > MOST_RANKS || rank < 0 || rank >= ranks || !config || config->blocking)
        return ncclInvalidArgument;
    ncclComm *c = new ncclComm{};
    memcpy(c->name, id.internal, sizeof c->name);
    c->ranks = ranks;
    c->rank = rank;
    const planned_fault wrong = fault_of(rank, 0);
    if (wrong == FAULT_EXIT) _exit(9);
    const ncclResult_t result = wrong == FAULT_ERROR  ? ncclSystemError
                                : wrong == FAULT_MISS ? ncclSuccess
                                                      : meet(c);
    if (result != ncclSuccess) {
        forget(c);
        return result;
    }
    if (wrong == FAULT_ASYNC) c->error = ncclRemoteError;
    *comm = c;
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *error)
{
    if (!c->joined && c->place && c->place->joined.load() == c->ranks) {
        c->joined = true;
        shm_unlink(c->name);
    }
    if (c->joined) go_round(c);
    *error = c->error ? c->error : c->joined && c->given.empty() ? ncclSuccess : ncclInProgress;
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t c)
{
    return c->given.empty() ? ncclSuccess : ncclInvalidUsage;
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    if (c) forget(c);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t c)
{
    return ncclCommDestroy(c);
}

const char *ncclGetErrorString(ncclResult_t error)
{
    static const char *const TEXTS[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "NCCL operation in progress"};
    return (unsigned)error <= ncclInProgress ? TEXTS[error] : "unknown result code";
}

/* ---- groups ---------------------------------------------------------------------------------- */

ncclResult_t ncclGroupStart(void)
{
    depth++;
    return ncclSuccess;
}

/* Hands the communicator's part of the group over. */
static ncclResult_t end_group(ncclComm *c)
{
    const planned_fault wrong = fault_of(c->rank, ++c->calls);
    std::vector<transfer> group;
    group.swap(c->group);
    if (wrong == FAULT_EXIT) _exit(9);
    if (wrong == FAULT_ERROR) return ncclSystemError;
    if (wrong == FAULT_MISS) return ncclSuccess;
    if (wrong == FAULT_ASYNC) c->error = ncclRemoteError;
    if (!c->joined || !c->given.empty()) return ncclInvalidUsage;
    c->given.assign(group.begin(), group.end());
    return ncclInProgress;
}

ncclResult_t ncclGroupEnd(void)
{
    if (depth == 0) return ncclInvalidUsage;
    if (--depth > 0) return ncclSuccess;
    ncclResult_t result = ncclSuccess;
    std::vector<ncclComm_t> all;
    all.swap(in_group);
    for (ncclComm *c : all) {
        const ncclResult_t r = end_group(c);
        if (result == ncclSuccess || (result == ncclInProgress && r != ncclSuccess)) result = r;
    }
    return result;
}

/* Adds transfers to the group; a call outside of any is a group of its own. */
static ncclResult_t add(ncclComm *c, std::initializer_list<transfer> transfers, cudaStream_t stream)
{
    for (const transfer &t : transfers) {
        if (t.bytes == 0) continue;
        if (!simt_memory_valid(t.data, t.bytes)) return ncclInvalidArgument;
        c->group.push_back(t);
    }
    if (simt_enqueued(stream) != cudaSuccess) return ncclInvalidArgument;
    bool known = false;
    for (const ncclComm *other : in_group)
        known = known || other == c;
    if (!known) in_group.push_back(c);
    if (depth > 0) return ncclSuccess;
    depth++;
    return ncclGroupEnd();
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t, int to, ncclComm_t c,
                      cudaStream_t stream)
{
    if (to < 0 || to >= c->ranks || to == c->rank) return ncclInvalidArgument;
    return add(c, {{true, to, (char *)from, count, 0, 0}}, stream);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t, int from, ncclComm_t c,
                      cudaStream_t stream)
{
    if (from < 0 || from >= c->ranks || from == c->rank) return ncclInvalidArgument;
    return add(c, {{false, from, (char *)to, count, 0, 0}}, stream);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t c, cudaStream_t stream)
{
    if (root < 0 || root >= c->ranks) return ncclInvalidArgument;
    ncclGroupStart();
    ncclResult_t result = ncclSuccess;
    if (root != c->rank)
        result = ncclRecv(to, count, type, root, c, stream);
    else {
        for (int q = 0; q < c->ranks && result == ncclSuccess; q++)
            if (q != root) result = ncclSend(from, count, type, q, c, stream);
        if (result == ncclSuccess && count > 0 && from != to &&
            cudaMemcpyAsync(to, from, count, cudaMemcpyDeviceToDevice, stream) != cudaSuccess)
            result = ncclUnhandledCudaError;
        if (c->ranks == 1 && result == ncclSuccess) result = add(c, {}, stream);
    }
    const ncclResult_t ended = ncclGroupEnd();
    return result == ncclSuccess ? ended : result;
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclComm_t c, cudaStream_t stream)
{
    ncclGroupStart();
    ncclResult_t result = ncclSuccess;
    for (int q = 0; q < c->ranks && result == ncclSuccess; q++)
        result = ncclBroadcast(from, (char *)to + q * count, count, type, q, c, stream);
    const ncclResult_t ended = ncclGroupEnd();
    return result == ncclSuccess ? ended : result;
}
}
