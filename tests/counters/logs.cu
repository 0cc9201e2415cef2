/*
 * logs.cu - lanes that do very much, or that wait for each other. What a lane has done is kept in a
 * log of limited length. So some lanes have to be stopped in the middle here, and the others have
 * to catch up. The counts must not show it.
 */
#include "tests/counters/expect.h"

#define LAUNCH(KERNEL, BLOCKS, THREADS, ARGUMENTS) KERNEL<<<BLOCKS, THREADS>>> ARGUMENTS

/* Lane l goes round `trip[l]` times; then all meet. */
__global__ void long_loop(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x];
    float a = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        a += x[i % 64 * 32 + threadIdx.x];
    y[threadIdx.x] = a;
}

/* All go round a second loop 1000 times, together: those that are there early have to wait, far
 * longer than their logs have room for what they would do next. */
__global__ void long_loop_then_another(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x];
    float a = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        a += x[i % 64 * 32 + threadIdx.x];
#pragma unroll 1
    for (int i = 0; i < 1000; i++)
        a += x[i % 64 * 32 + threadIdx.x];
    y[threadIdx.x] = a;
}

/* A long loop in two warps that have to meet, with a warp more that only waits. */
__global__ void long_block(const int *trip, const float *x, float *y)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float a = 0;
    if (warp < 2) {
        const int n = trip[31 - lane] / (warp + 1);
#pragma unroll 1
        for (int i = 0; i < n; i++)
            a += x[i % 64 * 32 + lane];
    }
    __syncthreads();
    y[threadIdx.x] = a;
}

/* Lane 0 waits for what lane 1 does after its own loop; how often it asks is not ours to say, but
 * it says so itself. */
__global__ void wait_for_another_lane(int *flag, const float *x, float *y, int *asked)
{
    if (threadIdx.x == 0) {
        int times = 1;
        while (atomicAdd(flag, 0) == 0)
            times++;
        *asked = times;
    } else if (threadIdx.x == 1) {
        float a = 0;
#pragma unroll 1
        for (int i = 0; i < 2000; i++)
            a += x[i % 64 * 32];
        y[1] = a;
        atomicExch(flag, 1);
    }
    __syncwarp();
    y[32 + threadIdx.x] = 1;
}

/* The same with a plain read, across warps. */
__global__ void wait_for_another_warp(volatile int *flag, int *asked)
{
    if (threadIdx.x == 0) {
        int times = 1;
        while (*flag == 0)
            times++;
        *asked = times;
    }
    if (threadIdx.x == 32) *flag = 1;
}

/* If `fail`, the first lanes wait for others that never come, in the middle of it all. */
__global__ void maybe_abandoned(const float *x, float *y, int fail)
{
    const int lane = threadIdx.x % 32;
    float a = 0;
#pragma unroll 1
    for (int i = 0; i < 3 * lane; i++)
        a += x[i % 64 * 32 + lane];
    if (fail && lane < 16)
        __syncwarp();
    else
        __syncthreads();
    y[threadIdx.x] = a;
}

static int trip[32];
static expectation loop(int then)
{
    expectation e;
    e.load(ALL_LANES, [](int lane) { return lane; });
    for (int i = 0;; i++) {
        const uint32_t in = lanes_where([=](int lane) { return i < trip[lane]; });
        if (!in) break;
        e.load(in, [](int lane) { return lane; });
    }
    for (int i = 0; i < then; i++)
        e.load(ALL_LANES, [](int lane) { return lane; });
    e.store(ALL_LANES, [](int lane) { return lane; });
    return e;
}
static expectation block(void)
{
    expectation e;
    for (int warp = 0; warp < 3; warp++) {
        if (warp < 2) e.load(ALL_LANES, [](int lane) { return 31 - lane; });
        for (int i = 0; warp < 2; i++) {
            const uint32_t in =
                lanes_where([=](int lane) { return i < trip[31 - lane] / (warp + 1); });
            if (!in) break;
            e.load(in, [](int lane) { return lane; });
        }
        e.store(ALL_LANES, [](int lane) { return lane; });
    }
    e.operation(OP_BARRIER, 3);
    return e;
}

/* A launch that was abandoned has no counts, and the next one has its own. */
static void after_an_abandoned_launch(void)
{
    const kernel_profile *all;
    counting_begins();
    maybe_abandoned<<<3, 64>>>(device_zeros<float>(64 * 32), device_zeros<float>(64), 1);
    const bool failed = cudaDeviceSynchronize() != cudaSuccess;
    instruments_here()->end();
    check(failed && instruments_here()->profiles(&all) == 0, "an abandoned launch has no counts");
    CUDA(cudaDeviceReset());

    expectation e;
    for (int warp = 0; warp < 6; warp++) {
        for (int i = 0; i < 3 * 31; i++)
            e.load(lanes_where([=](int lane) { return i < 3 * lane; }),
                   [](int lane) { return lane; });
        e.store(ALL_LANES, [](int lane) { return lane; });
    }
    e.operation(OP_BARRIER, 6);
    float *x = device_zeros<float>(64 * 32), *y = device_zeros<float>(64);
    EXPECT(maybe_abandoned, 3, 64, (x, y, 0), e);
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
}

void long_logs(void)
{
    float *x = device_zeros<float>(64 * 32), *y = device_zeros<float>(96);
    /* One lane beyond all others; some that fill their logs exactly; some that do nothing. */
    for (int lane = 0; lane < 32; lane++)
        trip[lane] = lane == 11      ? 120000
                     : lane % 4 == 0 ? 0
                     : lane % 4 == 1 ? 254 + lane
                                     : 900 * lane;
    int *t = to_device(trip, 32), *flag = device_zeros<int>(1), *asked = device_zeros<int>(1);
    EXPECT(long_loop, 1, 32, (t, x, y), loop(0));
    EXPECT(long_loop_then_another, 1, 32, (t, x, y), loop(1000));
    EXPECT(long_block, 1, 96, (t, x, y), block());

    int times = 0;
    counting_begins();
    wait_for_another_lane<<<1, 32>>>(flag, x, y, asked);
    counting_ends();
    to_host(&times, asked, 1);
    expectation e;
    for (int i = 0; i < times; i++)
        e.access(GLOBAL_ATOMIC, 4, 1, [](int) { return 0; });
    e.access(GLOBAL_ATOMIC, 4, 2, [](int) { return 0; });
    for (int i = 0; i < 2000; i++)
        e.load(2, [](int) { return 0; });
    e.store(1, [](int) { return 0; });
    e.store(2, [](int) { return 1; });
    e.operation(OP_SYNCWARP);
    e.store(ALL_LANES, [](int lane) { return lane; });
    check(times > 1, "a lane asked %d times before another one answered", times);
    expect("wait_for_another_lane", 1, 32, e);

    CUDA(cudaMemset(flag, 0, sizeof *flag));
    asked = device_zeros<int>(1);
    counting_begins();
    wait_for_another_warp<<<1, 64>>>(flag, asked);
    counting_ends();
    to_host(&times, asked, 1);
    e = {};
    for (int i = 0; i < times; i++)
        e.load(1, [](int) { return 0; });
    e.store(1, [](int) { return 0; });
    e.store(1, [](int) { return 0; });
    check(times > 1, "a lane asked %d times before another warp answered", times);
    expect("wait_for_another_warp", 1, 64, e);
    for (void *p : {(void *)t, (void *)x, (void *)y, (void *)flag})
        CUDA(cudaFree(p));
    after_an_abandoned_launch();
}
