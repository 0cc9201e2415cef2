/*
 * addresses.cu - accesses to places where the kernel has no business.
 */
#include "planted.h"

static const int MEMCHECK = INSTRUMENT_MEMCHECK;

/* ---- global memory --------------------------------------------------------------------------- */

template <bool RIGHT>
static __global__ void read_past_end_kernel(const float *A, float *C, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (RIGHT && i >= count) return;
    C[i] = (HERE, A[i]);
}
template <bool RIGHT> static void read_past_end(void)
{
    read_past_end_kernel<RIGHT><<<2, 32>>>(named<float>("A", 60), named<float>("C", 64), 60);
}

template <bool RIGHT> static __global__ void write_past_end_kernel(float *C, int count)
{
    const int i = threadIdx.x + 8 * threadIdx.y;
    if (RIGHT && i >= count) return;
    HERE, C[i] = 1;
}
template <bool RIGHT> static void write_past_end(void)
{
    write_past_end_kernel<RIGHT><<<1, dim3(8, 2)>>>(named<float>("C", 13), 13);
}

template <bool RIGHT> static __global__ void before_start_kernel(const float *A, float *C)
{
    const int i = threadIdx.x, left = RIGHT ? max(i - 1, 0) : i - 1;
    C[i] = (HERE, A[left]);
}
template <bool RIGHT> static void before_start(void)
{
    before_start_kernel<RIGHT><<<1, 32>>>(named<float>("A", 32), named<float>("C", 32));
}

/* As the harness lays arrays out: inside an allocation, between guard zones. */
template <bool RIGHT> static __global__ void guard_kernel(float *C, int count)
{
    for (int i = threadIdx.x; RIGHT ? i < count : i <= count; i += blockDim.x)
        HERE, C[i] = 1;
}
template <bool RIGHT> static void guard(void)
{
    float *whole = device_zeros<float>(64 + 40 + 64);
    instruments_here()->name_array(whole + 64, 40 * sizeof(float), sizeof(float), "C", false);
    guard_kernel<RIGHT><<<1, 32>>>(whole + 64, 40);
}

/* By a function of the C library. */
template <bool RIGHT> static __global__ void clear_kernel(float *C, int count)
{
    const size_t bytes = count * sizeof(float);
    HERE, memset(C, 0, RIGHT ? bytes : bytes + 8);
}
template <bool RIGHT> static void clear(void)
{
    clear_kernel<RIGHT><<<1, 1>>>(named<float>("C", 38), 38);
}

/* Goes so far that no memory is there: the launch ends. */
template <bool RIGHT> static __global__ void far_away_kernel(float *C, int row_bytes)
{
    HERE, C[(RIGHT ? 1 : row_bytes) * threadIdx.x] = 1;
}
template <bool RIGHT> static void far_away(void)
{
    far_away_kernel<RIGHT><<<1, 32>>>(named<float>("C", 32), 1024);
}

/* In bounds, as far as memory goes, but it is nobody's array. */
template <bool RIGHT> static __global__ void unnamed_kernel(int *p)
{
    HERE, p[RIGHT ? threadIdx.x : threadIdx.x + 4] = 1;
}
template <bool RIGHT> static void unnamed(void)
{
    unnamed_kernel<RIGHT><<<1, 12>>>(device_zeros<int>(12));
}

template <bool RIGHT>
static __global__ void misaligned_float4_kernel(const float *A, float *C, int first)
{
    const float4 *at = reinterpret_cast<const float4 *>(A + first) + threadIdx.x;
    const float4 v = (HERE, *at);
    C[threadIdx.x] = v.x + v.y + v.z + v.w;
}
template <bool RIGHT> static void misaligned_float4(void)
{
    misaligned_float4_kernel<RIGHT>
        <<<1, 8>>>(named<float>("A", 64), named<float>("C", 8), RIGHT ? 0 : 1);
}

/* Aligned, but only a part of it is in bounds. */
template <bool RIGHT> static __global__ void half_inside_kernel(const float *A, float *C, int count)
{
    const int i = 4 * threadIdx.x;
    float sum = 0;
    if (!RIGHT || i + 4 <= count) {
        const float4 v = (HERE, *reinterpret_cast<const float4 *>(A + i));
        sum = v.x + v.y + v.z + v.w;
    }
    C[threadIdx.x] = sum;
}
template <bool RIGHT> static void half_inside(void)
{
    half_inside_kernel<RIGHT><<<1, 8>>>(named<float>("A", 30), named<float>("C", 8), 30);
}

template <bool RIGHT> static __global__ void freed_kernel(int *C)
{
    HERE, C[threadIdx.x] = 1;
}
template <bool RIGHT> static void freed(void)
{
    int *C = named<int>("C", 32);
    if (!RIGHT) CUDA(cudaFree(C));
    freed_kernel<RIGHT><<<1, 32>>>(C);
}

template <bool RIGHT> static __global__ void host_pointer_kernel(const float *A, float *C)
{
    C[threadIdx.x] = (HERE, A[threadIdx.x]);
}
template <bool RIGHT> static void host_pointer(void)
{
    float *host = (float *)calloc(32, sizeof(float));
    host_pointer_kernel<RIGHT>
        <<<1, 32>>>(RIGHT ? to_device(host, 32) : host, named<float>("C", 32));
    free(host);
}

template <bool RIGHT> static __global__ void local_pointer_kernel(int *C)
{
    __shared__ volatile int *address;
    volatile int mine = threadIdx.x;
    if (threadIdx.x == 0) address = &mine;
    __syncthreads();
    if (RIGHT)
        C[threadIdx.x] = mine;
    else
        C[threadIdx.x] = (HERE, *address);
    __syncthreads(); /* all of them are alive until here */
}
template <bool RIGHT> static void local_pointer(void)
{
    local_pointer_kernel<RIGHT><<<1, 32>>>(named<int>("C", 32));
}

/* ---- shared memory --------------------------------------------------------------------------- */

template <bool RIGHT> static __global__ void static_shared_kernel(float *C, int stride)
{
    __shared__ float tile[64];
    float *row = tile;
    tile[threadIdx.x] = 1;
    __syncthreads();
    C[threadIdx.x] = (HERE, row[stride * threadIdx.x]);
}
template <bool RIGHT> static void static_shared(void)
{
    static_shared_kernel<RIGHT><<<1, 64>>>(named<float>("C", 64), RIGHT ? 1 : 16384);
}

/* One row too many; and the launch ends, since nothing lies behind. */
template <bool RIGHT> static __global__ void dynamic_shared_kernel(float *C)
{
    extern __shared__ float tile[];
    HERE, tile[threadIdx.x] = 1;
    __syncthreads();
    C[threadIdx.x] = tile[threadIdx.x];
}
template <bool RIGHT> static void dynamic_shared(void)
{
    dynamic_shared_kernel<RIGHT>
        <<<1, 64, (RIGHT ? 64 : 32) * sizeof(float)>>>(named<float>("C", 64));
}

/* Goes too far by so little that this processor does not notice. */
template <bool RIGHT> static __global__ void dynamic_shared_by_one_kernel(float *C, int count)
{
    extern __shared__ float tile[];
    for (int i = threadIdx.x; RIGHT ? i < count : i <= count; i += 32)
        HERE, tile[i] = 1;
    C[threadIdx.x] = 1;
}
template <bool RIGHT> static void dynamic_shared_by_one(void)
{
    dynamic_shared_by_one_kernel<RIGHT><<<1, 32, 40 * sizeof(float)>>>(named<float>("C", 32), 40);
}

/* Inside the array, but in the next row. */
template <bool RIGHT> static __global__ void dimension_kernel(float *C, int column)
{
    __shared__ float tile[4][32];
    for (int row = 0; row < 3; row++)
        tile[row][threadIdx.x] = tile[row + 1][threadIdx.x] = 1;
    __syncwarp();
    C[threadIdx.x] = (HERE, tile[1][column + threadIdx.x]);
}
template <bool RIGHT> static void dimension(void)
{
    dimension_kernel<RIGHT><<<1, 32>>>(named<float>("C", 32), RIGHT ? 0 : 1);
}

template <bool RIGHT> static __global__ void misaligned_shared_kernel(int *C, int first)
{
    __shared__ __align__(16) int tile[68];
    for (int i = threadIdx.x; i < 68; i += 32)
        tile[i] = i;
    __syncthreads();
    const int2 *at = reinterpret_cast<const int2 *>(tile + first) + threadIdx.x;
    const int2 pair = (HERE, *at);
    C[threadIdx.x] = pair.x + pair.y;
}
template <bool RIGHT> static void misaligned_shared(void)
{
    misaligned_shared_kernel<RIGHT><<<1, 32>>>(named<int>("C", 32), RIGHT ? 0 : 1);
}

void plant_addresses(void)
{
    BUG(read_past_end, MEMCHECK, "out of bounds", "reads 4 bytes at A[60] (1 past its end)",
        {1, 0, 0}, {28, 0, 0});
    BUG(write_past_end, MEMCHECK, "out of bounds", "writes 4 bytes at C[13] (1 past its end)",
        {0, 0, 0}, {5, 1, 0});
    BUG(before_start, MEMCHECK, "out of bounds", "reads 4 bytes at A[-1] (1 before its start)",
        {0, 0, 0}, {0, 0, 0});
    BUG(guard, MEMCHECK, "out of bounds", "writes 4 bytes at C[40] (1 past its end)", {0, 0, 0},
        {8, 0, 0});
    BUG(clear, MEMCHECK, "out of bounds", "writes 4 bytes at C[38] (1 past its end)", {0, 0, 0},
        {0, 0, 0});
    BUG(far_away, MEMCHECK, "out of bounds", "writes 4 bytes at C[1024] (993 past its end)",
        {0, 0, 0}, {1, 0, 0});
    BUG(unnamed, MEMCHECK, "out of bounds", "writes 4 bytes at 0 bytes past the end of allocation",
        {0, 0, 0}, {8, 0, 0});
    BUG(misaligned_float4, MEMCHECK, "misaligned", "reads 16 bytes at A[1]: ", {0, 0, 0},
        {0, 0, 0});
    BUG(half_inside, MEMCHECK, "out of bounds", "reads 16 bytes at A[30] (1 past its end)",
        {0, 0, 0}, {7, 0, 0});
    BUG(freed, MEMCHECK, "use after free", "writes 4 bytes at C[0]", {0, 0, 0}, {0, 0, 0});
    BUG(host_pointer, MEMCHECK, "host pointer", "reads 4 bytes at address 0x", {0, 0, 0},
        {0, 0, 0});
    BUG(local_pointer, MEMCHECK, "local memory of another thread", "reads 4 bytes at", {0, 0, 0},
        {1, 0, 0});
    BUG(static_shared, MEMCHECK, "out of bounds",
        "reads 4 bytes at shared tile[16384] (16321 past its end)", {0, 0, 0}, {1, 0, 0});
    BUG(dynamic_shared, MEMCHECK, "out of bounds",
        "writes 4 bytes at dynamic shared [32] (1 past its end)", {0, 0, 0}, {32, 0, 0});
    BUG(dynamic_shared_by_one, MEMCHECK, "out of bounds",
        "writes 4 bytes at dynamic shared [40] (1 past its end)", {0, 0, 0}, {8, 0, 0});
    BUG(dimension, MEMCHECK, "index out of bounds",
        "index 32 is outside its dimension of an array 'float [32]'", {0, 0, 0}, {31, 0, 0});
    BUG(misaligned_shared, MEMCHECK, "misaligned", "reads 8 bytes at shared tile[", {0, 0, 0},
        {0, 0, 0});
}
