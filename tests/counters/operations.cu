/*
 * operations.cu - atomics, and what a warp does together: barriers, shuffles, votes, matrix
 * products, asynchronous copies.
 */
#include "tests/counters/expect.h"

#include "device/async_copy.cuh"
#include "device/mma.cuh"
#include "device/warp.cuh"

#define LAUNCH(KERNEL, BLOCKS, THREADS, ARGUMENTS) KERNEL<<<BLOCKS, THREADS>>> ARGUMENTS

/* ---- atomics --------------------------------------------------------------------------------- */

/* name; the element of a lane (4 bytes each); sectors sent, one again for each lane more that wants
 * the same element of it; the turns of the most wanted element. */
#define ATOMICS(X)                                                     \
    X(distinct, lane, 4, 1)                                            \
    X(stride_8, 8 * lane, 32, 1)                                       \
    X(one_address, 3, 32, 32)                                          \
    X(groups_of_4, lane / 4, 4, 4) /* 8 elements, 32 B */              \
    X(groups_of_4_apart, lane / 4 * 8, 32, 4)                          \
    X(groups_of_4_interleaved, lane % 8, 4, 4)                         \
    X(two_addresses, lane < 20 ? 0 : 64, 32, 20) /* 20 lanes and 12 */ \
    X(triangle, lane *lane / 64, 10, 8)          /* 0 .. 15; lanes 0 .. 7 want 0 */

/* `zero` keeps nvcc from seeing that the addresses are the same and adding up in the warp first. */
#define ATOMIC_KERNELS(NAME, ELEMENT, SECTORS, TURNS)                                   \
    __global__ void pattern_global_atomic_##NAME(unsigned *cells, const unsigned *zero) \
    {                                                                                   \
        const int lane = threadIdx.x;                                                   \
        atomicAdd(&cells[(ELEMENT) + zero[lane]], (unsigned)lane);                      \
    }                                                                                   \
    __global__ void pattern_shared_atomic_##NAME(unsigned *out, const unsigned *zero)   \
    {                                                                                   \
        __shared__ __align__(128) unsigned cells[256];                                  \
        const int lane = threadIdx.x;                                                   \
        for (int i = lane; i < 256; i += 32)                                            \
            cells[i] = 0;                                                               \
        __syncthreads();                                                                \
        atomicAdd(&cells[(ELEMENT) + zero[lane]], (unsigned)lane);                      \
        __syncthreads();                                                                \
        out[lane] = cells[lane];                                                        \
    }
ATOMICS(ATOMIC_KERNELS)

/* 8 bytes; half of the warp; the old value is used. */
__global__ void simt_atomic_64_bits(unsigned long long *cells, unsigned long long *out)
{
    if (threadIdx.x % 2 == 0) out[threadIdx.x] = atomicMax(&cells[threadIdx.x / 8], 7ull);
}

/* As a loop around compare-and-swap goes: of the 8 lanes of a group one succeeds in each round, and
 * the others try again. */
__global__ void simt_atomic_in_turns(unsigned *cells)
{
    unsigned *cell = &cells[threadIdx.x / 8];
    for (unsigned turn = threadIdx.x % 8;; turn--) {
        atomicAdd(cell, 1u);
        if (turn == 0) break;
    }
}

void atomic_patterns(void)
{
    unsigned *cells = device_zeros<unsigned>(1024), *zero = device_zeros<unsigned>(32);
    const auto in_order = [](int lane) { return 4 * lane; };
#define RUN(NAME, ELEMENT, SECTORS, TURNS)                                         \
    {                                                                              \
        const auto element = [](int lane) { return (void)lane, 4 * (ELEMENT); };   \
        expectation global, shared;                                                \
        global.access(GLOBAL_LOAD, 4, ALL_LANES, in_order);                        \
        global.access(GLOBAL_ATOMIC, 4, ALL_LANES, element);                       \
        const access_counters &a = global.n.access[GLOBAL_ATOMIC];                 \
        if (a.cost != SECTORS || a.serial != TURNS)                                \
            check(false, "%s: the numbers beside it are wrong: %lld, %lld", #NAME, \
                  (long long)a.cost, (long long)a.serial);                         \
        EXPECT(pattern_global_atomic_##NAME, 1, 32, (cells, zero), global);        \
        shared.access(GLOBAL_LOAD, 4, ALL_LANES, in_order);                        \
        shared.access(SHARED_ATOMIC, 4, ALL_LANES, element);                       \
        for (int i = 0; i < 256; i += 32)                                          \
            shared.access(SHARED_STORE, 4, ALL_LANES, in_order);                   \
        shared.access(SHARED_LOAD, 4, ALL_LANES, in_order);                        \
        shared.access(GLOBAL_STORE, 4, ALL_LANES, in_order);                       \
        shared.operation(OP_BARRIER, 2);                                           \
        EXPECT(pattern_shared_atomic_##NAME, 1, 32, (cells, zero), shared);        \
    }
    ATOMICS(RUN)
#undef RUN

    expectation e;
    const uint32_t even = lanes_where([](int lane) { return lane % 2 == 0; });
    e.access(GLOBAL_ATOMIC, 8, even, [](int lane) { return 8 * (lane / 8); });
    e.access(GLOBAL_STORE, 8, even, [](int lane) { return 8 * lane; });
    EXPECT(simt_atomic_64_bits, 1, 32,
           ((unsigned long long *)cells, (unsigned long long *)cells + 64), e);

    e = {};
    for (int round = 0; round < 8; round++)
        e.access(GLOBAL_ATOMIC, 4, lanes_where([=](int lane) { return lane % 8 >= round; }),
                 [](int lane) { return 4 * (lane / 8); });
    EXPECT(simt_atomic_in_turns, 1, 32, (cells), e);
    CUDA(cudaFree(cells));
    CUDA(cudaFree(zero));
}

/* ---- barriers -------------------------------------------------------------------------------- */

__global__ void simt_barriers(int *out)
{
    __syncthreads();
    const int n = __syncthreads_count(threadIdx.x % 3 == 0);
    for (int i = 0; i < 4; i++)
        __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = n;
}

/* Half of the warp at a time; all of it; and 8 lanes alone. */
__global__ void simt_syncwarps(int *out)
{
    if (threadIdx.x % 32 < 16)
        __syncwarp(0x0000ffffu);
    else
        __syncwarp(0xffff0000u);
    __syncwarp();
    if (threadIdx.x % 32 < 8) __syncwarp(0xffu);
    out[threadIdx.x] = 1;
}

/* ---- shuffles and votes ---------------------------------------------------------------------- */

__global__ void simt_shuffles(float *out)
{
    float x = warp_sum((float)threadIdx.x); /* 5 of them */
    x += subwarp_sum<8>(x);                 /* 3, all four subwarps at once */
    x += __shfl_sync(FULL_MASK, x, 3) + __shfl_up_sync(FULL_MASK, x, 1);
    out[threadIdx.x] = x;
}

/* Subwarp s, of 8 lanes, adds up s + 1 times. */
__global__ void simt_shuffles_of_subwarps(const float *in, float *out)
{
    const int lane = threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i <= lane / 8; i++)
        sum += subwarp_sum<8>(in[32 * i + lane]);
    out[lane] = sum;
}

__global__ void simt_votes(unsigned *out)
{
    const int lane = threadIdx.x % 32;
    unsigned x = __ballot_sync(FULL_MASK, lane % 3 == 0);
    x += (unsigned)__any_sync(FULL_MASK, lane == 5) + (unsigned)__all_sync(FULL_MASK, lane < 32);
    x += __match_any_sync(FULL_MASK, lane / 4);
    if (lane < 4) x += __ballot_sync(0xfu, lane);
    out[threadIdx.x] = x;
}

/* ---- matrix products ------------------------------------------------------------------------- */

__global__ void simt_products(const uint32_t *in, float *out)
{
    const int lane = threadIdx.x % 32;
    uint32_t a[4] = {in[lane], 0, 0, 0}, b[2] = {in[lane + 32], 0};
    float c[4] = {};
    for (int i = 0; i < 7; i++)
        mma_m16n8k16_f16(c, a, b, c);
    mma_m16n8k8_tf32(c, a, b, c);
    out[threadIdx.x] = c[0];
}

/* ---- asynchronous copies --------------------------------------------------------------------- */

/* Two groups of copies: 16 B a lane, then 4 B a lane from every second float. Each is one request
 * for global and one for shared memory. */
__global__ void pattern_async_copy(const float *in, float *out)
{
    __shared__ __align__(128) float tile[32 * 4 + 32];
    const int lane = threadIdx.x;
    async_copy<16>(&tile[4 * lane], &in[4 * lane]);
    async_commit();
    async_copy<4>(&tile[128 + lane], &in[128 + 2 * lane]);
    async_commit();
    async_wait<1>();
    __syncthreads();
    float x = tile[4 * (31 - lane)];
    async_wait<0>();
    __syncthreads();
    out[lane] = x + tile[128 + 31 - lane];
}

/* 16 B rows that are 128 B apart, in both memories. */
__global__ void pattern_async_copy_column(const float *in, float *out)
{
    __shared__ __align__(128) float tile[32 * 32];
    const int lane = threadIdx.x;
    async_copy<16>(&tile[32 * lane], &in[32 * lane]);
    async_wait_all();
    __syncthreads();
    out[lane] = tile[lane];
}

/* Lanes 0 .. 15 copy all of their 16 B, the others nothing, and have them filled with zeros. */
__global__ void simt_async_copy_half_empty(const float *in, float *out)
{
    __shared__ __align__(128) float tile[32 * 4];
    const int lane = threadIdx.x;
    async_copy_zfill<16>(&tile[4 * lane], &in[4 * lane], lane < 16 ? 16 : 0);
    async_wait_all();
    __syncthreads();
    out[lane] = tile[lane];
}

/* The other way round: the first lane has nothing to read. */
__global__ void simt_async_copy_first_empty(const float *in, float *out)
{
    __shared__ __align__(128) float tile[32 * 4];
    const int lane = threadIdx.x;
    async_copy_zfill<16>(&tile[4 * lane], &in[4 * lane], lane < 16 ? 0 : 16);
    async_wait_all();
    __syncthreads();
    out[lane] = tile[lane];
}

/* Lane l copies 4 (l % 4 + 1) of its 16 B: 320 B in all. */
__global__ void simt_async_copy_ragged(const float *in, float *out)
{
    __shared__ __align__(128) float tile[32 * 4];
    const int lane = threadIdx.x;
    async_copy_zfill<16>(&tile[4 * lane], &in[4 * lane], 4 * (lane % 4 + 1));
    async_wait_all();
    __syncthreads();
    out[lane] = tile[lane];
}

void warp_operations(void)
{
    uint32_t *in = device_zeros<uint32_t>(2048), *out = device_zeros<uint32_t>(2048);
    const auto in_order = [](int lane) { return lane; };

    /* 2 blocks of 3 warps, the last of them with 16 lanes; 6 barriers each. */
    expectation e;
    e.operation(OP_BARRIER, 2 * 3 * 6);
    for (int warp = 0; warp < 6; warp++)
        e.store(warp % 3 == 2 ? 0xffffu : ALL_LANES,
                [=](int lane) { return 80 * (warp / 3) + 32 * (warp % 3) + lane; });
    EXPECT(simt_barriers, 2, 80, ((int *)out), e);

    e = {};
    e.operation(OP_SYNCWARP, 2 * (2 + 1 + 1)); /* the halves take different branches */
    for (int warp = 0; warp < 2; warp++)
        e.store(ALL_LANES, in_order);
    EXPECT(simt_syncwarps, 1, 64, ((int *)out), e);

    e = {};
    e.operation(OP_SHUFFLE, 5 + 3 + 2);
    e.store(ALL_LANES, in_order);
    EXPECT(simt_shuffles, 1, 32, ((float *)out), e);

    e = {};
    for (int i = 0; i < 4; i++) {
        e.load(lanes_where([=](int lane) { return i <= lane / 8; }), in_order);
        e.operation(OP_SHUFFLE, 3);
    }
    e.store(ALL_LANES, in_order);
    EXPECT(simt_shuffles_of_subwarps, 1, 32, ((float *)in, (float *)out), e);

    e = {};
    e.operation(OP_VOTE, 3 * 5);
    for (int warp = 0; warp < 3; warp++)
        e.store(ALL_LANES, in_order);
    EXPECT(simt_votes, 1, 96, ((unsigned *)out), e);

    e = {};
    e.operation(OP_MMA, 2 * 8);
    for (int warp = 0; warp < 2; warp++) {
        e.load(ALL_LANES, in_order);
        e.load(ALL_LANES, in_order);
        e.store(ALL_LANES, in_order);
    }
    EXPECT(simt_products, 1, 64, (in, (float *)out), e);

    const auto quads = [](int lane) { return 16 * lane; };
    e = {};
    e.operation(OP_ASYNC_COPY, 2);
    e.operation(OP_BARRIER, 2);
    e.access(GLOBAL_LOAD, 16, ALL_LANES, quads);
    e.access(SHARED_STORE, 16, ALL_LANES, quads);
    e.access(GLOBAL_LOAD, 4, ALL_LANES, [](int lane) { return 8 * lane; });
    e.access(SHARED_STORE, 4, ALL_LANES, [](int lane) { return 4 * lane; });
    e.access(SHARED_LOAD, 4, ALL_LANES,
             [](int lane) { return 16 * (31 - lane); }); /* 4 to a bank */
    e.access(SHARED_LOAD, 4, ALL_LANES, [](int lane) { return 4 * (31 - lane); });
    e.store(ALL_LANES, in_order);
    EXPECT(pattern_async_copy, 1, 32, ((float *)in, (float *)out), e);

    e = {};
    e.operation(OP_ASYNC_COPY);
    e.operation(OP_BARRIER);
    e.access(GLOBAL_LOAD, 16, ALL_LANES, [](int lane) { return 128 * lane; });
    e.access(SHARED_STORE, 16, ALL_LANES, [](int lane) { return 128 * lane; });
    e.access(SHARED_LOAD, 4, ALL_LANES, [](int lane) { return 4 * lane; });
    e.store(ALL_LANES, in_order);
    EXPECT(pattern_async_copy_column, 1, 32, ((float *)in, (float *)out), e);

    e = {};
    e.operation(OP_ASYNC_COPY);
    e.operation(OP_BARRIER);
    e.access(GLOBAL_LOAD, 16, 0xffffu, quads);
    e.access(SHARED_STORE, 16, ALL_LANES, quads);
    e.access(SHARED_LOAD, 4, ALL_LANES, [](int lane) { return 4 * lane; });
    e.store(ALL_LANES, in_order);
    EXPECT(simt_async_copy_half_empty, 1, 32, ((float *)in, (float *)out), e);
    EXPECT(simt_async_copy_first_empty, 1, 32, ((float *)in, (float *)out), e);

    /* The first bytes of 32 times 16 B: 16 sectors; 320 B would fill 10. */
    e = {};
    e.operation(OP_ASYNC_COPY);
    e.operation(OP_BARRIER);
    e.n.access[GLOBAL_LOAD] =
        access_counters{.requests = 1, .lanes = 32, .bytes = 320, .cost = 16, .ideal = 10};
    e.access(SHARED_STORE, 16, ALL_LANES, quads);
    e.access(SHARED_LOAD, 4, ALL_LANES, [](int lane) { return 4 * lane; });
    e.store(ALL_LANES, in_order);
    EXPECT(simt_async_copy_ragged, 1, 32, ((float *)in, (float *)out), e);
    CUDA(cudaFree(in));
    CUDA(cudaFree(out));
}
