/*
 * stream.cc - streams and events. Every call completes before it returns, so a stream has nothing
 * to order and an event is a moment of this machine's clock.
 */
#include "simt/simt.h"

#include <time.h>

struct CUstream_st {
    unsigned flags;
};

struct CUevent_st {
    unsigned flags;
    bool recorded;
    long long nanoseconds;
};

extern "C" {

long long simt_nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return simt_error(simt_sticky_error());
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    cudaError_t sticky = simt_sticky_error();
    if (sticky) return simt_error(sticky);
    if (!stream || flags > cudaStreamNonBlocking) return simt_error(cudaErrorInvalidValue);
    *stream = new CUstream_st{flags};
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return simt_error(cudaErrorInvalidResourceHandle);
    delete stream;
    return simt_error(simt_sticky_error());
}

cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return simt_error(simt_sticky_error());
}
cudaError_t cudaStreamQuery(cudaStream_t)
{
    return simt_error(simt_sticky_error());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned)
{
    return simt_error(event ? simt_sticky_error() : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    cudaError_t sticky = simt_sticky_error();
    if (sticky) return simt_error(sticky);
    if (!event || (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)))
        return simt_error(cudaErrorInvalidValue);
    *event = new CUevent_st{flags, false, 0};
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!event) return simt_error(cudaErrorInvalidResourceHandle);
    delete event;
    return simt_error(simt_sticky_error());
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
    if (!event) return simt_error(cudaErrorInvalidResourceHandle);
    event->recorded = true;
    event->nanoseconds = simt_nanoseconds();
    return simt_error(simt_sticky_error());
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return simt_error(event ? simt_sticky_error() : cudaErrorInvalidResourceHandle);
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
