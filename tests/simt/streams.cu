/*
 * streams.cu - what the CPU backend knows of the order of work: simt_work_left names a stream with work
 * for which neither the host nor the given stream waits.
 */
#include "tests/primitives/primitives.h"

static char *d_byte; /* for pieces of work */

static __global__ void nothing_kernel() {}

/* A piece of work. */
static void work(cudaStream_t stream)
{
    nothing_kernel<<<1, 32, 0, stream>>>();
    CUDA(cudaGetLastError());
}

/* Says whether the work left is as wanted, and leaves none for the next test. */
static void left(cudaStream_t want, cudaStream_t stream, const char *what)
{
    const cudaStream_t got = simt_work_left(stream);
    tap_ok(got == want, "%s: %s", what, want ? "is left" : "nothing is left");
    CUDA(cudaDeviceSynchronize());
}

/* Makes `later` wait for what `earlier` has to do now. */
static void wait(cudaStream_t later, cudaStream_t earlier)
{
    cudaEvent_t event;
    CUDA(cudaEventCreate(&event));
    CUDA(cudaEventRecord(event, earlier));
    CUDA(cudaStreamWaitEvent(later, event));
    CUDA(cudaEventDestroy(event));
}

static void events(cudaStream_t a, cudaStream_t b, cudaStream_t c)
{
    left(NULL, a, "no work");
    work(a);
    left(NULL, a, "work of the stream itself");
    work(b);
    left(b, a, "work of another stream");
    work(b);
    wait(a, b);
    left(NULL, a, "an event is waited for");
    work(b);
    wait(b, a);
    left(b, a, "the other stream waits, not this one");
    work(b);
    wait(a, b);
    work(b);
    left(b, a, "work after the event");
    work(c);
    wait(b, c);
    wait(a, b);
    left(NULL, a, "an event after an event of a third stream");
    work(c);
    wait(a, b);
    wait(b, c);
    left(c, a, "the third stream's event came too late");

    cudaEvent_t event;
    CUDA(cudaEventCreate(&event));
    work(b);
    CUDA(cudaStreamWaitEvent(a, event));
    left(b, a, "an event that was never recorded");
    CUDA(cudaEventRecord(event, b));
    work(b);
    CUDA(cudaEventRecord(event, b));
    CUDA(cudaStreamWaitEvent(a, event));
    left(NULL, a, "an event that was recorded again");
    work(b);
    CUDA(cudaEventRecord(event, b));
    CUDA(cudaEventSynchronize(event));
    left(NULL, a, "the host waits for an event");
    work(b);
    CUDA(cudaEventSynchronize(event));
    left(b, a, "the host waits for an earlier event");
    CUDA(cudaEventDestroy(event));
}

static void host(cudaStream_t a, cudaStream_t b, cudaStream_t c)
{
    work(b);
    CUDA(cudaStreamSynchronize(b));
    left(NULL, a, "the host waits for the stream");
    work(b);
    CUDA(cudaStreamSynchronize(b));
    work(b);
    left(b, a, "work after the host has waited");
    work(b);
    CUDA(cudaStreamSynchronize(c));
    left(b, a, "the host waits for a third stream");
    work(b);
    wait(c, b);
    CUDA(cudaStreamSynchronize(c));
    left(NULL, a, "the host waits for a stream that waits");
    work(b);
    CUDA(cudaDeviceSynchronize());
    left(NULL, a, "the host waits for the device");
    cudaStream_t brief;
    CUDA(cudaStreamCreateWithFlags(&brief, cudaStreamNonBlocking));
    work(brief);
    CUDA(cudaStreamDestroy(brief));
    left(brief, a, "work of a stream that is destroyed");
    nothing_kernel<<<1, 32, 0, brief>>>();
    tap_ok(cudaGetLastError() == cudaErrorInvalidResourceHandle, "a launch on a destroyed stream");
    tap_ok(cudaStreamDestroy(brief) == cudaErrorInvalidResourceHandle && cudaGetLastError(),
           "a stream is destroyed once");
}

static void copies(cudaStream_t a, cudaStream_t b)
{
    char h = 0;
    CUDA(cudaMemsetAsync(d_byte, 0, 1, b));
    left(b, a, "cudaMemsetAsync");
    CUDA(cudaMemcpyAsync(d_byte, d_byte + 1, 1, cudaMemcpyDeviceToDevice, b));
    left(b, a, "cudaMemcpyAsync");
    CUDA(cudaMemsetAsync(d_byte, 0, 0, b));
    left(NULL, a, "cudaMemsetAsync of nothing");
    CUDA(cudaMemset(d_byte, 0, 1));
    left(cudaStreamLegacy, a, "cudaMemset");
    CUDA(cudaMemcpy(d_byte, d_byte + 1, 1, cudaMemcpyDeviceToDevice));
    left(cudaStreamLegacy, a, "cudaMemcpy within the device");
    CUDA(cudaMemcpy(&h, d_byte, 1, cudaMemcpyDeviceToHost));
    left(NULL, a, "cudaMemcpy to the host");
    work(b);
    CUDA(cudaMemcpy(&h, d_byte, 1, cudaMemcpyDeviceToHost));
    left(b, a, "cudaMemcpy to the host, which waits for no such stream");
}

/* The default stream and blocking ones wait for each other; `a` waits for neither. */
static void blocking(cudaStream_t a)
{
    cudaStream_t b, c;
    CUDA(cudaStreamCreate(&b));
    CUDA(cudaStreamCreate(&c));
    work(0);
    left(cudaStreamLegacy, a, "the default stream, for a non-blocking one");
    work(0);
    left(NULL, b, "the default stream, for a blocking one");
    work(b);
    left(NULL, 0, "a blocking stream, for the default one");
    work(b);
    left(b, c, "a blocking stream, for another one");
    work(b);
    work(0);
    left(NULL, c, "a blocking stream, for another one after the default one");
    work(0);
    work(b);
    wait(a, b);
    left(NULL, a, "the default stream, then a blocking one that is waited for");
    work(b);
    CUDA(cudaStreamSynchronize(0));
    left(NULL, a, "the host waits for the default stream, which waits for a blocking one");
    work(a);
    wait(b, a);
    left(NULL, 0, "a blocking stream that waits for a non-blocking one, for the default one");
    work(a);
    left(a, 0, "a non-blocking stream, for the default one");
    work(cudaStreamPerThread);
    left(cudaStreamPerThread, a, "the thread's default stream, for a non-blocking one");
    work(cudaStreamPerThread);
    left(NULL, 0, "the thread's default stream, for the default one");
    work(b);
    CUDA(cudaStreamDestroy(b));
    left(NULL, 0, "a blocking stream that is destroyed, for the default one");
    CUDA(cudaStreamDestroy(c));
}

int main(void)
{
    cudaStream_t stream[3];
    for (cudaStream_t &s : stream)
        CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&d_byte, 2));
    events(stream[0], stream[1], stream[2]);
    host(stream[0], stream[1], stream[2]);
    copies(stream[0], stream[1]);
    blocking(stream[0]);
    for (cudaStream_t s : stream)
        CUDA(cudaStreamDestroy(s));
    CUDA(cudaFree(d_byte));
    return tap_done();
}
