/*
 * cluster.cu - device/cluster.cuh against the CUDA C++ Programming Guide and the PTX ISA. It tests ranks, a barrier of a
 * block and one of the cluster, and arrivals from one block at another's barrier. It also tests stores into another
 * block's memory, and copies that all blocks of a cluster receive.
 */
#include "tests/primitives/primitives.h"

#include "device/cluster.cuh"
#include "device/tensor_map.cuh"

constexpr int THREADS = 64, ROWS = 64, COLUMNS = 64;

struct cluster_of {
    tensor_map map;
    int *to;
    int size;
};

/* Each block has its own number, rank and shared memory; __syncthreads() is the block's. */
__global__ void ranks_kernel(const cluster_of a)
{
    extern __shared__ __align__(1024) int mine[];
    mine[threadIdx.x] = (int)blockIdx.x * 1000 + (int)threadIdx.x;
    __syncthreads();
    const int other = mine[THREADS - 1 - threadIdx.x];
    if (cluster_rank() == 0) __syncthreads(); /* the other blocks do not take part */
    cluster_sync();
    a.to[blockIdx.x * THREADS + threadIdx.x] = other * 10 + cluster_rank();
}

static void ranks(int size)
{
    constexpr int BLOCKS = 8;
    int to[BLOCKS * THREADS], wrong = 0, *d = device_zeros<int>(BLOCKS * THREADS);
    cluster_of a = {};
    a.to = d;
    CUDA(
        launch_in_clusters(ranks_kernel, BLOCKS, THREADS, THREADS * sizeof(int), nullptr, size, a));
    FINISH();
    to_host(to, d, BLOCKS * THREADS);
    for (int i = 0; i < BLOCKS * THREADS; i++) {
        const int block = i / THREADS, thread = i % THREADS;
        wrong += to[i] != (block * 1000 + THREADS - 1 - thread) * 10 + block % size;
    }
    tap_ok(wrong == 0, "clusters of %d: ranks, shared memory and barriers of each block", size);
}

/* In round i block i % size has the turn: it waits until all threads of the cluster have arrived at its barrier. */
__global__ void arrivals_kernel(const cluster_of a)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    mbarrier *const b = (mbarrier *)shared;
    if (threadIdx.x == 0) {
        mbarrier_init(b, THREADS * a.size);
        mbarrier_publish();
    }
    cluster_sync();
    int rounds = 0;
    for (int i = 0; i < 3 * a.size; i++) {
        mbarrier_arrive_in(b, i % a.size);
        if (i % a.size != cluster_rank()) continue;
        mbarrier_wait(b, rounds % 2);
        rounds++;
    }
    a.to[blockIdx.x * THREADS + threadIdx.x] = rounds;
    cluster_sync(); /* others may still arrive here */
}

static void arrivals(int size)
{
    constexpr int BLOCKS = 8;
    int to[BLOCKS * THREADS], wrong = 0, *d = device_zeros<int>(BLOCKS * THREADS);
    cluster_of a = {};
    a.to = d;
    a.size = size;
    CUDA(launch_in_clusters(arrivals_kernel, BLOCKS, THREADS, 1024, nullptr, size, a));
    FINISH();
    to_host(to, d, BLOCKS * THREADS);
    for (int x : to)
        wrong += x != 3;
    tap_ok(wrong == 0, "clusters of %d: arrivals at the barrier of each block in turn", size);
}

/* Each thread leaves a number with its namesake in every block, and adds up what all have left with it. */
__global__ void shared_kernel(const cluster_of a)
{
    extern __shared__ __align__(1024) int left[]; /* [rank][THREADS] */
    const int rank = cluster_rank(), thread = (int)threadIdx.x;
    cluster_sync(); /* all have begun */
    for (int other = 0; other < a.size; other++)
        *cluster_shared(&left[rank * THREADS + thread], other) =
            (int)blockIdx.x * 1000 + thread * 10 + other;
    cluster_sync();
    int sum = 0;
    for (int other = 0; other < a.size; other++)
        sum = 3 * sum + left[other * THREADS + thread];
    a.to[blockIdx.x * THREADS + thread] = sum;
}

static void shared_memory(int size)
{
    constexpr int BLOCKS = 8;
    int to[BLOCKS * THREADS], wrong = 0, *d = device_zeros<int>(BLOCKS * THREADS);
    cluster_of a = {};
    a.to = d;
    a.size = size;
    CUDA(launch_in_clusters(shared_kernel, BLOCKS, THREADS, size * THREADS * sizeof(int), nullptr,
                            size, a, true));
    FINISH();
    to_host(to, d, BLOCKS * THREADS);
    for (int i = 0; i < BLOCKS * THREADS; i++) {
        const int block = i / THREADS, rank = block % size;
        int want = 0;
        for (int other = 0; other < size; other++)
            want = 3 * want + (block - rank + other) * 1000 + i % THREADS * 10 + rank;
        wrong += to[i] != want;
    }
    tap_ok(wrong == 0, "clusters of %d: numbers left in the memory of each block", size);
}

/* Each block sends its share of a box's rows to all of them: every block has the whole box, each time another one. */
__global__ void multicast_kernel(const __grid_constant__ cluster_of a)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    uint16_t *const box = (uint16_t *)shared;
    mbarrier *const full = (mbarrier *)(shared + ROWS * COLUMNS * 2), *const empty = full + 1;
    if (threadIdx.x == 0) {
        mbarrier_init(full, 1);
        mbarrier_init(empty, a.size);
        mbarrier_publish();
    }
    cluster_sync();
    const int share = ROWS / a.size, first = cluster_rank() * share;
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        if (threadIdx.x == 0) {
            mbarrier_wait(empty, i % 2 ^ 1);
            mbarrier_expect(full, ROWS * COLUMNS * 2);
            tensor_copy_multicast(box + first * COLUMNS, &a.map, i * ROWS + first, 0, full,
                                  (1u << a.size) - 1);
        }
        mbarrier_wait(full, i % 2);
        for (int k = threadIdx.x; k < ROWS * COLUMNS; k += THREADS)
            sum = 3 * sum + box[k];
        __syncthreads();
        if ((int)threadIdx.x < a.size) mbarrier_arrive_in(empty, (int)threadIdx.x);
    }
    a.to[blockIdx.x * THREADS + threadIdx.x] = sum;
    cluster_sync();
}

static void multicast(int size)
{
    constexpr int BLOCKS = 8, BOXES = 4, COUNT = BOXES * ROWS * COLUMNS;
    static uint16_t from[COUNT];
    int to[BLOCKS * THREADS], want[THREADS] = {}, wrong = 0;
    uint64_t seed = 7;
    for (uint16_t &x : from)
        x = (uint16_t)random_bits(&seed);
    uint16_t *d_from = to_device(from, COUNT);
    int *d = device_zeros<int>(BLOCKS * THREADS);
    cluster_of a = {};
    a.to = d;
    a.size = size;
    CUDA(tensor_map_make(&a.map, d_from, BOXES * ROWS, COLUMNS, ROWS / size, COLUMNS));
    CUDA(launch_in_clusters(multicast_kernel, BLOCKS, THREADS, ROWS * COLUMNS * 2 + 64, nullptr,
                            size, a));
    FINISH();
    to_host(to, d, BLOCKS * THREADS);
    CUDA(cudaFree(d_from));
    for (int i = 0; i < BOXES; i++)
        for (int t = 0; t < THREADS; t++)
            for (int k = t; k < ROWS * COLUMNS; k += THREADS) {
                const int row = k / COLUMNS, at = k * 2 ^ (row % 8)
                                                              << 4; /* the swizzle of 128 bytes */
                want[t] = (int)(3u * (unsigned)want[t] + from[i * ROWS * COLUMNS + at / 2]);
            }
    for (int i = 0; i < BLOCKS * THREADS; i++)
        wrong += to[i] != want[i % THREADS];
    tap_ok(wrong == 0, "clusters of %d: shares of four boxes, sent to all", size);
}

/* With so much shared memory a multiprocessor holds one block, and all of a cluster's are neighbours. */
static void at_once(int size)
{
    const int bytes = 200 << 10;
    int clusters = 0;
    CUDA(cudaFuncSetAttribute((const void *)ranks_kernel,
                              cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    CUDA(clusters_at_once(ranks_kernel, THREADS, (size_t)bytes, size, &clusters));
    tap_ok(clusters > 0 && clusters <= device_facts_get()->sms / size,
           "clusters of %d: some run at once, and no more than there are multiprocessors", size);
}

int main()
{
    if (compute_capability() != 90) {
        tap_skip("needs compute capability 9.0", "clusters");
        return tap_done();
    }
    for (int size : {1, 2, 4, 8})
        ranks(size);
    for (int size : {1, 2, 4, 8})
        arrivals(size);
    for (int size : {1, 2, 8})
        shared_memory(size);
    for (int size : {1, 2, 4, 8})
        at_once(size);
    for (int size : {1, 2, 4, 8})
        multicast(size);
    return tap_done();
}
