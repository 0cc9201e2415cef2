/*
 * branches.cu - divergence, continued: branches, functions, and the places where all lanes meet.
 */
#include "tests/counters/divergence.h"

#include "device/warp.cuh"

#define LAUNCH(KERNEL, BLOCKS, THREADS, ARGUMENTS) KERNEL<<<BLOCKS, THREADS>>> ARGUMENTS

/* ---- branches -------------------------------------------------------------------------------- */

__global__ void simt_two_sides(const int *trip, const float *x, float *y)
{
    float a;
    if (trip[threadIdx.x] & 1)
        a = x[threadIdx.x] * x[threadIdx.x + 32];
    else
        a = x[threadIdx.x + 64];
    y[threadIdx.x] = a + x[threadIdx.x + 96];
}
static expectation two_sides(void)
{
    expectation e;
    const uint32_t odd = lanes_where([](int lane) { return trip[lane] & 1; });
    e.load(ALL_LANES, row(0));
    e.load(odd, row(0));
    e.load(odd, row(32));
    e.load(~odd, row(64));
    e.load(ALL_LANES, row(96));
    e.store(ALL_LANES, row(0));
    return e;
}

/* A loop on each side. */
__global__ void simt_loop_on_each_side(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x];
    float a = 0;
    if (n & 1) {
#pragma unroll 1
        for (int i = 0; i < n; i++)
            a += x[i * 32 + threadIdx.x];
    } else {
#pragma unroll 1
        for (int i = n; i > 0; i--)
            a -= x[i * 32 + threadIdx.x];
        y[threadIdx.x + 32] = a;
    }
    y[threadIdx.x] = a;
}
static expectation loop_on_each_side(void)
{
    expectation e;
    const uint32_t odd = lanes_where([](int lane) { return trip[lane] & 1; });
    e.load(ALL_LANES, row(0));
    for (int i = 0; i < MOST; i++) {
        const uint32_t in = still_going(i, trip);
        e.load(in & odd, row(i * 32));
        e.load(in & ~odd, [=](int lane) { return (trip[lane] - i) * 32 + lane; });
    }
    e.store(~odd, row(32));
    e.store(ALL_LANES, row(0));
    return e;
}

/* && and || ask no further than they have to. */
__global__ void simt_short_circuit(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x];
    if (n > 5 && x[threadIdx.x] > 0 && x[threadIdx.x + 32] > 0) y[threadIdx.x] = 1;
    if (n < 3 || x[threadIdx.x + 64] > 0 || x[threadIdx.x + 96] > 0) y[threadIdx.x + 32] = 2;
    y[threadIdx.x + 64] = 3;
}
static expectation short_circuit(void)
{
    expectation e;
    const auto positive = [](int base) {
        return lanes_where([=](int lane) { return value[base + lane] > 0; });
    };
    uint32_t in = lanes_where([](int lane) { return trip[lane] > 5; });
    e.load(ALL_LANES, row(0));
    e.load(in, row(0));
    e.load(in &= positive(0), row(32));
    e.store(in & positive(32), row(0));
    uint32_t out = lanes_where([](int lane) { return trip[lane] >= 3; });
    e.load(out, row(64));
    e.load(out &= ~positive(64), row(96));
    e.store(~(out & ~positive(96)), row(32));
    e.store(ALL_LANES, row(64));
    return e;
}

/* Cases that end, one that falls through into the next, and the rest. */
__global__ void simt_switch(const int *trip, const float *x, float *y)
{
    float a = 0;
    switch (trip[threadIdx.x] % 6) {
    case 0:
        a = x[threadIdx.x];
        break;
    case 1:
        a = x[threadIdx.x + 32] * 2;
        y[threadIdx.x + 32] = a;
        break;
    case 2:
        a = x[threadIdx.x + 64] + 1;
        [[fallthrough]];
    case 3:
        a += x[threadIdx.x + 96] * 3;
        break;
    default:
        a = x[threadIdx.x + 128] - x[threadIdx.x + 160];
    }
    y[threadIdx.x] = a;
}
static expectation of_switch(void)
{
    expectation e;
    const auto with = [](int least, int most) {
        return lanes_where([=](int lane) {
            const int c = trip[lane] % 6;
            return c >= least && c <= most;
        });
    };
    e.load(ALL_LANES, row(0));
    e.load(with(0, 0), row(0));
    e.load(with(1, 1), row(32));
    e.store(with(1, 1), row(32));
    e.load(with(2, 2), row(64));
    e.load(with(2, 3), row(96)); /* those of case 2 wait for case 3: all ways lead through it */
    e.load(with(4, 5), row(128));
    e.load(with(4, 5), row(160));
    e.store(ALL_LANES, row(0));
    return e;
}

__global__ void simt_nested_choices(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x];
    const float a = n > 12  ? x[threadIdx.x] * x[threadIdx.x + 32]
                    : n > 6 ? (n & 1 ? x[threadIdx.x + 64] : 1 / x[threadIdx.x + 96])
                            : 4.0f;
    y[threadIdx.x] = a;
}
static expectation nested_choices(void)
{
    expectation e;
    const uint32_t high = lanes_where([](int lane) { return trip[lane] > 12; });
    const uint32_t middle = ~high & lanes_where([](int lane) { return trip[lane] > 6; });
    const uint32_t odd = lanes_where([](int lane) { return trip[lane] & 1; });
    e.load(ALL_LANES, row(0));
    e.load(high, row(0));
    e.load(high, row(32));
    e.load(middle & odd, row(64));
    e.load(middle & ~odd, row(96));
    e.store(ALL_LANES, row(0));
    return e;
}

/* All of it in a loop: each lane has a state of its own, one way out skips the part in common. */
__global__ void simt_machine(const int *trip, const float *x, float *y)
{
    int state = trip[threadIdx.x] % 3;
    float a = 0;
#pragma unroll 1
    for (int i = 0; i < 12; i++) {
        const int n = trip[i * 32 + threadIdx.x + 32];
        switch (state) {
        case 0:
            a += x[i * 32 + threadIdx.x];
            state = n % 3;
            break;
        case 1:
            if (n & 1) {
                y[i * 32 + threadIdx.x] = a;
                state = 2;
                continue;
            }
            a *= x[n * 32 + threadIdx.x];
            break;
        default:
#pragma unroll 1
            for (int j = 0; j < n % 4; j++)
                a -= x[j * 32 + threadIdx.x];
            state = n % 2;
        }
        y[threadIdx.x] = a;
    }
    y[threadIdx.x + 32] = a;
}
static expectation machine(void)
{
    expectation e;
    int state[32];
    for (int lane = 0; lane < 32; lane++)
        state[lane] = trip[lane] % 3;
    e.load(ALL_LANES, row(0));
    for (int i = 0; i < 12; i++) {
        const int *n = trip + (i + 1) * 32;
        const uint32_t odd = lanes_where([=](int lane) { return n[lane] & 1; });
        uint32_t in[3];
        for (int s = 0; s < 3; s++)
            in[s] = lanes_where([&](int lane) { return state[lane] == s; });
        e.load(ALL_LANES, row(i * 32));
        e.load(in[0], row(i * 32));
        e.store(in[1] & odd, row(i * 32));
        e.load(in[1] & ~odd, [=](int lane) { return n[lane] * 32 + lane; });
        for (int j = 0; j < 3; j++)
            e.load(in[2] & lanes_where([=](int lane) { return j < n[lane] % 4; }), row(j * 32));
        e.store(~(in[1] & odd), row(0));
        for (int lane = 0; lane < 32; lane++)
            state[lane] = state[lane] == 0   ? n[lane] % 3
                          : state[lane] == 2 ? n[lane] % 2
                          : n[lane] & 1      ? 2
                                             : 1;
    }
    e.store(ALL_LANES, row(32));
    return e;
}

/* ---- functions ------------------------------------------------------------------------------- */

__device__ __noinline__ float sum_of(const float *x, int n)
{
    float a = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        a += x[i * 32];
    return a;
}

/* Called by some lanes, then by all. */
__global__ void simt_call(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x];
    float a = 0;
    if (n % 2) a += sum_of(x + threadIdx.x, n);
    a += sum_of(x + threadIdx.x, 3);
    y[threadIdx.x] = a + x[threadIdx.x];
}
static expectation call(void)
{
    expectation e;
    const uint32_t odd = lanes_where([](int lane) { return trip[lane] % 2; });
    e.load(ALL_LANES, row(0));
    for (int i = 0; i < MOST; i++)
        e.load(odd & still_going(i, trip), row(i * 32));
    for (int i = 0; i < 3; i++)
        e.load(ALL_LANES, row(i * 32));
    e.load(ALL_LANES, row(0));
    e.store(ALL_LANES, row(0));
    return e;
}

/* Both sides call it, one of them through another function: these are not the same call. */
__device__ __noinline__ float twice_the_sum(const float *x, int n)
{
    return 2 * sum_of(x, n) + x[0];
}
__global__ void simt_call_on_each_side(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x];
    float a;
    if (n % 2)
        a = sum_of(x + threadIdx.x, n);
    else
        a = twice_the_sum(x + threadIdx.x, n);
    y[threadIdx.x] = a;
}
static expectation call_on_each_side(void)
{
    expectation e;
    const uint32_t odd = lanes_where([](int lane) { return trip[lane] % 2; });
    e.load(ALL_LANES, row(0));
    for (int i = 0; i < MOST; i++) {
        const uint32_t in = still_going(i, trip);
        e.load(in & odd, row(i * 32));
        e.load(in & ~odd, row(i * 32));
    }
    e.load(~odd, row(0));
    e.store(ALL_LANES, row(0));
    return e;
}

/* Called in a loop, with returns from its middle: lanes that have returned wait in the caller. */
__device__ __noinline__ float first_negative(const float *x, int n)
{
    if (n == 0) return 1;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        if (x[i * 32] < 0) return x[i * 32 + 1];
    return 0;
}
__global__ void simt_call_in_a_loop(const int *trip, const float *x, float *y)
{
    float a = 0;
#pragma unroll 1
    for (int o = 0; o < 6; o++)
        a += first_negative(x + threadIdx.x, trip[o * 32 + threadIdx.x]);
    y[threadIdx.x] = a;
}
static expectation call_in_a_loop(void)
{
    expectation e;
    for (int o = 0; o < 6; o++) {
        e.load(ALL_LANES, row(o * 32));
        uint32_t in = ALL_LANES;
        for (int i = 0; i < MOST; i++) {
            in &= still_going(i, trip + o * 32);
            const uint32_t found =
                in & lanes_where([=](int lane) { return value[i * 32 + lane] < 0; });
            e.load(in, row(i * 32));
            e.load(found, row(i * 32 + 1));
            in &= ~found;
        }
    }
    e.store(ALL_LANES, row(0));
    return e;
}

/* Arrays by reference: the local memory they live in is nobody's request. */
template <int N> __device__ __forceinline__ void load_rows(float (&a)[N], const float *x)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        a[i] = x[i * 32];
}
template <int N> __device__ __noinline__ void scale(float (&a)[N], const float *by, int n)
{
    for (int i = 0; i < n; i++)
        a[i % N] *= by[i];
}
__global__ void simt_arrays_by_reference(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x];
    float a[4], b[4];
    load_rows(a, x + threadIdx.x);
    if (n > 9) {
        load_rows(b, x + threadIdx.x + 128);
        scale(b, x, 5);
        a[n % 4] += b[1];
    }
    y[threadIdx.x] = a[0] + a[1] * a[2] - a[3];
}
static expectation arrays_by_reference(void)
{
    expectation e;
    const uint32_t some = lanes_where([](int lane) { return trip[lane] > 9; });
    e.load(ALL_LANES, row(0));
    for (int i = 0; i < 4; i++) {
        e.load(ALL_LANES, row(i * 32));
        e.load(some, row(128 + i * 32));
    }
    for (int i = 0; i < 5; i++)
        e.load(some, [=](int) { return i; });
    e.store(ALL_LANES, row(0));
    return e;
}

/* ---- templates ------------------------------------------------------------------------------- */

/* V elements a thread, 64 threads a block; the last are past the end. */
template <int V> __device__ __forceinline__ void copy_with_tail(const float *x, float *y, int n)
{
    const int first = blockIdx.x * 64 * V + threadIdx.x;
#pragma unroll
    for (int v = 0; v < V; v++)
        if (first + v * 64 < n) y[first + v * 64] = x[first + v * 64] + 1;
}
template <int V> __global__ void simt_tail(const float *x, float *y, int n)
{
    copy_with_tail<V>(x, y, n);
}
static expectation tail(int v, int blocks, int n)
{
    expectation e;
    for (int warp = 0; warp < 2 * blocks; warp++)
        for (int i = 0; i < v; i++) {
            const int first = warp / 2 * 64 * v + i * 64 + warp % 2 * 32;
            const uint32_t in = lanes_where([=](int lane) { return first + lane < n; });
            e.load(in, row(first));
            e.store(in, row(first));
        }
    return e;
}

/* ---- apart, then together -------------------------------------------------------------------- */

/* Each of them finds the whole warp, whatever its lanes did before; and so do the loads after
 * it. */
__global__ void simt_meet_at_syncwarp(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x];
    float a = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        a += x[i * 32 + threadIdx.x];
    __syncwarp();
    if (n & 1) a += x[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = a;
}
__global__ void simt_meet_at_shuffle(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x];
    float a = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        a += x[i * 32 + threadIdx.x];
    a = warp_sum(a);
    if (n & 1) a += x[threadIdx.x];
    a += __shfl_xor_sync(FULL_MASK, a, 1);
    y[threadIdx.x] = a;
}
__global__ void simt_meet_at_barrier(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x % 32];
    float a = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        a += x[i * 32 + threadIdx.x % 32];
    __syncthreads();
    if (n & 1) a += x[threadIdx.x % 32];
    __syncthreads();
    y[threadIdx.x] = a;
}
static expectation meet(int warps, warp_operation what, int times)
{
    expectation e;
    const uint32_t odd = lanes_where([](int lane) { return trip[lane] & 1; });
    for (int warp = 0; warp < warps; warp++) {
        e.load(ALL_LANES, row(0));
        for (int i = 0; i < MOST; i++)
            e.load(still_going(i, trip), row(i * 32));
        e.load(odd, row(0));
        e.store(ALL_LANES, row(warp * 32));
        e.operation(what, times);
    }
    return e;
}

/* Warps of a block that come to its barriers at different times, in every round. */
__global__ void simt_rounds_of_a_block(const int *trip, const float *x, float *y)
{
    __shared__ __align__(128) float sum[96];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int o = 0; o < 5; o++) {
        const int n = trip[(3 * o + warp) * 32 + lane];
        float a = 0;
#pragma unroll 1
        for (int i = 0; i < n; i++)
            a += x[i * 32 + lane];
        sum[threadIdx.x] = a;
        __syncthreads();
        if (warp == o % 3) y[o * 32 + lane] = sum[(threadIdx.x + 32) % 96];
        __syncthreads();
    }
}
static expectation rounds_of_a_block(void)
{
    expectation e;
    for (int warp = 0; warp < 3; warp++)
        for (int o = 0; o < 5; o++) {
            const int *n = trip + (3 * o + warp) * 32;
            e.load(ALL_LANES, row((3 * o + warp) * 32));
            for (int i = 0; i < MOST; i++)
                e.load(still_going(i, n), row(i * 32));
            e.access(SHARED_STORE, 4, ALL_LANES, [](int lane) { return 4 * lane; });
            if (warp == o % 3) {
                e.access(SHARED_LOAD, 4, ALL_LANES, [](int lane) { return 4 * lane; });
                e.store(ALL_LANES, row(o * 32));
            }
            e.operation(OP_BARRIER, 2);
        }
    return e;
}

/* Blocks of other shapes: threads 0 .. 49 as 10 x 5 are a warp and 18 lanes of another. */
__global__ void simt_flat_block(const float *x, float *y)
{
    const int t = threadIdx.x;
    if (t % 2) y[t] = x[t];
}
__global__ void simt_deep_block(const float *x, float *y)
{
    const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    if (t % 2) y[t] = x[t];
}
static expectation block_of_50(void)
{
    expectation e;
    const uint32_t odd = 0xaaaaaaaau;
    e.load(odd, row(0));
    e.store(odd, row(0));
    e.load(odd & 0x3ffffu, row(32));
    e.store(odd & 0x3ffffu, row(32));
    return e;
}

/* ---- all of them ----------------------------------------------------------------------------- */

void branches(const int *t, const float *x, float *y)
{
    EXPECT(simt_two_sides, 1, 32, (t, x, y), two_sides());
    EXPECT(simt_loop_on_each_side, 1, 32, (t, x, y), loop_on_each_side());
    EXPECT(simt_short_circuit, 1, 32, (t, x, y), short_circuit());
    EXPECT(simt_switch, 1, 32, (t, x, y), of_switch());
    EXPECT(simt_machine, 1, 32, (t, x, y), machine());
    EXPECT(simt_nested_choices, 1, 32, (t, x, y), nested_choices());

    EXPECT(simt_call, 1, 32, (t, x, y), call());
    EXPECT(simt_call_on_each_side, 1, 32, (t, x, y), call_on_each_side());
    EXPECT(simt_call_in_a_loop, 1, 32, (t, x, y), call_in_a_loop());
    EXPECT(simt_arrays_by_reference, 1, 32, (t, x, y), arrays_by_reference());
    EXPECT(simt_tail<1>, 4, 64, (x, y, 250), tail(1, 4, 250));
    EXPECT(simt_tail<4>, 2, 64, (x, y, 300), tail(4, 2, 300));

    EXPECT(simt_meet_at_syncwarp, 1, 32, (t, x, y), meet(1, OP_SYNCWARP, 2));
    EXPECT(simt_meet_at_shuffle, 1, 32, (t, x, y), meet(1, OP_SHUFFLE, 6));
    EXPECT(simt_meet_at_barrier, 1, 64, (t, x, y), meet(2, OP_BARRIER, 2));
    EXPECT(simt_rounds_of_a_block, 1, 96, (t, x, y), rounds_of_a_block());
    EXPECT(simt_flat_block, 1, 50, (x, y), block_of_50());
    counting_begins();
    simt_deep_block<<<1, dim3(5, 5, 2)>>>(x, y);
    counting_ends();
    expect("simt_deep_block", 1, 50, block_of_50());
}
