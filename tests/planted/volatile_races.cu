/*
 * volatile_races.cu - `volatile` where a barrier or an atomic function is wanted, and the protocols in
 * which it is right: flags that are polled, locks, turns.
 */
#include "planted.h"

static const int RACECHECK = INSTRUMENT_RACECHECK;

/* The line that follows: a volatile store is better no part of an expression. */
#define HERE_NEXT mark(&here_line, __LINE__ + 1)
#define THERE_NEXT mark(&there_line, __LINE__ + 1)

/* Blocks add to one element. */
template <bool RIGHT> static __global__ void volatile_sum_kernel(volatile int *C)
{
    if (RIGHT)
        atomicAdd((int *)C, 1);
    else {
        HERE_NEXT, THERE_NEXT;
        *C = *C + 1;
    }
}
template <bool RIGHT> static void volatile_sum(void)
{
    volatile_sum_kernel<RIGHT><<<3, 1>>>(named<int>("C", 1));
}

/* Fences on both sides make no sum of a load and a store. */
template <bool RIGHT> static __global__ void fenced_sum_kernel(volatile int *C)
{
    __threadfence();
    if (RIGHT)
        atomicAdd((int *)C, 1);
    else {
        HERE_NEXT, THERE_NEXT;
        *C = *C + 1;
    }
    __threadfence();
}
template <bool RIGHT> static void fenced_sum(void)
{
    fenced_sum_kernel<RIGHT><<<3, 1>>>(named<int>("C", 1));
}

/* All write the same value. */
template <bool RIGHT> static __global__ void same_value_kernel(volatile int *found)
{
    if (RIGHT)
        atomicExch((int *)found, 1);
    else {
        HERE_NEXT, THERE_NEXT;
        *found = 1;
    }
}
template <bool RIGHT> static void same_value(void)
{
    same_value_kernel<RIGHT><<<1, 64>>>(named<int>("found", 1));
}

/* Some add atomically, one stores. */
template <bool RIGHT> static __global__ void volatile_reset_kernel(volatile int *count)
{
    if (RIGHT || blockIdx.x != 2)
        THERE, atomicAdd((int *)count, 1);
    else {
        HERE_NEXT;
        *count = 0;
    }
}
template <bool RIGHT> static void volatile_reset(void)
{
    volatile_reset_kernel<RIGHT><<<3, 1>>>(named<int>("count", 1));
}

/* The reduction of old: lanes of a warp were in step once. */
template <bool RIGHT> static __global__ void in_step_kernel(const int *A, int *C)
{
    __shared__ int sums[48];
    volatile int *s = sums;
    const int lane = threadIdx.x;
    s[lane] = A[lane];
    if (lane < 16) s[32 + lane] = 0;
    __syncwarp();
    for (int half = 16; half > 0; half /= 2) {
        THERE_NEXT;
        const int sum = s[lane] + s[lane + half];
        if (RIGHT) __syncwarp();
        HERE_NEXT;
        s[lane] = sum;
        if (RIGHT) __syncwarp();
    }
    __syncwarp();
    C[lane] = s[lane];
}
template <bool RIGHT> static void in_step(void)
{
    in_step_kernel<RIGHT><<<1, 32>>>(named<int>("A", 32), named<int>("C", 32));
}

/* The barrier between two warps is missing. */
template <bool RIGHT> static __global__ void volatile_tile_kernel(int *C)
{
    __shared__ volatile int tile[64];
    const int t = threadIdx.x;
    HERE_NEXT;
    tile[t] = t;
    if (RIGHT) __syncthreads();
    THERE, C[t] = tile[t ^ 32];
}
template <bool RIGHT> static void volatile_tile(void)
{
    volatile_tile_kernel<RIGHT><<<1, 64>>>(named<int>("C", 64));
}

/* Adds up, in the last block, numbers that have no fence behind them. */
template <bool RIGHT>
static __global__ void volatile_partial_kernel(volatile int *partial, int *ticket, int *C)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        THERE_NEXT;
        partial[blockIdx.x] = 1;
        if (RIGHT) __threadfence();
        last = atomicAdd(ticket, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) HERE, atomicAdd(C, partial[threadIdx.x]);
}
template <bool RIGHT> static void volatile_partial(void)
{
    volatile_partial_kernel<RIGHT>
        <<<3, 32>>>(named<int>("partial", 3), named<int>("ticket", 1), named<int>("C", 1));
}

/* The compiler's own atomics are no functions of CUDA C++: as volatile, whatever order they ask for. */
template <bool RIGHT> static __global__ void compiler_store_kernel(int *C)
{
    if (RIGHT) {
        __atomic_fetch_add(C, 1, __ATOMIC_RELAXED);
    } else {
        HERE, THERE, __atomic_store_n(C, 1, __ATOMIC_RELEASE);
    }
}
template <bool RIGHT> static void compiler_store(void)
{
    compiler_store_kernel<RIGHT><<<3, 1>>>(named<int>("C", 1));
}

/* A lock is let go before what it protects is visible. */
template <bool RIGHT> static __global__ void let_go_kernel(int *lock, int *sum)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    THERE, HERE, *sum = *sum + 1;
    if (RIGHT) __threadfence();
    atomicExch(lock, 0);
}
template <bool RIGHT> static void let_go(void)
{
    let_go_kernel<RIGHT><<<3, 1>>>(named<int>("lock", 1), named<int>("sum", 1));
}

/* ---- protocols that are right ---------------------------------------------------------------- */

/* Each block waits for its turn, and gives it to the next. */
static __global__ void volatile_turn_kernel(volatile int *turn, int *sum)
{
    if (threadIdx.x == 0) {
        while (*turn != (int)blockIdx.x) {
        }
        __threadfence();
    }
    __syncthreads();
    sum[threadIdx.x] += blockIdx.x;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *turn = *turn + 1;
}
static void volatile_turn(void)
{
    volatile_turn_kernel<<<50, 64>>>(named<int>("turn", 1), named<int>("sum", 64));
}

/* Every thread of two blocks takes a lock that is let go by a store, and a number that is called. */
static __global__ void stored_lock_kernel(int *lock, volatile int *sum)
{
    for (bool done = false; !done;)
        if (atomicExch(lock, 1) == 0) {
            __threadfence();
            *sum = *sum + 1;
            __threadfence();
            *(volatile int *)lock = 0;
            done = true;
        }
}
static void stored_lock(void)
{
    stored_lock_kernel<<<2, 64>>>(named<int>("lock", 1), named<int>("sum", 1));
}
static __global__ void called_number_kernel(int *next, volatile int *called, int *sum)
{
    const int mine = atomicAdd(next, 1);
    while (*called != mine)
        __nanosleep(100);
    __threadfence();
    *sum = *sum + 1;
    __threadfence();
    *called = *called + 1;
}
static void called_number(void)
{
    called_number_kernel<<<2, 64>>>(named<int>("next", 1), named<int>("called", 1),
                                    named<int>("sum", 1));
}

/* One warp fills a box, another empties it; both store the flag. */
static __global__ void volatile_box_kernel(int *C)
{
    __shared__ int box[32];
    __shared__ volatile int full;
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) full = 0;
    __syncthreads();
    for (int round = 0; round < 5; round++) {
        const bool fills = threadIdx.x < 32;
        while (full == (fills ? 1 : 0))
            __nanosleep(100);
        __threadfence_block();
        __syncwarp();
        if (fills)
            box[lane] = round * lane;
        else
            C[lane] += box[31 - lane];
        __threadfence_block();
        __syncwarp();
        if (lane == 0) full = fills ? 1 : 0;
        __syncwarp();
    }
}
static void volatile_box(void)
{
    volatile_box_kernel<<<1, 64>>>(named<int>("C", 32));
}

void plant_volatile_races(void)
{
    BUG(volatile_sum, RACECHECK, "race", "reads C[0], which thread (0,0,0) of block (0,0,0) writes",
        {1, 0, 0}, {0, 0, 0});
    BUG(fenced_sum, RACECHECK, "race", "writes C[0], which thread (0,0,0) of block (0,0,0) writes",
        {1, 0, 0}, {0, 0, 0});
    BUG(same_value, RACECHECK, "race", "writes found[0], which thread (0,0,0) of its warp writes",
        {0, 0, 0}, {1, 0, 0});
    BUG(volatile_reset, RACECHECK, "race",
        "writes count[0], which thread (0,0,0) of block (1,0,0) writes", {2, 0, 0}, {0, 0, 0});
    BUG(in_step, RACECHECK, "race", "writes shared sums[1], which thread (0,0,0) of its warp reads",
        {0, 0, 0}, {1, 0, 0});
    BUG(volatile_tile, RACECHECK, "race",
        "writes shared tile[32], which thread (0,0,0) of its block reads", {0, 0, 0}, {32, 0, 0});
    BUG(volatile_partial, RACECHECK, "race",
        "reads partial[0], which thread (0,0,0) of block (0,0,0) writes", {2, 0, 0}, {0, 0, 0});
    BUG(compiler_store, RACECHECK, "race",
        "writes C[0], which thread (0,0,0) of block (0,0,0) writes", {1, 0, 0}, {0, 0, 0});
    BUG(let_go, RACECHECK, "race", "reads sum[0], which thread (0,0,0) of block (0,0,0) writes",
        {1, 0, 0}, {0, 0, 0});
    CLEAN(volatile_turn);
    CLEAN(stored_lock);
    CLEAN(called_number);
    CLEAN(volatile_box);
}
