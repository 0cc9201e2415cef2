/*
 * clean.cu - kernels that do something unusual and are right: nothing may be found in them.
 */
#include "planted.h"

#include "device/async_copy.cuh"
#include "device/mma.cuh"
#include "device/warp.cuh"
#include <cuda_fp16.h>

/* Neighbours in one word: bytes and halves, in shared and global memory. */
static __global__ void subword_kernel(unsigned char *bytes, __half *halves)
{
    __shared__ unsigned char b[128];
    __shared__ __half h[128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, back = 127 - threadIdx.x;
    b[threadIdx.x] = (unsigned char)i;
    h[threadIdx.x] = __float2half(1);
    bytes[i] = 1;
    halves[i] = __float2half(2);
    __syncthreads();
    bytes[i] = b[back];
    halves[i] = h[back];
}
static void subword(void)
{
    subword_kernel<<<3, 128>>>(named<unsigned char>("bytes", 384), named<__half>("halves", 384));
}

/* Two tiles in turn: one barrier a round is enough. */
static __global__ void double_buffer_kernel(const float *A, float *C, int rounds)
{
    __shared__ __align__(16) float tile[2][128];
    const int t = threadIdx.x;
    float sum = 0;
    async_copy<4>(&tile[0][t], &A[t]);
    async_commit();
    for (int round = 0; round < rounds; round++) {
        async_wait<0>();
        __syncthreads();
        if (round + 1 < rounds) async_copy<4>(&tile[(round + 1) % 2][t], &A[128 * (round + 1) + t]);
        async_commit();
        for (int i = 0; i < 128; i++)
            sum += tile[round % 2][i];
    }
    C[blockIdx.x * 128 + t] = sum;
}
static void double_buffer(void)
{
    double_buffer_kernel<<<2, 128>>>(named<float>("A", 640, true), named<float>("C", 256), 5);
}

/* Every block adds to the sum when it is its turn. */
static __global__ void semaphore_kernel(int *turn, int *sum)
{
    if (threadIdx.x == 0) {
        while (atomicAdd(turn, 0) != (int)blockIdx.x) {
        }
        __threadfence();
    }
    __syncthreads();
    sum[threadIdx.x] += blockIdx.x;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(turn, blockIdx.x + 1);
}
static void semaphore(void)
{
    semaphore_kernel<<<200, 64>>>(named<int>("turn", 1), named<int>("sum", 64));
}

/* CUDA's example: no fence after the ticket. */
static __global__ void last_block_kernel(int *partial, unsigned *ticket, int *C)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = 1;
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
        atomicAdd(C, partial[i]);
}
static void last_block(void)
{
    last_block_kernel<<<300, 64>>>(named<int>("partial", 300), named<unsigned>("ticket", 1),
                                   named<int>("C", 1));
}

/* Barrier first, then one thread's fence: it covers what the whole block has written. */
static __global__ void fence_of_one_kernel(int *B, int *ticket, int *C)
{
    __shared__ bool last;
    B[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(ticket, 1) == (int)gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    for (unsigned k = 0; last && k < gridDim.x; k++)
        C[threadIdx.x] += B[k * blockDim.x + threadIdx.x];
}
static void fence_of_one(void)
{
    fence_of_one_kernel<<<5, 96>>>(named<int>("B", 480), named<int>("ticket", 1),
                                   named<int>("C", 96));
}

/* Look-back: a flag for each block. A block knows of those before its predecessor by hearsay. */
static __global__ void look_back_kernel(volatile int *ready, int *prefix)
{
    const int b = blockIdx.x;
    if (b > 0) {
        while (ready[b - 1] == 0) {
        }
        __threadfence();
    }
    prefix[b] = b > 0 ? prefix[b - 1] + prefix[b / 2 > 0 ? b / 2 - 1 : 0] : 1;
    __threadfence();
    ready[b] = 1;
}
static void look_back(void)
{
    look_back_kernel<<<100, 1>>>(named<int>("ready", 100), named<int>("prefix", 100));
}

/* Eight lanes leave something, meet, and one of them tells the other blocks. */
static __global__ void subwarp_ticket_kernel(int *partial, int *ticket, int *C)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, groups = gridDim.x * blockDim.x / 8;
    partial[i] = i;
    __syncwarp(subwarp_mask<8>());
    int before = 0;
    if (lane_id() % 8 == 0) {
        __threadfence();
        before = atomicAdd(ticket, 1);
        __threadfence();
    }
    before = __shfl_sync(subwarp_mask<8>(), before, 0, 8);
    __syncwarp(subwarp_mask<8>());
    for (int k = lane_id() % 8; before == groups - 1 && k < 8 * groups; k += 8)
        C[k] = partial[k];
}
static void subwarp_ticket(void)
{
    subwarp_ticket_kernel<<<4, 64>>>(named<int>("partial", 256), named<int>("ticket", 1),
                                     named<int>("C", 256));
}

/* A warp tells the other of its block, which tells the next block. */
static __global__ void relay_kernel(int *turn, int *C)
{
    __shared__ int full;
    if (threadIdx.x == 0) full = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicAdd(turn, 0) != (int)blockIdx.x) {
        }
        __threadfence();
        *C += 1;
        __threadfence_block();
        atomicExch(&full, 1);
    }
    if (threadIdx.x == 32) {
        while (atomicAdd(&full, 0) == 0) {
        }
        __threadfence();
        atomicAdd(turn, 1);
    }
}
static void relay(void)
{
    relay_kernel<<<20, 64>>>(named<int>("turn", 1), named<int>("C", 1));
}

/* A warp that gives its work to another, one piece after the other. */
static __global__ void hand_over_kernel(int *C)
{
    __shared__ int box[32], full;
    if (threadIdx.x == 0) full = 0;
    __syncthreads();
    const int lane = lane_id();
    for (int round = 0; round < 10; round++) {
        if (warp_id() == 0) {
            while (atomicAdd(&full, 0) != 0) {
            }
            __threadfence_block();
            __syncwarp();
            box[lane] = round * lane;
            __threadfence_block();
            __syncwarp();
            if (lane == 0) atomicExch(&full, 1);
        } else {
            while (atomicAdd(&full, 0) != 1) {
            }
            __threadfence_block();
            __syncwarp();
            C[32 * blockIdx.x + lane] += box[31 - lane];
            __threadfence_block();
            __syncwarp();
            if (lane == 0) atomicExch(&full, 0);
        }
        __syncwarp();
    }
}
static void hand_over(void)
{
    hand_over_kernel<<<2, 64>>>(named<int>("C", 64));
}

/* More barriers than fit 16 bits. Every round one thread writes and another reads. */
static __global__ void many_barriers_kernel(int *C, int rounds)
{
    __shared__ int x;
    if (threadIdx.x == 0) x = 0;
    __syncthreads();
    for (int round = 0; round < rounds; round++) {
        if (round % 2 == (int)threadIdx.x / 32 && lane_id() == 0) x += 1;
        __syncthreads();
    }
    C[threadIdx.x] = x;
}
static void many_barriers(void)
{
    many_barriers_kernel<<<1, 64>>>(named<int>("C", 64), 70001);
}

/* The same for __syncwarp, between pairs that change. */
static __global__ void many_syncwarps_kernel(int *C, int rounds)
{
    __shared__ int x[32];
    const int lane = lane_id();
    x[lane] = 0;
    for (int round = 0; round < rounds; round++) {
        const int partner = round % 2 ? lane ^ 1 : (lane % 2 ? lane + 1 : lane + 31) % 32;
        const unsigned pair = 1u << lane | 1u << partner;
        __syncwarp(pair);
        const int sum = x[lane] + x[partner];
        __syncwarp(pair);
        x[lane] = sum;
    }
    C[lane] = x[lane];
}
static void many_syncwarps(void)
{
    many_syncwarps_kernel<<<1, 32>>>(named<int>("C", 32), 35001);
}

/* Subwarps of 8 lanes that go their own ways. */
static __global__ void subwarps_kernel(int *C)
{
    __shared__ int tile[128];
    const unsigned mask = subwarp_mask<8>();
    const int t = threadIdx.x;
    for (int round = 0; round < (t / 8) % 5; round++) {
        tile[t] = round;
        __syncwarp(mask);
        const int sum = tile[t ^ 7] + tile[t ^ 3];
        __syncwarp(mask);
        C[t] += sum;
    }
}
static void subwarps(void)
{
    subwarps_kernel<<<1, 128>>>(named<int>("C", 128));
}

/* Threads that leave before a barrier, reads of one word by all, atomics of all on one word. */
static __global__ void early_exit_kernel(const int *A, int *C, int *sum, int count)
{
    __shared__ int tile[96];
    const int t = threadIdx.x;
    if (t >= count) return;
    tile[t] = A[t] + A[0];
    __syncthreads();
    C[blockIdx.x * count + t] = tile[count - 1 - t] + A[count - 1];
    atomicAdd(sum, 1);
    atomicMax(sum, t);
}
static void early_exit(void)
{
    early_exit_kernel<<<3, 96>>>(named<int>("A", 90, true), named<int>("C", 270),
                                 named<int>("sum", 1), 90);
}

/* __constant__ and __device__ variables, parameters passed by value, local arrays. */
struct numbers {
    int of[20];
};
__constant__ int table[4] = {1, 2, 3, 4};
static __device__ int results[32];
static __global__ void variables_kernel(numbers n, int *C, int k)
{
    int local[8];
    for (int i = 0; i < 8; i++)
        local[i] = n.of[(i + k) % 20] + table[(i + k) % 4];
    results[threadIdx.x] = local[(threadIdx.x + k) % 8];
    C[threadIdx.x] = results[threadIdx.x];
}
static void variables(void)
{
    variables_kernel<<<1, 32>>>(numbers{{5, 6}}, named<int>("C", 32), opaque(3));
}

/* Two launches follow each other; the second uses other shared memory and what the first has
 * left. */
static __global__ void fill_kernel(int *p)
{
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    p[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x];
}
static __global__ void add_kernel(const int *p, int *C)
{
    for (int i = 0; i < 8; i++)
        C[threadIdx.x] += p[i * blockDim.x + threadIdx.x];
}
static void two_launches(void)
{
    int *p, *C = named<int>("C", 64);
    CUDA(cudaMalloc(&p, 8 * 64 * sizeof *p));
    fill_kernel<<<8, 64, 256>>>(p);
    add_kernel<<<1, 64>>>(p, C);
    CUDA(cudaFree(p));
    CUDA(cudaMalloc(&p, 8 * 64 * sizeof *p));
    fill_kernel<<<8, 64, 512>>>(p);
    add_kernel<<<1, 64>>>(p, C);
}

/* Reads memory that memset and memcpy have initialised. */
static __global__ void library_kernel(const int *A, int *C, size_t bytes)
{
    __shared__ int tile[64];
    if (threadIdx.x == 0) memset(tile, 0, bytes);
    if (threadIdx.x == 32) memcpy(tile + 32, A, bytes);
    __syncthreads();
    C[threadIdx.x] = tile[threadIdx.x];
}
static void library(void)
{
    library_kernel<<<1, 64>>>(named<int>("A", 32, true), named<int>("C", 64), 32 * sizeof(int));
}

/* Rows that other lanes have stored. */
static __global__ void matrix_rows_kernel(unsigned *C)
{
    __shared__ __align__(16) unsigned short tile[8][8];
    uint32_t r[1];
    for (int i = threadIdx.x; i < 64; i += 32)
        tile[i / 8][i % 8] = (unsigned short)i;
    __syncwarp();
    ldmatrix_x1(r, &tile[threadIdx.x % 8][0]);
    C[threadIdx.x] = r[0];
}
static void matrix_rows(void)
{
    matrix_rows_kernel<<<1, 32>>>(named<unsigned>("C", 32));
}

/* A launch before the tracing began has written its array all the same. */
static void untraced_before(void)
{
    int *p, *C = named<int>("C", 64);
    CUDA(cudaMalloc(&p, 8 * 64 * sizeof *p));
    instruments_here()->end();
    fill_kernel<<<8, 64, 256>>>(p);
    instruments_here()->begin(false, nullptr);
    add_kernel<<<1, 64>>>(p, C);
}

void plant_clean(void)
{
    CLEAN(subword);
    CLEAN(double_buffer);
    CLEAN(semaphore);
    CLEAN(last_block);
    CLEAN(fence_of_one);
    CLEAN(look_back);
    CLEAN(subwarp_ticket);
    CLEAN(relay);
    CLEAN(hand_over);
    CLEAN(many_barriers);
    CLEAN(many_syncwarps);
    CLEAN(subwarps);
    CLEAN(early_exit);
    CLEAN(variables);
    CLEAN(two_launches);
    CLEAN(library);
    CLEAN(matrix_rows);
    CLEAN(untraced_before);
}
