/*
 * barrier.cu - __syncthreads() and its voting forms. Programming Guide, "Synchronization
 * Functions"; for threads that have exited, "Independent Thread Scheduling": the barrier is
 * enforced per thread and waits for all non-exited threads of the block.
 */
#include "tests/primitives/primitives.h"

/* Every thread hands its value around the block, `rounds` times: wrong as soon as one barrier lets
 * somebody through too early. */
__global__ void ring_kernel(int *out, int rounds)
{
    __shared__ int slot[1024];
    int x = threadIdx.x;
    for (int r = 0; r < rounds; r++) {
        slot[threadIdx.x] = x;
        __syncthreads();
        x = slot[(threadIdx.x + 1) % blockDim.x] + 1;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

static void ring(int threads, int rounds)
{
    const int blocks = 5;
    int *d = device_zeros<int>(blocks * threads), h[5 * 1024], wrong = 0;
    ring_kernel<<<blocks, threads>>>(d, rounds);
    FINISH();
    to_host(h, d, blocks * threads);
    for (int i = 0; i < blocks * threads; i++)
        wrong += h[i] != (i % threads + rounds) % threads + rounds;
    tap_ok(wrong == 0, "%d threads, %d rounds", threads, rounds);
}

/* out[0..2][thread]: count, and, or of "thread number is below `limit`". */
__global__ void vote_kernel(int *out, int limit)
{
    const int t = threadIdx.x, n = blockDim.x;
    out[t] = __syncthreads_count(t < limit ? 7 : 0);
    out[n + t] = __syncthreads_and(t < limit);
    out[2 * n + t] = __syncthreads_or(t < limit);
}

static void vote(int threads)
{
    int wrong = 0;
    for (int limit : {0, 1, threads - 1, threads}) {
        int *d = device_zeros<int>(3 * threads), h[3 * 1024];
        vote_kernel<<<1, threads>>>(d, limit);
        FINISH();
        to_host(h, d, 3 * threads);
        for (int t = 0; t < threads; t++) {
            wrong += h[t] != limit;
            wrong += (h[threads + t] != 0) != (limit == threads);
            wrong += (h[2 * threads + t] != 0) != (limit > 0);
        }
    }
    tap_ok(wrong == 0, "_count, _and, _or over %d threads", threads);
}

/* Warp w leaves after w + 1 rounds; barriers and votes go on among the rest. (Whole warps: lanes that
 * leave a loop may wait for the rest of their warp before they exit, and an H200 hangs then.) */
__global__ void leave_kernel(int *out)
{
    __shared__ int sum;
    for (int round = 0; round <= (int)threadIdx.x / 32; round++) {
        if (threadIdx.x == blockDim.x - 1) sum = 0;
        const int here = __syncthreads_count(1);
        atomicAdd(&sum, 1);
        const bool all = __syncthreads_and(1), any = __syncthreads_or(0);
        if (threadIdx.x == blockDim.x - 1) out[round] = here == sum && all && !any ? here : -1;
        __syncthreads();
    }
}

static void leave(void)
{
    int *d = device_zeros<int>(4), h[4];
    leave_kernel<<<1, 128>>>(d);
    FINISH();
    to_host(h, d, 4);
    bool right = true;
    for (int round = 0; round < 4; round++)
        right &= h[round] == 128 - 32 * round;
    tap_ok(right, "threads that have exited are not waited for, and not counted");
}

/* Whole warps may take different ways to the barrier as long as the block agrees on it. */
__global__ void stages_kernel(int *out)
{
    __shared__ int buffer[2][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int total = 0;
    for (int i = 0; i < 10; i++) {
        if (warp == 0) buffer[i % 2][lane] = 100 * i + lane;
        __syncthreads();
        if (warp == 1) total += buffer[i % 2][31 - lane];
    }
    if (warp == 1) out[lane] = total;
}

/* One thread comes late, and stops on the way. */
__global__ void late_kernel(int *out, unsigned late)
{
    __shared__ int s;
    if (threadIdx.x == late) {
        for (int i = 0; i < 100; i++)
            __nanosleep(10);
        s = 42;
    }
    __syncthreads();
    out[threadIdx.x] = s;
}

static void late(unsigned thread)
{
    int *d = device_zeros<int>(100), h[100], wrong = 0;
    late_kernel<<<1, 100>>>(d, thread);
    FINISH();
    to_host(h, d, 100);
    for (int x : h)
        wrong += x != 42;
    tap_ok(wrong == 0, "everybody waits for thread %u", thread);
}

int main()
{
    for (int threads : {1, 31, 32, 33, 64, 100, 1024})
        ring(threads, 20);
    for (int threads : {1, 32, 33, 1024})
        vote(threads);
    leave();
    for (unsigned thread : {0u, 50u, 99u})
        late(thread);

    int *d = device_zeros<int>(32), h[32], wrong = 0;
    stages_kernel<<<1, 64>>>(d);
    FINISH();
    to_host(h, d, 32);
    for (int lane = 0; lane < 32; lane++)
        wrong += h[lane] != 4500 + 10 * (31 - lane);
    tap_ok(wrong == 0, "one warp produces, the other consumes");
    return tap_done();
}
