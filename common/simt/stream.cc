/*
 * stream.cc - streams and events. Every call completes before it returns, so an event is a moment of
 * this machine's clock. What a GPU would have to wait for is kept all the same: simt_work_left() tells
 * of work that could still run there.
 *
 * Streams and events have vector clocks: how many pieces of work of each stream come before (C. Fidge,
 * 1988; F. Mattern, 1989). The rules of waiting are those of the CUDA Runtime API reference, "Stream
 * synchronization behavior".
 */
#include "simt/simt.h"

#include <map>
#include <mutex>
#include <time.h>

/* By stream: how many pieces of its work. */
typedef std::map<cudaStream_t, uint64_t> work;

struct stream {
    bool blocking;  /* waits for the legacy default stream, as that does for it */
    uint64_t count; /* of all its work */
    work before;    /* what later work of this stream comes after */
};

struct CUevent_st {
    unsigned flags;
    bool recorded;
    long long nanoseconds;
    work before;
};

/* A stream's handle is a number that is never given again. */
struct all_streams {
    std::mutex lock;
    uintptr_t last = (uintptr_t)cudaStreamPerThread;
    std::map<cudaStream_t, stream> known = {{cudaStreamLegacy, {true, 0, {}}},
                                            {cudaStreamPerThread, {true, 0, {}}}};
    work blocking; /* what the legacy default stream has to wait for */
    work running;  /* the last work of each stream, unless the host has waited for it */
    work waited;   /* the last that the host has waited for */
};
static all_streams &all = *new all_streams(); /* leaked: it must outlive static destructors */

static void add(work &to, const work &more)
{
    for (const auto &w : more)
        to[w.first] = max(to[w.first], w.second);
}

/* NULL: there is no such stream. Whatever comes next in it waits as its kind does. */
static stream *find(cudaStream_t handle)
{
    const auto found = all.known.find(handle ? handle : cudaStreamLegacy);
    if (found == all.known.end()) return nullptr;
    stream *s = &found->second;
    if (found->first == cudaStreamLegacy)
        add(s->before, all.blocking);
    else if (s->blocking)
        add(s->before, all.known[cudaStreamLegacy].before);
    return s;
}

static void host_waits(const work &waited)
{
    add(all.waited, waited);
    for (const auto &w : waited) {
        const auto last = all.running.find(w.first);
        if (last != all.running.end() && last->second <= w.second) all.running.erase(last);
    }
}

cudaError_t simt_enqueued(cudaStream_t handle)
{
    std::lock_guard<std::mutex> guard(all.lock);
    stream *s = find(handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (!handle) handle = cudaStreamLegacy;
    s->before[handle] = all.running[handle] = ++s->count;
    if (s->blocking) add(all.blocking, s->before);
    return cudaSuccess;
}

uint64_t simt_work_number(cudaStream_t handle)
{
    std::lock_guard<std::mutex> guard(all.lock);
    const stream *s = find(handle);
    return s ? s->count : 0;
}

bool simt_comes_after(cudaStream_t handle, cudaStream_t other, uint64_t number)
{
    std::lock_guard<std::mutex> guard(all.lock);
    const stream *s = find(handle);
    if (!other) other = cudaStreamLegacy;
    const auto waited = all.waited.find(other);
    if (waited != all.waited.end() && waited->second >= number) return true;
    const auto before = s->before.find(other);
    return before != s->before.end() && before->second >= number;
}

extern "C" {

cudaStream_t simt_work_left(cudaStream_t handle)
{
    std::lock_guard<std::mutex> guard(all.lock);
    stream *s = find(handle);
    for (const auto &last : all.running)
        if (!s || s->before[last.first] < last.second) return last.first;
    return nullptr;
}

long long simt_nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Nobody has to remember what is done: clocks begin again without it. */
cudaError_t cudaDeviceSynchronize(void)
{
    simt_count_host_call();
    std::lock_guard<std::mutex> guard(all.lock);
    for (auto &known : all.known)
        known.second.before.clear();
    all.blocking.clear();
    add(all.waited, all.running);
    all.running.clear();
    return simt_error(simt_sticky_error());
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    simt_count_host_call();
    cudaError_t sticky = simt_sticky_error();
    if (sticky) return simt_error(sticky);
    if (!stream || flags > cudaStreamNonBlocking) return simt_error(cudaErrorInvalidValue);
    std::lock_guard<std::mutex> guard(all.lock);
    *stream = (cudaStream_t)++all.last;
    all.known[*stream].blocking = flags != cudaStreamNonBlocking;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

/* Returns at once: its work goes on. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    simt_count_host_call();
    std::lock_guard<std::mutex> guard(all.lock);
    if (stream == cudaStreamLegacy || stream == cudaStreamPerThread || !all.known.erase(stream))
        return simt_error(cudaErrorInvalidResourceHandle);
    return simt_error(simt_sticky_error());
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    simt_count_host_call();
    std::lock_guard<std::mutex> guard(all.lock);
    const stream *s = find(handle);
    if (!s) return simt_error(cudaErrorInvalidResourceHandle);
    host_waits(s->before);
    return simt_error(simt_sticky_error());
}

/* The answer is that all is done: whoever asks until then has waited. */
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return cudaStreamSynchronize(stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned)
{
    std::lock_guard<std::mutex> guard(all.lock);
    stream *s = find(handle);
    if (!s || !event) return simt_error(cudaErrorInvalidResourceHandle);
    add(s->before, event->before);
    if (s->blocking) add(all.blocking, s->before);
    return simt_error(simt_sticky_error());
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    simt_count_host_call();
    cudaError_t sticky = simt_sticky_error();
    if (sticky) return simt_error(sticky);
    if (!event || (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)))
        return simt_error(cudaErrorInvalidValue);
    *event = new CUevent_st{flags, false, 0, {}};
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    simt_count_host_call();
    if (!event) return simt_error(cudaErrorInvalidResourceHandle);
    delete event;
    return simt_error(simt_sticky_error());
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle)
{
    std::lock_guard<std::mutex> guard(all.lock);
    const stream *s = find(handle);
    if (!s || !event) return simt_error(cudaErrorInvalidResourceHandle);
    event->before = s->before;
    event->recorded = true;
    event->nanoseconds = simt_nanoseconds();
    return simt_error(simt_sticky_error());
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    simt_count_host_call();
    if (!event) return simt_error(cudaErrorInvalidResourceHandle);
    std::lock_guard<std::mutex> guard(all.lock);
    host_waits(event->before);
    return simt_error(simt_sticky_error());
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return cudaEventSynchronize(event);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t sticky = simt_sticky_error();
    if (sticky) return simt_error(sticky);
    if (!milliseconds) return simt_error(cudaErrorInvalidValue);
    if (!start || !end || !start->recorded || !end->recorded ||
        ((start->flags | end->flags) & cudaEventDisableTiming))
        return simt_error(cudaErrorInvalidResourceHandle);
    *milliseconds = (float)(end->nanoseconds - start->nanoseconds) * 1e-6f;
    return cudaSuccess;
}
}
