/*
 * divergence.cu - which lanes of a warp are counted together when they take different ways. A GPU
 * splits the warp at a branch. It joins the warp at the first place that all of its ways lead to
 * (the branch's immediate post-dominator). The host code beside each kernel walks through it the
 * same way, with a set of lanes in place of a lane.
 */
#include "tests/counters/divergence.h"

#include "device/warp.cuh"
#include <algorithm>

#define LAUNCH(KERNEL, BLOCKS, THREADS, ARGUMENTS) KERNEL<<<BLOCKS, THREADS>>> ARGUMENTS

int trip[TRIPS];
float value[VALUES];

/* ---- loops ----------------------------------------------------------------------------------- */

/* Trip counts that differ by lane, inside a loop that all lanes go round together. */
__global__ void simt_nested(const int *trip, const float *x, float *y)
{
    float a = 0;
    for (int o = 0; o < ROUNDS; o++) {
        const int n = trip[o * 32 + threadIdx.x];
#pragma unroll 1
        for (int i = 0; i < n; i++)
            a += x[i * 32 + threadIdx.x];
    }
    y[threadIdx.x] = a;
}
static expectation nested(void)
{
    expectation e;
    for (int o = 0; o < ROUNDS; o++) {
        const int *n = trip + o * 32;
        e.load(ALL_LANES, row(o * 32));
        for (int i = 0; i < MOST; i++)
            e.load(still_going(i, n), row(i * 32));
    }
    e.store(ALL_LANES, row(0));
    return e;
}

/* Three deep, where the middle loop's trips differ too. */
__global__ void simt_nested_3_deep(const int *trip, const float *x, float *y)
{
    float a = 0;
    for (int o = 0; o < 4; o++) {
        const int n = trip[o * 32 + threadIdx.x] % 5;
        for (int m = 0; m < n; m++) {
            const int k = trip[(o + m + 1) * 32 + threadIdx.x];
#pragma unroll 1
            for (int i = 0; i < k; i++)
                a += x[i * 32 + threadIdx.x];
            y[m * 32 + threadIdx.x] = a;
        }
    }
}
static expectation nested_3_deep(void)
{
    expectation e;
    for (int o = 0; o < 4; o++) {
        e.load(ALL_LANES, row(o * 32));
        for (int m = 0; m < 5; m++) {
            const uint32_t in = lanes_where([=](int lane) { return m < trip[o * 32 + lane] % 5; });
            const int *k = trip + (o + m + 1) * 32;
            e.load(in, row((o + m + 1) * 32));
            for (int i = 0; i < MOST; i++)
                e.load(in & still_going(i, k), row(i * 32));
            e.store(in, row(m * 32));
        }
    }
    return e;
}

/* A row of a sparse matrix for each lane: the lanes leave one by one, and go on together. */
__global__ void simt_leave_and_meet(const int *trip, const float *x, float *y)
{
    const int begin = trip[threadIdx.x], end = begin + trip[threadIdx.x + 32];
    float a = 0;
#pragma unroll 1
    for (int k = begin; k < end; k++)
        a += x[k];
    y[threadIdx.x] = a;
    y[threadIdx.x + 32] = x[threadIdx.x + 64] * a;
}
static expectation leave_and_meet(void)
{
    expectation e;
    e.load(ALL_LANES, row(0));
    e.load(ALL_LANES, row(32));
    for (int i = 0; i < MOST; i++)
        e.load(still_going(i, trip + 32), [=](int lane) { return trip[lane] + i; });
    e.store(ALL_LANES, row(0));
    e.load(ALL_LANES, row(64));
    e.store(ALL_LANES, row(32));
    return e;
}

__global__ void simt_do_while(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x];
    float a = 0;
    int i = 0;
#pragma unroll 1
    do {
        a += x[i * 32 + threadIdx.x];
        i++;
    } while (i < n);
    y[threadIdx.x] = a;
}
static expectation do_while(void)
{
    expectation e;
    e.load(ALL_LANES, row(0));
    e.load(ALL_LANES, row(0));
    for (int i = 1; i < MOST; i++)
        e.load(still_going(i, trip), row(i * 32));
    e.store(ALL_LANES, row(0));
    return e;
}

/* The merge of a merge-path kernel: a loop that moves on by one of two steps. */
__global__ void simt_while_while(const int *trip, const float *x, float *y)
{
    int i = 0, k = 0;
    float a = 0;
    while (i < ROUNDS) {
        const int n = trip[i * 32 + threadIdx.x];
#pragma unroll 1
        while (k < n) {
            a += x[k * 32 + threadIdx.x];
            k++;
        }
        if (k & 1) y[threadIdx.x] = a;
        k = 0;
        i++;
    }
}
static expectation while_while(void)
{
    expectation e;
    for (int o = 0; o < ROUNDS; o++) {
        const int *n = trip + o * 32;
        e.load(ALL_LANES, row(o * 32));
        for (int i = 0; i < MOST; i++)
            e.load(still_going(i, n), row(i * 32));
        e.store(lanes_where([=](int lane) { return n[lane] & 1; }), row(0));
    }
    return e;
}

/* A warp a row, 32 elements at a time: rows of 0 .. 99 elements; 5 warps a block, the last rows are
 * missing. */
const int ROWS = 52;
__global__ void simt_warp_a_row(const int *offset, const float *x, float *y)
{
    const int lane = threadIdx.x % 32, r = blockIdx.x * 5 + threadIdx.x / 32;
    if (r >= ROWS) return;
    const int begin = offset[r], end = offset[r + 1];
    float a = 0;
#pragma unroll 1
    for (int k = begin + lane; k < end; k += 32)
        a += x[k];
    a = warp_sum(a);
    if (lane == 0) y[r] = a;
}
static int row_offset[ROWS + 1];
static expectation warp_a_row(void)
{
    expectation e;
    for (int r = 0; r < ROWS; r++) {
        const int begin = row_offset[r], end = row_offset[r + 1];
        e.load(ALL_LANES, [=](int) { return r; });
        e.load(ALL_LANES, [=](int) { return r + 1; });
        for (int k = begin; k < end; k += 32)
            e.load(lanes_where([=](int lane) { return k + lane < end; }), row(k));
        e.operation(OP_SHUFFLE, 5);
        e.store(1, [=](int) { return r; });
    }
    return e;
}

/* A loop that is gone round once at most: by `count` lanes of each warp. */
__global__ void simt_at_most_once(const int *counts, const float *x, float *y)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, count = counts[warp];
    float a = 0;
    for (int k = lane; k < count; k += 32)
        a += x[warp * 32 + k];
    y[threadIdx.x] = a + x[threadIdx.x];
    for (int k = lane; k < count; k += 32)
        y[warp * 32 + k] = a;
    y[threadIdx.x + 1024] = a;
}
static expectation at_most_once(const int *counts)
{
    expectation e;
    for (int warp = 0; warp < 8; warp++) {
        const uint32_t some = lanes_where([=](int lane) { return lane < counts[warp]; });
        e.load(ALL_LANES, [=](int) { return warp; });
        e.load(some, row(warp * 32));
        e.load(ALL_LANES, row(warp * 32));
        e.store(ALL_LANES, row(warp * 32));
        e.store(some, row(warp * 32));
        e.store(ALL_LANES, row(warp * 32));
    }
    return e;
}

/* Each lane halves its own interval; 100 keys, so 6 or 7 rounds. */
const int KEYS = 100;
__global__ void simt_binary_search(const float *wanted, const float *keys, int *place)
{
    const float w = wanted[threadIdx.x];
    int low = 0, high = KEYS;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (keys[middle] < w)
            low = middle + 1;
        else
            high = middle;
    }
    place[threadIdx.x] = low;
}
static expectation binary_search(const float *wanted, const float *keys)
{
    expectation e;
    int low[32] = {}, high[32];
    std::fill(high, high + 32, KEYS);
    e.load(ALL_LANES, row(0));
    for (;;) {
        const uint32_t going = lanes_where([&](int lane) { return low[lane] < high[lane]; });
        if (!going) break;
        e.load(going, [&](int lane) { return (low[lane] + high[lane]) / 2; });
        for (int lane = 0; lane < 32; lane++) {
            if (!(going >> lane & 1)) continue;
            const int middle = (low[lane] + high[lane]) / 2;
            if (keys[middle] < wanted[lane])
                low[lane] = middle + 1;
            else
                high[lane] = middle;
        }
    }
    e.store(ALL_LANES, row(0));
    return e;
}

/* ---- leaving loops --------------------------------------------------------------------------- */

__global__ void simt_continue_and_break(const int *trip, const float *x, float *y)
{
    float a = 0;
#pragma unroll 1
    for (int i = 0; i < 24; i++) {
        const int s = trip[(threadIdx.x * 7 + i) % 32];
        if (s % 3 == 0) continue;
        a += x[i * 32 + threadIdx.x];
        if (s % 11 == 5 && i > 8) break;
    }
    y[threadIdx.x] = a + x[threadIdx.x];
}
static expectation continue_and_break(void)
{
    expectation e;
    uint32_t in = ALL_LANES;
    for (int i = 0; i < 24; i++) {
        const auto s = [=](int lane) { return trip[(lane * 7 + i) % 32]; };
        e.load(in, [=](int lane) { return (lane * 7 + i) % 32; });
        const uint32_t on = in & lanes_where([=](int lane) { return s(lane) % 3 != 0; });
        e.load(on, row(i * 32));
        in &= ~(on & lanes_where([=](int lane) { return s(lane) % 11 == 5 && i > 8; }));
    }
    e.load(ALL_LANES, row(0));
    e.store(ALL_LANES, row(0));
    return e;
}

/* Some lanes have nothing to do; others return out of the middle of the loop. */
__global__ void simt_early_return(const int *trip, const float *x, float *y)
{
    const int n = trip[threadIdx.x];
    float a = 0;
    if (n % 3 == 0) return;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        if (x[i * 32 + threadIdx.x] < 0) {
            y[threadIdx.x + 32] = -1;
            return;
        }
        a += 1;
    }
    y[threadIdx.x] = a;
}
static expectation early_return(void)
{
    expectation e;
    e.load(ALL_LANES, row(0));
    uint32_t in = lanes_where([](int lane) { return trip[lane] % 3 != 0; }), finished = 0;
    for (int i = 0; in; i++) {
        const uint32_t on = in & still_going(i, trip);
        const uint32_t gone = on & lanes_where([=](int lane) { return value[i * 32 + lane] < 0; });
        finished |= in & ~on;
        e.load(on, row(i * 32));
        e.store(gone, row(32)); /* in each round: these lanes meet the others no more */
        in = on & ~gone;
    }
    e.store(finished, row(0));
    return e;
}

/* The lanes that have found something say so before they leave. */
__global__ void simt_break_with_work(const float *x, float *y)
{
    float a = 0;
#pragma unroll 1
    for (int i = 0; i < 24; i++) {
        const float v = x[i * 32 + threadIdx.x];
        if (v < 0) {
            y[i * 32 + threadIdx.x] = v;
            break;
        }
        a += v;
    }
    y[threadIdx.x] = a;
}
static expectation break_with_work(void)
{
    expectation e;
    uint32_t in = ALL_LANES;
    for (int i = 0; i < 24; i++) {
        const uint32_t gone = in & lanes_where([=](int lane) { return value[i * 32 + lane] < 0; });
        e.load(in, row(i * 32));
        e.store(gone, row(i * 32));
        in &= ~gone;
    }
    e.store(ALL_LANES, row(0));
    return e;
}

/* Out of two loops at once. */
__global__ void simt_break_out_of_two(const int *trip, const float *x, float *y)
{
    float a = 0;
    bool found = false;
    for (int o = 0; o < 4 && !found; o++) {
        const int n = trip[o * 32 + threadIdx.x];
#pragma unroll 1
        for (int i = 0; i < n; i++) {
            const float v = x[(o * 8 + i) * 32 + threadIdx.x];
            found = v < 0;
            if (found) break;
            a += v;
        }
    }
    y[threadIdx.x] = a;
}
static expectation break_out_of_two(void)
{
    expectation e;
    uint32_t searching = ALL_LANES;
    for (int o = 0; o < 4; o++) {
        e.load(searching, row(o * 32));
        uint32_t in = searching;
        for (int i = 0; i < MOST; i++) {
            in &= still_going(i, trip + o * 32);
            e.load(in, row((o * 8 + i) * 32));
            const uint32_t found =
                in & lanes_where([=](int lane) { return value[(o * 8 + i) * 32 + lane] < 0; });
            in &= ~found;
            searching &= ~found;
        }
    }
    e.store(ALL_LANES, row(0));
    return e;
}

/* ---- all of them ----------------------------------------------------------------------------- */

void divergence(void)
{
    uint64_t state = 1;
    for (int &n : trip)
        n = (int)(random_bits(&state) % MOST);
    for (float &v : value)
        v = (float)(random_bits(&state) % 20) - 1; /* one in 20 is negative */
    for (int r = 0; r < ROWS; r++)
        row_offset[r + 1] = row_offset[r] + (int)(random_bits(&state) % 100) * (r % 4 != 0);
    int *t = to_device(trip, TRIPS);
    float *x = to_device(value, VALUES), *y = device_zeros<float>(VALUES);

    EXPECT(simt_nested, 1, 32, (t, x, y), nested());
    EXPECT(simt_nested_3_deep, 1, 32, (t, x, y), nested_3_deep());
    EXPECT(simt_leave_and_meet, 1, 32, (t, x, y), leave_and_meet());
    EXPECT(simt_do_while, 1, 32, (t, x, y), do_while());
    EXPECT(simt_while_while, 1, 32, (t, x, y), while_while());

    int *offset = to_device(row_offset, ROWS + 1);
    float *elements = device_zeros<float>((size_t)row_offset[ROWS]);
    EXPECT(simt_warp_a_row, 11, 160, (offset, elements, y), warp_a_row());
    const int counts[8] = {0, 1, 31, 32, 7, 16, 0, 32};
    int *c = to_device(counts, 8);
    EXPECT(simt_at_most_once, 1, 256, (c, x, y), at_most_once(counts));

    float wanted[32], keys[KEYS];
    for (float &w : wanted)
        w = (float)(random_bits(&state) % (KEYS + 20)) - 10;
    for (int i = 0; i < KEYS; i++)
        keys[i] = (float)i;
    float *w = to_device(wanted, 32), *k = to_device(keys, KEYS);
    EXPECT(simt_binary_search, 1, 32, (w, k, (int *)y), binary_search(wanted, keys));

    EXPECT(simt_continue_and_break, 1, 32, (t, x, y), continue_and_break());
    EXPECT(simt_early_return, 1, 32, (t, x, y), early_return());
    EXPECT(simt_break_with_work, 1, 32, (x, y), break_with_work());
    EXPECT(simt_break_out_of_two, 1, 32, (t, x, y), break_out_of_two());

    branches(t, x, y);
    for (void *p : {(void *)t, (void *)x, (void *)y, (void *)offset, (void *)elements, (void *)c,
                    (void *)w, (void *)k})
        CUDA(cudaFree(p));
}
