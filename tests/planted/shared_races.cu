/*
 * shared_races.cu - threads of one block that do not wait for each other.
 */
#include "planted.h"

#include "device/async_copy.cuh"
#include "device/mbarrier.cuh"
#include "device/warp.cuh"

static const int RACECHECK = INSTRUMENT_RACECHECK;

/* ---- across warps ---------------------------------------------------------------------------- */

/* Warp 0 reads what warp 1 has written, or, as here, is about to write. */
template <bool RIGHT> static __global__ void read_after_write_kernel(int *C)
{
    __shared__ int tile[64];
    const int t = threadIdx.x + 16 * threadIdx.y;
    HERE, tile[t] = t;
    if (RIGHT)
        __syncthreads();
    else
        __syncwarp();
    THERE, C[64 * blockIdx.x + t] = tile[t ^ 32];
}
template <bool RIGHT> static void read_after_write(void)
{
    read_after_write_kernel<RIGHT><<<3, dim3(16, 4)>>>(named<int>("C", 192));
}

/* The tile of the next round is stored while others still read that of this one. */
template <bool RIGHT> static __global__ void tile_loop_kernel(const int *A, int *C)
{
    __shared__ int tile[64];
    int sum = 0;
    for (int round = 0; round < 4; round++) {
        THERE, tile[threadIdx.x] = A[64 * round + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 64; i++)
            HERE, sum += tile[i];
        if (RIGHT) __syncthreads();
    }
    C[threadIdx.x] = sum;
}
template <bool RIGHT> static void tile_loop(void)
{
    tile_loop_kernel<RIGHT><<<1, 64>>>(named<int>("A", 256), named<int>("C", 64));
}

/* Every thread writes the same element; even if it is the same value. */
template <bool RIGHT> static __global__ void write_after_write_kernel(int *C)
{
    __shared__ int total;
    if (!RIGHT || threadIdx.x == 0) THERE, HERE, total = 5;
    __syncthreads();
    C[threadIdx.x] = total;
}
template <bool RIGHT> static void write_after_write(void)
{
    write_after_write_kernel<RIGHT><<<1, 64>>>(named<int>("C", 64));
}

/* 16-bit neighbours share a word and are no race; the same 16 bits are. */
template <bool RIGHT> static __global__ void same_half_kernel(short *C)
{
    __shared__ short tile[65];
    THERE, tile[threadIdx.x] = 1;
    __syncwarp();
    if (threadIdx.x == 32) HERE, tile[RIGHT ? 64 : 31] = 2;
    __syncthreads();
    C[threadIdx.x] = tile[threadIdx.x];
}
template <bool RIGHT> static void same_half(void)
{
    same_half_kernel<RIGHT><<<1, 64>>>(named<short>("C", 64));
}

/* Arrived for the thread that waited, not for the others. */
template <bool RIGHT> static __global__ void async_without_barrier_kernel(const float *A, float *C)
{
    __shared__ __align__(16) float tile[64];
    if (threadIdx.x < 32) {
        THERE, async_copy<8>(&tile[2 * threadIdx.x], &A[2 * threadIdx.x]);
        async_commit();
        async_wait<0>();
    }
    if (RIGHT) __syncthreads();
    HERE, C[threadIdx.x] = tile[threadIdx.x];
}
template <bool RIGHT> static void async_without_barrier(void)
{
    async_without_barrier_kernel<RIGHT><<<1, 64>>>(named<float>("A", 64), named<float>("C", 64));
}

/* A barrier before the wait is no better: a copy arrives when its own thread has waited. */
template <bool RIGHT> static __global__ void barrier_before_wait_kernel(const float *A, float *C)
{
    __shared__ __align__(16) float tile[64];
    tile[threadIdx.x] = 0;
    HERE, async_copy<4>(&tile[threadIdx.x], &A[threadIdx.x]);
    if (!RIGHT) __syncthreads();
    async_wait_all();
    if (RIGHT) __syncthreads();
    THERE, C[threadIdx.x] = tile[threadIdx.x ^ 63];
}
template <bool RIGHT> static void barrier_before_wait(void)
{
    barrier_before_wait_kernel<RIGHT><<<1, 64>>>(named<float>("A", 64), named<float>("C", 64));
}

/* The last of them reads the sum while others may still add to it. */
template <bool RIGHT> static __global__ void atomic_then_read_kernel(int *C)
{
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    THERE, atomicAdd(&sum, 1);
    if (RIGHT) __syncthreads();
    if (threadIdx.x == 63) HERE, *C = sum;
}
template <bool RIGHT> static void atomic_then_read(void)
{
    atomic_then_read_kernel<RIGHT><<<1, 64>>>(named<int>("C", 1));
}

/* A flag between warps, raised without a fence. */
template <bool RIGHT> static __global__ void flag_without_fence_kernel(int *C)
{
    __shared__ int value, flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        THERE, value = 7;
        if (RIGHT) __threadfence_block();
        atomicExch(&flag, 1);
    }
    if (threadIdx.x == 32) {
        while (atomicAdd(&flag, 0) == 0) {
        }
        __threadfence_block();
        HERE, C[blockIdx.x] = value;
    }
}
template <bool RIGHT> static void flag_without_fence(void)
{
    flag_without_fence_kernel<RIGHT><<<2, 64>>>(named<int>("C", 2));
}

/* ---- within a warp --------------------------------------------------------------------------- */

/* A shuffle in between lets no lane see the other's store. */
template <bool RIGHT> static __global__ void within_warp_kernel(int *C)
{
    __shared__ int tile[32];
    THERE, tile[threadIdx.x] = threadIdx.x;
    int x = __shfl_xor_sync(FULL_MASK, (int)threadIdx.x, 1);
    if (RIGHT) __syncwarp();
    HERE, x += tile[threadIdx.x ^ 1];
    C[threadIdx.x] = x;
}
template <bool RIGHT> static void within_warp(void)
{
    within_warp_kernel<RIGHT><<<1, 32>>>(named<int>("C", 32));
}

/* All lanes read, and then the first of the readers writes. */
template <bool RIGHT> static __global__ void write_after_read_kernel(int *C)
{
    __shared__ int x;
    if (threadIdx.x == 0) x = 5;
    __syncwarp();
    THERE, C[threadIdx.x] = x;
    __any_sync(FULL_MASK, 1);
    if (RIGHT) __syncwarp();
    if (threadIdx.x == 31) HERE, x = 6;
}
template <bool RIGHT> static void write_after_read(void)
{
    write_after_read_kernel<RIGHT><<<1, 32>>>(named<int>("C", 32));
}

/* The upper half waits for itself, the lower one for nobody. */
template <bool RIGHT> static __global__ void upper_half_kernel(int *C)
{
    __shared__ int tile[16];
    const int lane = threadIdx.x;
    if (lane < 16) THERE, tile[lane] = lane;
    if (RIGHT || lane >= 16) __syncwarp(RIGHT ? FULL_MASK : 0xffff0000u);
    if (lane >= 16) HERE, C[lane] = tile[lane - 16];
}
template <bool RIGHT> static void upper_half(void)
{
    upper_half_kernel<RIGHT><<<1, 32>>>(named<int>("C", 32));
}

/* Each half of the warp waits for itself, and reads from the other. */
template <bool RIGHT> static __global__ void wrong_half_kernel(int *C)
{
    __shared__ int tile[32];
    const unsigned half = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
    HERE, tile[threadIdx.x] = threadIdx.x;
    __syncwarp(half);
    THERE, C[threadIdx.x] = tile[threadIdx.x ^ (RIGHT ? 15 : 16)];
}
template <bool RIGHT> static void wrong_half(void)
{
    wrong_half_kernel<RIGHT><<<1, 32>>>(named<int>("C", 32));
}

/* Lanes 0 and 1 meet, then 1 and 2: so 2 may read what 0 wrote before, and not what 3 wrote. */
template <bool RIGHT> static __global__ void chain_kernel(int *C)
{
    __shared__ int tile[4];
    const int lane = threadIdx.x;
    if (lane == 3) HERE, tile[3] = 3;
    if (lane == 0) tile[0] = 1;
    if (lane < 2) __syncwarp(0x3);
    if (lane == 1 || lane == 2) __syncwarp(0x6);
    if (lane == 2) THERE, *C = tile[RIGHT ? 0 : 3];
}
template <bool RIGHT> static void chain(void)
{
    chain_kernel<RIGHT><<<1, 4>>>(named<int>("C", 1));
}

/* ---- barriers in shared memory --------------------------------------------------------------- */

/* Warp 1 fills the tile again when it is full, not when warp 0 says that it has read it. */
template <bool RIGHT> static __global__ void refilled_too_early_kernel(const int *A, int *C)
{
    __shared__ mbarrier full, empty;
    __shared__ __align__(16) int tile[32];
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        mbarrier_init(&empty, 1);
        mbarrier_publish();
    }
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < 3; round++)
        if (threadIdx.x >= 32) {
            if (threadIdx.x > 32) continue;
            mbarrier_wait(RIGHT ? &empty : &full, (round + 1) % 2);
            mbarrier_expect(&full, sizeof tile);
            THERE, bulk_copy(tile, A + 32 * round, sizeof tile, &full);
        } else {
            mbarrier_wait(&full, round % 2);
            HERE, sum += tile[threadIdx.x ^ 1];
            __syncwarp();
            if (threadIdx.x == 0) mbarrier_arrive(&empty);
        }
    if (threadIdx.x < 32) C[threadIdx.x] = sum;
}
template <bool RIGHT> static void refilled_too_early(void)
{
    refilled_too_early_kernel<RIGHT><<<1, 64>>>(named<int>("A", 96, true), named<int>("C", 32));
}

/* Lane 0 arrives for its warp, but does not know that the others are done. */
template <bool RIGHT> static __global__ void arrives_for_others_kernel(int *C)
{
    __shared__ mbarrier ready;
    __shared__ int tile[32];
    if (threadIdx.x == 0) {
        mbarrier_init(&ready, 1);
        mbarrier_publish();
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        THERE, tile[threadIdx.x] = threadIdx.x;
        if (RIGHT) __syncwarp();
        if (threadIdx.x == 0) mbarrier_arrive(&ready);
    } else {
        mbarrier_wait(&ready, 0);
        HERE, C[threadIdx.x - 32] = tile[threadIdx.x ^ 33];
    }
}
template <bool RIGHT> static void arrives_for_others(void)
{
    arrives_for_others_kernel<RIGHT><<<1, 64>>>(named<int>("C", 32));
}

/* The barrier must be there before others use it. */
template <bool RIGHT> static __global__ void used_before_made_kernel(int *C)
{
    __shared__ mbarrier b;
    if (threadIdx.x == 0) {
        THERE, mbarrier_init(&b, 63);
        mbarrier_publish();
    }
    if (RIGHT) __syncthreads();
    if (threadIdx.x > 0) HERE, mbarrier_arrive(&b);
    mbarrier_wait(&b, 0);
    C[threadIdx.x] = 1;
}
template <bool RIGHT> static void used_before_made(void)
{
    used_before_made_kernel<RIGHT><<<1, 64>>>(named<int>("C", 64));
}

void plant_shared_races(void)
{
    BUG(read_after_write, RACECHECK, "race",
        "writes shared tile[32], which thread (0,0,0) of its block reads", {0, 0, 0}, {0, 2, 0});
    BUG(tile_loop, RACECHECK, "race",
        "reads shared tile[0], which thread (0,0,0) of its warp writes", {0, 0, 0}, {1, 0, 0});
    BUG(write_after_write, RACECHECK, "race",
        "writes shared total[0], which thread (0,0,0) of its warp writes: nothing orders the two "
        "(write "
        "after write)",
        {0, 0, 0}, {1, 0, 0});
    BUG(same_half, RACECHECK, "race", "writes shared tile[31], which thread (31,0,0) of its block",
        {0, 0, 0}, {32, 0, 0});
    BUG(async_without_barrier, RACECHECK, "race",
        "reads shared tile[1], which thread (0,0,0) of its warp writes", {0, 0, 0}, {1, 0, 0});
    BUG(barrier_before_wait, RACECHECK, "race",
        "writes shared tile[32], which thread (31,0,0) of its block reads", {0, 0, 0}, {32, 0, 0});
    BUG(atomic_then_read, RACECHECK, "race", "reads shared sum[0], which thread (31,0,0)",
        {0, 0, 0}, {63, 0, 0});
    BUG(flag_without_fence, RACECHECK, "race", "reads shared value[0], which thread (0,0,0)",
        {0, 0, 0}, {32, 0, 0});
    BUG(within_warp, RACECHECK, "race",
        "reads shared tile[30], which thread (30,0,0) of its warp writes", {0, 0, 0}, {31, 0, 0});
    BUG(write_after_read, RACECHECK, "race",
        "writes shared x[0], which thread (30,0,0) of its warp reads: nothing orders the two "
        "(write "
        "after read)",
        {0, 0, 0}, {31, 0, 0});
    BUG(upper_half, RACECHECK, "race",
        "reads shared tile[15], which thread (15,0,0) of its warp writes", {0, 0, 0}, {31, 0, 0});
    BUG(wrong_half, RACECHECK, "race",
        "writes shared tile[31], which thread (15,0,0) of its warp reads", {0, 0, 0}, {31, 0, 0});
    BUG(chain, RACECHECK, "race", "writes shared tile[3], which thread (2,0,0) of its warp reads",
        {0, 0, 0}, {3, 0, 0});
    BUG(refilled_too_early, RACECHECK, "race",
        "reads shared tile[1], which thread (32,0,0) of its block writes", {0, 0, 0}, {0, 0, 0});
    BUG(arrives_for_others, RACECHECK, "race",
        "reads shared tile[1], which thread (1,0,0) of its block writes", {0, 0, 0}, {32, 0, 0});
    BUG(used_before_made, RACECHECK, "race",
        "updates shared b[0], which thread (0,0,0) of its warp writes", {0, 0, 0}, {1, 0, 0});
}
