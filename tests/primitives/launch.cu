/*
 * launch.cu - grids, blocks, kernel arguments, launch limits; __device__ and __constant__
 * variables.
 */
#include "tests/primitives/primitives.h"

#include <unistd.h>

/* ---- every thread of every block, once ------------------------------------------------------- */

struct seen {
    unsigned times;
    uint3 thread, block;
    uint3 block_shape, grid_shape;
};

__global__ void visit_kernel(seen *all)
{
    const size_t block =
        blockIdx.x + (size_t)gridDim.x * (blockIdx.y + (size_t)gridDim.y * blockIdx.z);
    const size_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    seen *s = &all[block * blockDim.x * blockDim.y * blockDim.z + thread];
    atomicAdd(&s->times, 1u);
    s->thread = threadIdx;
    s->block = blockIdx;
    s->block_shape = uint3{blockDim.x, blockDim.y, blockDim.z};
    s->grid_shape = uint3{gridDim.x, gridDim.y, gridDim.z};
}

static bool equal(uint3 a, unsigned x, unsigned y, unsigned z)
{
    return a.x == x && a.y == y && a.z == z;
}

static void visit(dim3 grid, dim3 block)
{
    const size_t threads = (size_t)block.x * block.y * block.z;
    const size_t count = threads * grid.x * grid.y * grid.z;
    seen *d = device_zeros<seen>(count), *h = (seen *)malloc(count * sizeof *h);
    visit_kernel<<<grid, block>>>(d);
    FINISH();
    to_host(h, d, count);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const unsigned t = (unsigned)(i % threads), b = (unsigned)(i / threads);
        const seen *s = &h[i];
        wrong += s->times != 1 ||
                 !equal(s->thread, t % block.x, t / block.x % block.y, t / block.x / block.y) ||
                 !equal(s->block, b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y) ||
                 !equal(s->block_shape, block.x, block.y, block.z) ||
                 !equal(s->grid_shape, grid.x, grid.y, grid.z);
    }
    free(h);
    tap_ok(wrong == 0, "grid (%u,%u,%u) of blocks (%u,%u,%u): every thread once, indices right",
           grid.x, grid.y, grid.z, block.x, block.y, block.z);
}

/* ---- limits ---------------------------------------------------------------------------------- */

__global__ void nothing_kernel() {}
__global__ void dynamic_kernel(int *last, int bytes)
{
    extern __shared__ unsigned char s[];
    for (int i = threadIdx.x; i < bytes; i += blockDim.x)
        s[i] = (unsigned char)i;
    __syncthreads();
    if (threadIdx.x == 0) *last = s[bytes - 1];
}
__global__ void other_dynamic_kernel(int *last)
{
    extern __shared__ int words[];
    *last = words[0] = 1;
}

__global__ void static_kernel(int *last)
{
    extern __shared__ int dynamic[];
    __shared__ int words[10 << 10];
    words[threadIdx.x] = dynamic[threadIdx.x] = threadIdx.x;
    __syncthreads();
    *last = words[31] + dynamic[31];
}

/* The guide says cudaErrorInvalidConfiguration; the runtime of CUDA 13 on an H200 calls the same
 * limits an invalid value. */
static bool is_refusal(cudaError_t want, cudaError_t got)
{
    return got == want || (want == cudaErrorInvalidConfiguration && got == cudaErrorInvalidValue);
}

static void refused(cudaError_t want, dim3 grid, dim3 block, size_t bytes, const char *what)
{
    nothing_kernel<<<grid, block, bytes>>>();
    const cudaError_t got = cudaGetLastError();
    tap_ok(is_refusal(want, got), "%s: %s, told %s", what, cudaGetErrorName(want),
           cudaGetErrorName(got));
    tap_ok(cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess,
           "... and forgotten once told");
}

static void limits(void)
{
    refused(cudaErrorInvalidConfiguration, 1, 1025, 0, "a block of 1025 threads");
    refused(cudaErrorInvalidConfiguration, 1, dim3(32, 33), 0, "a block of 32 x 33 threads");
    refused(cudaErrorInvalidConfiguration, 1, dim3(1, 1, 65), 0, "a block 65 deep");
    refused(cudaErrorInvalidConfiguration, 1, 0, 0, "a block of no threads");
    refused(cudaErrorInvalidConfiguration, 0, 32, 0, "a grid of no blocks");
    refused(cudaErrorInvalidConfiguration, dim3(1, 65536), 32, 0, "a grid 65536 high");
    refused(cudaErrorInvalidConfiguration, dim3(1, 1, 65536), 32, 0, "a grid 65536 deep");
    refused(cudaErrorInvalidValue, 1, 32, 48 * 1024 + 1,
            "dynamic shared memory above 48 KB without asking for it");
    nothing_kernel<<<70000, dim3(1, 1, 64)>>>();
    tap_ok(cudaDeviceSynchronize() == cudaSuccess, "70000 blocks 64 deep");

    int most;
    CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    tap_ok(most > 48 * 1024, "%d bytes of shared memory can be asked for", most);
    tap_ok(cudaFuncSetAttribute(dynamic_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                most + 1) == cudaErrorInvalidValue,
           "asking for one more is refused");
    cudaGetLastError();
    CUDA(cudaFuncSetAttribute(dynamic_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    int *d = device_zeros<int>(1), last = -1;
    dynamic_kernel<<<2, 128, most>>>(d, most);
    FINISH();
    to_host(&last, d, 1);
    tap_ok(last == (most - 1) % 256, "a kernel uses all of it");
    other_dynamic_kernel<<<1, 1, most>>>(d);
    tap_ok(cudaGetLastError() == cudaErrorInvalidValue, "another kernel has to ask for itself");

    const int used = 40 << 10, room = most - used;
    d = device_zeros<int>(1);
    static_kernel<<<1, 32, (48 << 10) - used>>>(d);
    FINISH();
    static_kernel<<<1, 32, (48 << 10) - used + 4>>>(d);
    tap_ok(cudaGetLastError() == cudaErrorInvalidValue,
           "static and dynamic shared memory are 48 KB together");
    tap_ok(cudaFuncSetAttribute(static_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                room + 1) == cudaErrorInvalidValue,
           "static memory is not there to be asked for");
    cudaGetLastError();
    CUDA(cudaFuncSetAttribute(static_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    static_kernel<<<1, 32, room>>>(d);
    FINISH();
    to_host(&last, d, 1);
    tap_ok(last == 62, "the rest is");
}

/* ---- arguments, templates, function pointers ------------------------------------------------- */

struct bag {
    char c;
    double x;
    short v[5];
    int *out;
};

__global__ void arguments_kernel(bag b, char c, long long l, float f, const bag *null)
{
    if (b.c == 'b' && b.x == 2.5 && b.v[4] == -4 && c == 'c' && l == 1LL << 40 && f == 0.5f &&
        !null)
        atomicAdd(b.out, 1);
}

__global__ void null_kernel(const int *null, int *out, long long zero)
{
    if (!null && zero == 0) *out = 1;
}
template <int A, class T> __global__ void template_kernel(T *out, T x)
{
    *out = x + A;
}
template <class T> __global__ void deduced_kernel(T *out, T x)
{
    *out = x * 2;
}
__global__ void add_kernel(int *out, int x)
{
    *out += x;
}
__global__ void subtract_kernel(int *out, int x)
{
    *out -= x;
}

static void launches(void)
{
    int *d = device_zeros<int>(5), h[5];
    bag b = {'b', 2.5, {0, -1, -2, -3, -4}, d};
    arguments_kernel<<<dim3(2, 3), dim3(4, 5)>>>(b, 'c', 1LL << 40, 0.5f, nullptr);
    template_kernel<(3 > 2 ? 40 : 0), int><<<1, 1>>>(d + 1, 2);
    deduced_kernel<<<1, 1>>>(d + 2, 21);
    void (*table[])(int *, int) = {add_kernel, subtract_kernel};
    for (int i = 0; i < 2; i++)
        table[i]<<<1, 1>>>(d + 3, 50 + 8 * i);
    null_kernel<<<1, 1>>>(NULL, d + 4, 0);
    FINISH();
    to_host(h, d, 5);
    tap_ok(h[4] == 1, "NULL for a pointer, int for long long");
    tap_ok(h[0] == 120, "arguments of every size reach all 120 threads");
    tap_ok(h[1] == 42, "a template kernel with an expression among its arguments");
    tap_ok(h[2] == 42, "a template kernel with deduced arguments");
    tap_ok(h[3] == -8, "kernels from a table of pointers");
}

/* ---- variables ------------------------------------------------------------------------------- */

__constant__ float table[64];
static __device__ int counter = 5;

__global__ void variables_kernel(float *out)
{
    out[threadIdx.x] = table[63 - threadIdx.x];
    atomicAdd(&counter, 1);
}

static void variables(void)
{
    float h[64], got[64];
    for (int i = 0; i < 64; i++)
        h[i] = (float)i;
    CUDA(cudaMemcpyToSymbol(table, h, sizeof h));
    CUDA(cudaMemcpyToSymbol(table, h, 4 * sizeof *h, 60 * sizeof *h)); /* 0..3 again at the end */
    float *d = device_zeros<float>(64);
    variables_kernel<<<1, 64>>>(d);
    FINISH();
    to_host(got, d, 64);
    bool right = true;
    for (int i = 0; i < 64; i++)
        right &= got[i] == (float)(63 - i >= 60 ? 63 - i - 60 : 63 - i);
    tap_ok(right, "__constant__: written by cudaMemcpyToSymbol, with offset; read by a kernel");
    int n = 0;
    CUDA(cudaMemcpyFromSymbol(&n, counter, sizeof n));
    tap_ok(n == 69, "__device__: initialised, changed by a kernel, read by cudaMemcpyFromSymbol");
}

/* ---- printf ---------------------------------------------------------------------------------- */

__global__ void print_kernel(int x)
{
    printf("thread %d of %d: %s %.2f\n", (int)threadIdx.x, (int)blockDim.x, "hello", x * 0.5);
}

/* Standard output goes to a file while the kernel runs. */
static void prints(void)
{
    fflush(stdout);
    FILE *file = tmpfile();
    const int out = dup(1);
    dup2(fileno(file), 1);
    print_kernel<<<1, 3>>>(5);
    const cudaError_t error = cudaDeviceSynchronize();
    fflush(stdout);
    dup2(out, 1);
    close(out);
    rewind(file);
    char line[100];
    int lines = 0, right = 0, thread;
    while (fgets(line, sizeof line, file)) {
        lines++;
        right +=
            sscanf(line, "thread %d of 3: hello 2.50", &thread) == 1 && thread >= 0 && thread < 3;
    }
    fclose(file);
    tap_ok(error == cudaSuccess && lines == 3 && right == 3, "printf: a line a thread");
}

int main()
{
    visit(1, 1);
    visit(3, 33);
    visit(1, 1024);
    visit(dim3(2, 3, 5), dim3(7, 2, 3));
    visit(dim3(1, 1, 9), dim3(2, 4, 64));
    visit(1001, 65);
    limits();
    launches();
    variables();
    prints();
    return tap_done();
}
