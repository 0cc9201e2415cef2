/*
 * contents.cu - reads of what was never written, or has yet to arrive; writes to what must not
 * change.
 */
#include "planted.h"

#include "device/async_copy.cuh"
#include "device/mbarrier.cuh"

static const int MEMCHECK = INSTRUMENT_MEMCHECK;

template <bool RIGHT> static __global__ void uninitialised_global_kernel(const float *A, float *C)
{
    C[threadIdx.x] = (HERE, A[threadIdx.x]);
}
template <bool RIGHT> static void uninitialised_global(void)
{
    float *A;
    CUDA(cudaMalloc(&A, 32 * sizeof(float)));
    instruments_here()->name_array(A, 32 * sizeof(float), sizeof(float), "A", false);
    CUDA(cudaMemset(A, 0, (RIGHT ? 32 : 31) * sizeof(float)));
    uninitialised_global_kernel<RIGHT><<<1, 32>>>(A, named<float>("C", 32));
}

/* A copy within device memory is no better than what it was made of. */
template <bool RIGHT> static __global__ void copied_kernel(const int *A, int *C)
{
    C[threadIdx.x] = (HERE, A[threadIdx.x]);
}
template <bool RIGHT> static void copied(void)
{
    int *from, *A = named<int>("A", 32);
    CUDA(cudaMalloc(&from, 32 * sizeof(int)));
    if (RIGHT) CUDA(cudaMemset(from, 0, 32 * sizeof(int)));
    CUDA(cudaMemcpy(A + 8, from, 24 * sizeof(int), cudaMemcpyDeviceToDevice));
    copied_kernel<RIGHT><<<1, 32>>>(A, named<int>("C", 32));
}

/* An atomic function reads, too. */
template <bool RIGHT> static __global__ void uninitialised_atomic_kernel(float *C)
{
    HERE, atomicAdd(&C[threadIdx.x % 4], 1.0f);
}
template <bool RIGHT> static void uninitialised_atomic(void)
{
    float *C = named<float>("C", 4);
    if (!RIGHT) instruments_here()->forget_contents(C, 4 * sizeof(float));
    uninitialised_atomic_kernel<RIGHT><<<1, 32>>>(C);
}

template <bool RIGHT> static __global__ void uninitialised_shared_kernel(float *C, int count)
{
    __shared__ float tile[64];
    if (RIGHT || (int)threadIdx.x < count) tile[threadIdx.x] = 1;
    __syncthreads();
    C[threadIdx.x] = (HERE, tile[63 - threadIdx.x]);
}
template <bool RIGHT> static void uninitialised_shared(void)
{
    uninitialised_shared_kernel<RIGHT><<<1, 64>>>(named<float>("C", 64), 60);
}

/* Reads the leftovers of the block before, which are arbitrary, too. */
template <bool RIGHT> static __global__ void uninitialised_dynamic_kernel(float *C)
{
    extern __shared__ float sum[];
    if (RIGHT || blockIdx.x == 0) sum[threadIdx.x] = 0;
    HERE, sum[threadIdx.x] += 1;
    C[blockIdx.x * blockDim.x + threadIdx.x] = sum[threadIdx.x];
}
template <bool RIGHT> static void uninitialised_dynamic(void)
{
    uninitialised_dynamic_kernel<RIGHT><<<2, 32, 32 * sizeof(float)>>>(named<float>("C", 64));
}

template <bool RIGHT> static __global__ void write_to_input_kernel(int *row_ptr, int *C)
{
    int *target = RIGHT ? C : row_ptr;
    HERE, target[threadIdx.x] = row_ptr[threadIdx.x] - row_ptr[0];
}
template <bool RIGHT> static void write_to_input(void)
{
    write_to_input_kernel<RIGHT><<<1, 32>>>(named<int>("row_ptr", 32, true), named<int>("C", 32));
}

template <bool RIGHT> static __global__ void read_before_wait_kernel(const float *A, float *C)
{
    __shared__ __align__(16) float tile[2][32];
    tile[0][threadIdx.x] = tile[1][threadIdx.x] = 0; /* initialised is not enough */
    async_copy<4>(&tile[0][threadIdx.x], &A[threadIdx.x]);
    async_commit();
    async_copy<4>(&tile[1][threadIdx.x], &A[32 + threadIdx.x]);
    async_commit();
    async_wait<1>();
    float sum = tile[0][threadIdx.x];
    if (RIGHT) async_wait<0>();
    HERE, sum += tile[1][threadIdx.x];
    C[threadIdx.x] = sum;
    async_wait_all();
}
template <bool RIGHT> static void read_before_wait(void)
{
    read_before_wait_kernel<RIGHT><<<1, 32>>>(named<float>("A", 64), named<float>("C", 32));
}

/* The source of an asynchronous copy is an access like any other. */
template <bool RIGHT>
static __global__ void async_past_end_kernel(const float *A, float *C, int count)
{
    __shared__ __align__(16) float tile[64];
    const int i = 4 * threadIdx.x, valid = max(0, min(16, 4 * (count - i)));
    HERE, async_copy_zfill<16>(&tile[i], &A[i], RIGHT ? valid : 16);
    async_wait_all();
    __syncthreads();
    C[threadIdx.x] = tile[threadIdx.x];
}
template <bool RIGHT> static void async_past_end(void)
{
    async_past_end_kernel<RIGHT><<<1, 16>>>(named<float>("A", 61), named<float>("C", 16), 61);
}

/* The other tile's barrier. */
template <bool RIGHT> static __global__ void bulk_read_early_kernel(const float *A, float *C)
{
    __shared__ mbarrier b[2];
    __shared__ __align__(16) float tile[2][32];
    if (threadIdx.x < 2) {
        mbarrier_init(&b[threadIdx.x], 1);
        mbarrier_publish();
        mbarrier_expect(&b[threadIdx.x], sizeof tile[0]);
        bulk_copy(tile[threadIdx.x], A + 32 * threadIdx.x, sizeof tile[0], &b[threadIdx.x]);
    }
    __syncthreads();
    mbarrier_wait(&b[0], 0);
    if (RIGHT) mbarrier_wait(&b[1], 0);
    HERE, C[threadIdx.x] = tile[1][threadIdx.x];
    mbarrier_wait(&b[1], 0);
}
template <bool RIGHT> static void bulk_read_early(void)
{
    bulk_read_early_kernel<RIGHT><<<1, 32>>>(named<float>("A", 64), named<float>("C", 32));
}

/* A bulk copy's source. */
template <bool RIGHT> static __global__ void bulk_past_end_kernel(const float *A, float *C)
{
    __shared__ mbarrier b;
    __shared__ __align__(16) float tile[32];
    if (threadIdx.x == 0) {
        mbarrier_init(&b, 1);
        mbarrier_publish();
        mbarrier_expect(&b, RIGHT ? 96 : 128);
        HERE, bulk_copy(tile, A, RIGHT ? 96 : 128, &b);
    }
    __syncthreads();
    mbarrier_wait(&b, 0);
    if (threadIdx.x < 24) C[threadIdx.x] = tile[threadIdx.x];
}
template <bool RIGHT> static void bulk_past_end(void)
{
    bulk_past_end_kernel<RIGHT><<<1, 32>>>(named<float>("A", 24), named<float>("C", 24));
}

void plant_contents(void)
{
    BUG(uninitialised_global, MEMCHECK, "uninitialised read",
        "reads 4 bytes at A[31], which nobody", {0, 0, 0}, {31, 0, 0});
    BUG(copied, MEMCHECK, "uninitialised read", "reads 4 bytes at A[8]", {0, 0, 0}, {8, 0, 0});
    BUG(uninitialised_atomic, MEMCHECK, "uninitialised read", "updates 4 bytes at C[0]", {0, 0, 0},
        {0, 0, 0});
    BUG(uninitialised_shared, MEMCHECK, "uninitialised read",
        "reads 4 bytes at shared tile[63], which no thread", {0, 0, 0}, {0, 0, 0});
    BUG(uninitialised_dynamic, MEMCHECK, "uninitialised read",
        "reads 4 bytes at dynamic shared [0]", {1, 0, 0}, {0, 0, 0});
    BUG(write_to_input, MEMCHECK, "write to an input", "writes 4 bytes at row_ptr[0]", {0, 0, 0},
        {0, 0, 0});
    BUG(read_before_wait, MEMCHECK, "asynchronous copy", "reads 4 bytes at shared tile[32]",
        {0, 0, 0}, {0, 0, 0});
    BUG(async_past_end, MEMCHECK, "out of bounds", "reads 16 bytes at A[61] (1 past its end)",
        {0, 0, 0}, {15, 0, 0});
    BUG(bulk_read_early, MEMCHECK, "asynchronous copy", "reads 4 bytes at shared tile[32]",
        {0, 0, 0}, {0, 0, 0});
    BUG(bulk_past_end, MEMCHECK, "out of bounds", "reads 128 bytes at A[24] (1 past its end)",
        {0, 0, 0}, {0, 0, 0});
}
