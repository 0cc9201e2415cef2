/*
 * idioms.cu - one line of a kernel is as many requests as nvcc makes of it, although another
 * compiler compiles it here: which accesses become one instruction, and which do not.
 */
#include "tests/counters/expect.h"

#include <cuda_fp16.h>

#define LAUNCH(KERNEL, BLOCKS, THREADS, ARGUMENTS) KERNEL<<<BLOCKS, THREADS>>> ARGUMENTS

__constant__ float TABLE[4] = {1, 2, 3, 4};
__device__ __align__(128) float KEPT[32];
__device__ __align__(128) float LARGE_TABLE[20000];

/* ---- loops that a compiler may know a library function for ----------------------------------- */

/* memset: a row of n floats for each lane. */
__global__ void idiom_zero_a_row(float *y, int n)
{
    float *mine = y + threadIdx.x * n;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        mine[i] = 0;
}
/* memcpy. */
__global__ void idiom_copy_a_row(const float *__restrict__ x, float *__restrict__ y, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++)
        y[threadIdx.x * n + i] = x[threadIdx.x * n + i];
}
/* One lane clears an array in shared memory. */
__global__ void idiom_zero_shared(int *y, int n)
{
    __shared__ __align__(128) int s[64];
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int i = 0; i < n; i++)
            s[i] = 0;
    }
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}

/* ---- neighbours ------------------------------------------------------------------------------ */

/* Two stores of 4 bytes: that they could be one of 8, nobody has promised. */
__global__ void idiom_store_neighbours(int *y)
{
    y[2 * threadIdx.x] = 1;
    y[2 * threadIdx.x + 1] = 2;
}
__global__ void idiom_load_neighbours(const float *x, float *y)
{
    y[threadIdx.x] = x[2 * threadIdx.x] * x[2 * threadIdx.x + 1];
}
/* A number put together from bytes. */
__global__ void idiom_load_bytes(const unsigned char *x, unsigned *y)
{
    const unsigned char *p = x + 4 * threadIdx.x;
    y[threadIdx.x] = p[0] | p[1] << 8 | p[2] << 16 | (unsigned)p[3] << 24;
}
__global__ void idiom_store_bytes(unsigned char *y, unsigned value)
{
    unsigned char *p = y + 4 * threadIdx.x;
    p[0] = (unsigned char)value;
    p[1] = (unsigned char)(value >> 8);
    p[2] = (unsigned char)(value >> 16);
    p[3] = (unsigned char)(value >> 24);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* A type's alignment says how many bytes may move at once. */
struct plain_pair {
    float value;
    int column;
};
struct __align__(8) aligned_pair
{
    float value;
    int column;
};
__global__ void idiom_plain_pair(const plain_pair *x, float *y)
{
    const plain_pair p = x[threadIdx.x];
    y[threadIdx.x] = p.value * (float)p.column;
}
__global__ void idiom_aligned_pair(const aligned_pair *x, float *y)
{
    const aligned_pair p = x[threadIdx.x];
    y[threadIdx.x] = p.value * (float)p.column;
}
__global__ void idiom_float3(const float3 *x, float *y)
{
    const float3 p = x[threadIdx.x];
    y[threadIdx.x] = p.x + p.y * p.z;
}
__global__ void idiom_float4(const float4 *x, float4 *y)
{
    const float4 p = x[threadIdx.x];
    y[threadIdx.x] = make_float4(p.w, p.z, p.y, p.x);
}
/* Elements of a vector in memory are read one by one, if they are read one by one. */
__global__ void idiom_one_of_float4(const float4 *x, float *y)
{
    y[threadIdx.x] = x[threadIdx.x].y;
}
__global__ void idiom_half2(const __half2 *x, __half2 *y)
{
    y[threadIdx.x] = __hadd2(x[threadIdx.x], x[threadIdx.x + 32]);
}
__global__ void idiom_half(const __half *x, float *y)
{
    y[threadIdx.x] = __half2float(x[threadIdx.x]);
}
__global__ void idiom_double(const double *x, double *y)
{
    y[threadIdx.x] = x[threadIdx.x] * 2;
}
__global__ void idiom_uchar4(const uchar4 *x, int *y)
{
    const uchar4 p = x[threadIdx.x];
    y[threadIdx.x] = p.x + p.y + p.z + p.w;
}
/* Read through a pointer to a larger type. */
__global__ void idiom_reinterpret(const float *x, float *y)
{
    const float4 p = *reinterpret_cast<const float4 *>(x + 4 * threadIdx.x);
    y[threadIdx.x] = p.x + p.y + p.z + p.w;
}

/* ---- read once, or again --------------------------------------------------------------------- */

/* The store may have changed what was read before it. */
__global__ void idiom_read_again(const float *x, float *y)
{
    const float a = x[threadIdx.x];
    y[threadIdx.x] = a * 2;
    y[threadIdx.x + 32] = x[threadIdx.x];
}
/* It cannot have. */
__global__ void idiom_read_once(const float *__restrict__ x, float *__restrict__ y)
{
    const float a = x[threadIdx.x];
    y[threadIdx.x] = a;
    y[threadIdx.x + 32] = x[threadIdx.x] + 1;
}
/* Nor what is read before a loop, and again in each round. */
__global__ void idiom_read_outside_the_loop(const float *__restrict__ x, float *__restrict__ y,
                                            int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++)
        y[i * 32 + threadIdx.x] = x[threadIdx.x] * (float)i;
}
/* Added up in memory: y and x may be the same, so it has to be stored each time round. But what has
 * just been stored is known. */
__global__ void idiom_sum_in_memory(const float *x, float *y, int n)
{
#pragma unroll 1
    for (int i = 0; i < n; i++)
        y[threadIdx.x] += x[i * 32 + threadIdx.x];
}
/* As a flag is read: each time. */
__global__ void idiom_volatile(const volatile int *x, int *y)
{
    y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x] + x[threadIdx.x];
}

/* ---- what is no request ---------------------------------------------------------------------- */

struct weights {
    float of[3];
    int index;
};
/* Parameters, constants and the kernel's own arrays. */
__global__ void idiom_no_request(weights w, float *y, int n)
{
    float own[8];
    for (int i = 0; i < 8; i++)
        own[i] = w.of[i % 3] * (float)i;
    float a = TABLE[n % 4];
    for (int i = 0; i < n; i++) {
        a += own[(i + w.index) % 8];
        own[i % 8] = a;
    }
    y[threadIdx.x] = a + own[(threadIdx.x + n) % 8];
}

/* Variables of the program in global memory: one that is stored to, one that is too large for others. */
__global__ void idiom_variables(const float *x, float *y)
{
    const int lane = threadIdx.x;
    KEPT[lane] = x[lane];
    __syncwarp();
    y[lane] = KEPT[31 - lane] + LARGE_TABLE[2 * lane];
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* `times` requests of `size` bytes: the i-th of lane l at stride * l + i * size. */
static void neighbours(expectation *e, access_kind kind, int size, int stride, int times)
{
    for (int i = 0; i < times; i++)
        e->access(kind, size, ALL_LANES, [=](int lane) { return stride * lane + i * size; });
}
static expectation move(int size, int stride, int times, int store_size, int store_stride,
                        int stores)
{
    expectation e;
    neighbours(&e, GLOBAL_LOAD, size, stride, times);
    neighbours(&e, GLOBAL_STORE, store_size, store_stride, stores);
    return e;
}

void idioms(void)
{
    float *x = device_zeros<float>(4096), *y = device_zeros<float>(4096);
    const void *in = x;
    void *out = y;

    EXPECT(idiom_zero_a_row, 1, 32, (y, 21), move(0, 0, 0, 4, 84, 21));
    EXPECT(idiom_copy_a_row, 1, 32, (x, y, 21), move(4, 84, 21, 4, 84, 21));
    expectation e;
    for (int i = 0; i < 50; i++)
        e.access(SHARED_STORE, 4, 1, [=](int) { return 4 * i; });
    e.operation(OP_BARRIER);
    e.access(SHARED_LOAD, 4, ALL_LANES, [](int lane) { return 4 * lane; });
    e.store(ALL_LANES, [](int lane) { return lane; });
    EXPECT(idiom_zero_shared, 1, 32, ((int *)y, 50), e);

    EXPECT(idiom_store_neighbours, 1, 32, ((int *)y), move(0, 0, 0, 4, 8, 2));
    EXPECT(idiom_load_neighbours, 1, 32, (x, y), move(4, 8, 2, 4, 4, 1));
    EXPECT(idiom_load_bytes, 1, 32, ((const unsigned char *)in, (unsigned *)out),
           move(1, 4, 4, 4, 4, 1));
    EXPECT(idiom_store_bytes, 1, 32, ((unsigned char *)out, 7u), move(0, 0, 0, 1, 4, 4));

    EXPECT(idiom_plain_pair, 1, 32, ((const plain_pair *)in, y), move(4, 8, 2, 4, 4, 1));
    EXPECT(idiom_aligned_pair, 1, 32, ((const aligned_pair *)in, y), move(8, 8, 1, 4, 4, 1));
    EXPECT(idiom_float3, 1, 32, ((const float3 *)in, y), move(4, 12, 3, 4, 4, 1));
    EXPECT(idiom_float4, 1, 32, ((const float4 *)in, (float4 *)out), move(16, 16, 1, 16, 16, 1));
    e = {};
    e.access(GLOBAL_LOAD, 4, ALL_LANES, [](int lane) { return 16 * lane + 4; });
    e.store(ALL_LANES, [](int lane) { return lane; });
    EXPECT(idiom_one_of_float4, 1, 32, ((const float4 *)in, y), e);
    EXPECT(idiom_half2, 1, 32, ((const __half2 *)in, (__half2 *)out), [] {
        expectation half2;
        half2.load(ALL_LANES, [](int lane) { return lane; });
        half2.load(ALL_LANES, [](int lane) { return lane + 32; });
        half2.store(ALL_LANES, [](int lane) { return lane; });
        return half2;
    }());
    EXPECT(idiom_half, 1, 32, ((const __half *)in, y), move(2, 2, 1, 4, 4, 1));
    EXPECT(idiom_double, 1, 32, ((const double *)in, (double *)out), move(8, 8, 1, 8, 8, 1));
    EXPECT(idiom_uchar4, 1, 32, ((const uchar4 *)in, (int *)out), move(4, 4, 1, 4, 4, 1));
    EXPECT(idiom_reinterpret, 1, 32, (x, y), move(16, 16, 1, 4, 4, 1));

    const auto rows = [](int loads,
                         int stores) { /* of 128 B */
                                       expectation r;
                                       for (int i = 0; i < loads; i++)
                                           r.load(ALL_LANES, [](int lane) { return lane; });
                                       for (int i = 0; i < stores; i++)
                                           r.store(ALL_LANES, [](int lane) { return lane; });
                                       return r;
    };
    EXPECT(idiom_read_again, 1, 32, (x, y), rows(2, 2));
    EXPECT(idiom_read_once, 1, 32, (x, y), rows(1, 2));
    EXPECT(idiom_read_outside_the_loop, 1, 32, (x, y, 9), rows(1, 9));
    EXPECT(idiom_sum_in_memory, 1, 32, (x, y, 9), rows(1 + 9, 9));
    EXPECT(idiom_volatile, 1, 32, ((const volatile int *)in, (int *)out), rows(3, 1));
    EXPECT(idiom_no_request, 1, 32, (weights{{1, 2, 3}, 1}, y, 13), rows(0, 1));
    e = rows(1, 1);
    e.operation(OP_SYNCWARP);
    e.load(ALL_LANES, [](int lane) { return 31 - lane; });
    e.load(ALL_LANES, [](int lane) { return 2 * lane; });
    e.store(ALL_LANES, [](int lane) { return lane; });
    EXPECT(idiom_variables, 1, 32, (x, y), e);
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
}
