/*
 * streams.cu - work on two streams that use one array: what lab 71's products do with chunks that an exchange brings.
 * Kernels and copies run at once here, so each result is right; only racecheck sees that nobody waits.
 */
#include "planted.h"

#include "exchange/exchange.h"

static const int RACECHECK = INSTRUMENT_RACECHECK;

/* Two streams that the default stream knows nothing of, and an event between them. */
struct two_streams {
    cudaStream_t wire, work;
    cudaEvent_t there;

    two_streams()
    {
        CUDA(cudaStreamCreateWithFlags(&wire, cudaStreamNonBlocking));
        CUDA(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
        CUDA(cudaEventCreateWithFlags(&there, cudaEventDisableTiming));
    }
    ~two_streams()
    {
        cudaDeviceSynchronize();
        cudaStreamDestroy(wire);
        cudaStreamDestroy(work);
        cudaEventDestroy(there);
    }
    void wait(cudaStream_t who, cudaStream_t whom)
    {
        CUDA(cudaEventRecord(there, whom));
        CUDA(cudaStreamWaitEvent(who, there, 0));
    }
};

/* A product begins before its chunk of B has arrived. */
template <bool RIGHT> static __global__ void late_chunk_kernel(const float *B, float *C)
{
    const int i = threadIdx.x;
    HERE, C[i] = B[i];
}
template <bool RIGHT> static void late_chunk(void)
{
    two_streams s;
    float *home = named<float>("home", 128), *B = named<float>("B", 128);
    float *C = named<float>("C", 64);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpyAsync(B, home, 64 * sizeof(float), cudaMemcpyDeviceToDevice, s.wire));
    if (RIGHT) s.wait(s.work, s.wire);
    /* The second chunk is another range of the same array: nobody has to wait for it. */
    CUDA(cudaMemcpyAsync(B + 64, home + 64, 64 * sizeof(float), cudaMemcpyDeviceToDevice, s.wire));
    late_chunk_kernel<RIGHT><<<1, 64, 0, s.work>>>(B, C);
}

/* The same with an exchange: a rank's product without the wait of labs 70 and 71. */
template <bool RIGHT> static __global__ void ungathered_kernel(const float *B, float *C)
{
    HERE, C[threadIdx.x] = B[threadIdx.x];
}
template <bool RIGHT> static cudaError_t gather_and_multiply(exchange_rank *r, void *context)
{
    float *const *const d = (float **)context; /* the exchange, B at home, B gathered, C */
    exchange *const e = (exchange *)d[0];
    exchange_piece pieces[2];
    for (int q = 0; q < 2; q++)
        pieces[q] = {d[1] + 32 * q, 32 * sizeof(float), 32 * q * sizeof(float)};
    float *const whole = d[2] + 64 * r->rank;
    CUDA(e->kind->gather(e, r, pieces, whole));
    if (RIGHT) {
        CUDA(cudaEventRecord(r->idle[1], r->wire));
        CUDA(cudaStreamWaitEvent(r->work, r->idle[1], 0));
    }
    if (r->rank == 1) ungathered_kernel<RIGHT><<<1, 64, 0, r->work>>>(whole, d[3]);
    return cudaSuccess;
}
template <bool RIGHT> static void ungathered(void)
{
    exchange *e;
    cudaStream_t stream;
    CUDA(exchange_open_loopback(2, &e));
    CUDA(cudaStreamCreate(&stream));
    float *d[] = {(float *)e, named<float>("home", 64), named<float>("B", 128),
                  named<float>("C", 64)};
    CUDA(exchange_fork(e, stream));
    CUDA(e->kind->each(e, gather_and_multiply<RIGHT>, d));
    CUDA(exchange_join(e, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamDestroy(stream));
    exchange_close(e);
}

/* The wait is there, but the event was recorded before the copy. */
template <bool RIGHT> static __global__ void early_event_kernel(const float *B, float *C)
{
    HERE, C[threadIdx.x] = B[threadIdx.x];
}
template <bool RIGHT> static void early_event(void)
{
    two_streams s;
    float *home = named<float>("home", 32), *B = named<float>("B", 32), *C = named<float>("C", 32);
    CUDA(cudaDeviceSynchronize());
    if (!RIGHT) s.wait(s.work, s.wire);
    CUDA(cudaMemcpyAsync(B, home, 32 * sizeof(float), cudaMemcpyDeviceToDevice, s.wire));
    if (RIGHT) s.wait(s.work, s.wire);
    early_event_kernel<RIGHT><<<1, 32, 0, s.work>>>(B, C);
}

/* Two kernels write one array. */
template <bool RIGHT> static __global__ void both_write_kernel(float *C)
{
    HERE, C[threadIdx.x] = 1;
}
template <bool RIGHT> static void both_write(void)
{
    two_streams s;
    float *C = named<float>("C", 32);
    CUDA(cudaDeviceSynchronize());
    both_write_kernel<RIGHT><<<1, 32, 0, s.wire>>>(C);
    if (RIGHT) s.wait(s.work, s.wire);
    both_write_kernel<RIGHT><<<1, 32, 0, s.work>>>(C);
}

/* The next run's chunk overtakes the product that still reads this run's. */
template <bool RIGHT> static __global__ void overtaken_kernel(const float *B, float *C)
{
    C[threadIdx.x] = B[threadIdx.x];
}
template <bool RIGHT> static void overtaken(void)
{
    two_streams s;
    float *home = named<float>("home", 32), *B = named<float>("B", 32), *C = named<float>("C", 32);
    CUDA(cudaDeviceSynchronize());
    HERE, overtaken_kernel<RIGHT><<<1, 32, 0, s.work>>>(B, C);
    if (RIGHT) s.wait(s.wire, s.work);
    CUDA(cudaMemcpyAsync(B, home, 32 * sizeof(float), cudaMemcpyDeviceToDevice, s.wire));
}

/* Right in other ways: the host waits, or the streams are blocking ones. */
static __global__ void read_kernel(const float *B, float *C)
{
    C[threadIdx.x] = B[threadIdx.x];
}
static void other_waits(void)
{
    two_streams s;
    cudaStream_t blocking;
    float *home = named<float>("home", 32), *B = named<float>("B", 32), *C = named<float>("C", 32);
    CUDA(cudaStreamCreate(&blocking));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpyAsync(B, home, 32 * sizeof(float), cudaMemcpyDeviceToDevice, s.wire));
    CUDA(cudaStreamSynchronize(s.wire));
    read_kernel<<<1, 32, 0, s.work>>>(B, C);
    CUDA(cudaDeviceSynchronize());
    read_kernel<<<1, 32>>>(C, B);
    read_kernel<<<1, 32, 0, blocking>>>(B, C);
    CUDA(cudaMemset(B, 0, 32 * sizeof(float)));
    cudaStreamDestroy(blocking);
}

void plant_streams(void)
{
    BUG(late_chunk, RACECHECK, "missing stream wait", "reads B[0], which a copy on another stream",
        {0, 0, 0}, {0, 0, 0});
    BUG(ungathered, RACECHECK, "missing stream wait", "reads B[64], which a copy on another stream",
        {0, 0, 0}, {0, 0, 0});
    BUG(early_event, RACECHECK, "missing stream wait", "reads B[0], which a copy on another stream",
        {0, 0, 0}, {0, 0, 0});
    BUG(both_write, RACECHECK, "missing stream wait",
        "writes C[0], which both_write_kernel<false> on another stream writes", {0, 0, 0},
        {0, 0, 0});
    BUG(overtaken, RACECHECK, "missing stream wait", "a copy on another stream writes what it uses",
        {0, 0, 0}, {0, 0, 0}, true);
    CLEAN(other_waits);
}
