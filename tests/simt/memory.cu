/*
 * memory.cu - what the CPU backend adds to CUDA's memory: it starts as NaN, ends at a guard, is
 * never handed out twice in a row, really goes back to the system; shared memory starts as NaN too.
 */
#include "tests/primitives/primitives.h"

#include "device/async_copy.cuh"
extern "C" {
#include "matrix/memory.h"
}
#include <cuda_fp16.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t resident_bytes(void)
{
    size_t pages = 0, ignored;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%zu %zu", &ignored, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void refused(cudaError_t want, cudaError_t got, const char *what)
{
    tap_ok(got == want && cudaGetLastError() == want, "%s: %s", what, cudaGetErrorName(want));
}

static void device_memory(void)
{
    static unsigned char h[100000];
    unsigned char *p;
    CUDA(cudaMalloc(&p, sizeof h));
    CUDA(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof h; i++)
        wrong += h[i] != 0xff;
    tap_ok(wrong == 0, "a new allocation is all 0xFF bytes");

    refused(cudaErrorInvalidValue, cudaMemcpy(h, p + 1, sizeof h, cudaMemcpyDeviceToHost),
            "a copy one byte past the end");
    refused(cudaErrorInvalidValue, cudaMemset(p, 0, sizeof h + 1), "one byte too many");
    refused(cudaErrorInvalidValue, cudaMemcpy(p - 1, h, 10, cudaMemcpyHostToDevice),
            "a copy that begins one byte too early");
    refused(cudaErrorInvalidValue, cudaMemset(p + 10, 0, sizeof h), "cudaMemset past the end");
    char on_stack[16];
    refused(cudaErrorInvalidValue, cudaMemset(on_stack, 0, 10), "cudaMemset of host memory");
    refused(cudaErrorInvalidValue, cudaMemcpy(h, p, 10, cudaMemcpyHostToDevice),
            "a copy in the wrong direction");
    refused(cudaErrorInvalidValue, cudaFree(p + 256), "freeing the middle of an allocation");
    CUDA(cudaFree(p));
    refused(cudaErrorInvalidValue, cudaFree(p), "freeing twice");
    refused(cudaErrorInvalidValue, cudaMemset(p, 0, 1), "using freed memory");

    unsigned char *q;
    CUDA(cudaMalloc(&q, sizeof h));
    tap_ok(q != p, "the next allocation is somewhere else");
    CUDA(cudaFree(q));
}

static __global__ void add_one(int *p)
{
    *p += 1;
}

/* In a process of its own: whether host code that reads device memory is stopped. */
static bool host_code_faults(const int *p)
{
    int how = 0;
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) _exit(*(const volatile int *)p == 0);
    waitpid(pid, &how, 0);
    return WIFSIGNALED(how) && WTERMSIG(how) == SIGSEGV;
}

static void host_kept_out(void)
{
    int h = 41, *p;
    CUDA(cudaMalloc(&p, sizeof h));
    CUDA(cudaMemcpy(p, &h, sizeof h, cudaMemcpyHostToDevice));
    tap_ok(!host_code_faults(p), "device memory lies within the reach of host code");
    simt_host_access(SIMT_HOST_COPIES);
    tap_ok(host_code_faults(p), "unless the host is kept out of it");
    add_one<<<1, 1>>>(p);
    CUDA(cudaDeviceSynchronize());
    tap_ok(host_code_faults(p), "after a launch again");
    CUDA(cudaMemcpy(&h, p, sizeof h, cudaMemcpyDeviceToHost));
    tap_ok(h == 42, "kernels and copies work all the same");
    simt_host_access(SIMT_HOST_NOTHING);
    refused(cudaErrorNotPermitted, cudaMemcpy(&h, p, sizeof h, cudaMemcpyDeviceToHost),
            "a copy to a host that may do nothing");
    CUDA(cudaMemset(p, 0, sizeof h));
    int *q;
    CUDA(cudaMalloc(&q, sizeof h));
    CUDA(cudaMemcpy(q, p, sizeof h, cudaMemcpyDeviceToDevice));
    tap_ok(host_code_faults(q), "what is allocated now is out of reach, too");
    simt_host_access(SIMT_HOST_EVERYTHING);
    tap_ok(*q == 0, "copies inside of the device still work");
    CUDA(cudaFree(p));
    CUDA(cudaFree(q));
}

/* Many allocations, one after the other and at a time; and memory that was given back. */
static void reuse(void)
{
    const size_t bytes = (size_t)256 << 20;
    const size_t before = resident_bytes();
    char *p;
    CUDA(cudaMalloc(&p, bytes));
    const size_t during = resident_bytes();
    CUDA(cudaFree(p));
    const size_t after = resident_bytes();
    tap_ok(during - before >= bytes && after - before < bytes / 8,
           "256 MB: %zu MB resident, then %zu", (during - before) >> 20, (after - before) >> 20);
    bool all = true;
    for (int i = 0; i < 20000; i++) {
        char *small;
        all &= cudaMalloc(&small, 100) == cudaSuccess && cudaFree(small) == cudaSuccess;
    }
    tap_ok(all, "20000 allocations one after the other");
    static char *many[10000];
    for (int i = 0; i < 10000; i++)
        all &= cudaMalloc(&many[i], 100) == cudaSuccess;
    for (int i = 0; i < 10000; i++)
        all &= cudaFree(many[i]) == cudaSuccess;
    tap_ok(all, "10000 allocations at a time");

    size_t available, total;
    CUDA(cudaMemGetInfo(&available, &total));
    const double left = (double)min(memory_available(), (int64_t)total);
    tap_ok(fabs((double)available - left) < 0.1 * left,
           "as much is available as host code is told");
    refused(cudaErrorMemoryAllocation, cudaMalloc(&p, available + (available >> 4)),
            "more than the machine has available");
    tap_ok(p == nullptr, "gives no pointer");
}

/* With 2 GB of address space the range for device memory is soon used up. It is used again from its
 * beginning, but not where `kept` lies. Run in a process of its own. */
static int small_child(void)
{
    const size_t bytes = (size_t)100 << 20;
    unsigned char *kept, *p[2], h[1000];
    CUDA(cudaMalloc(&p[0], bytes));
    CUDA(cudaMalloc(&kept, sizeof h));
    CUDA(cudaMemset(kept, 42, sizeof h));
    unsigned char *first = p[0];
    bool again = false;
    for (int i = 0; i < 40; i++) {
        CUDA(cudaMalloc(&p[(i + 1) % 2], bytes));
        CUDA(cudaMemset(p[(i + 1) % 2], i, bytes));
        CUDA(cudaFree(p[i % 2]));
        again |= p[(i + 1) % 2] == first;
    }
    CUDA(cudaMemcpy(h, kept, sizeof h, cudaMemcpyDeviceToHost));
    for (unsigned char x : h)
        if (x != 42) return 2;
    return again ? 0 : 3;
}

static void small(void)
{
    char command[100];
    snprintf(command, sizeof command, "ulimit -v 2000000; exec /proc/%d/exe small", (int)getpid());
    const int status = system(command);
    tap_ok(status == 0, "addresses are used again when all have been (status %d)", status >> 8);
}

/* ---- shared memory -----------------------------------------------------------------------------
 */

template <int N> __global__ void static_kernel(unsigned *not_ff, unsigned *out)
{
    __shared__ unsigned words[N];
    __shared__ __half2 halves[N];
    __shared__ float4 vectors[N];
    const int t = threadIdx.x;
    unsigned bad = words[t] != 0xffffffffu;
    bad += __low2float(halves[t]) == __low2float(halves[t]);
    bad += vectors[t].w == vectors[t].w;
    if (bad) atomicAdd(not_ff, bad);
    __syncthreads();
    words[t] = t;
    halves[t] = __floats2half2_rn(1, 2);
    vectors[t] = make_float4(1, 2, 3, 4);
    __syncthreads();
    out[t] = words[N - 1 - t] + (unsigned)vectors[N - 1 - t].x;
}

__global__ void dynamic_kernel(unsigned *not_ff, int words)
{
    extern __shared__ unsigned s[];
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        if (s[i] != 0xffffffffu) atomicAdd(not_ff, 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        s[i] = 7;
}

/* A __device__ function may have shared memory of its own. */
__device__ __noinline__ unsigned exchange(unsigned x)
{
    __shared__ unsigned words[64];
    const unsigned old = words[threadIdx.x];
    words[threadIdx.x] = x;
    return old;
}
/* That of an inline function belongs to all source files that have it. */
inline __device__ __noinline__ unsigned exchange_anywhere(unsigned x)
{
    __shared__ unsigned words[64];
    const unsigned old = words[threadIdx.x];
    words[threadIdx.x] = x;
    return old;
}
/* A static kernel has the shared memory of its own source file poisoned, another one, as static_kernel, that of all. */
template <unsigned EXCHANGE(unsigned)> static __global__ void calling_kernel(unsigned *not_ff)
{
    if (EXCHANGE(threadIdx.x) != 0xffffffffu) atomicAdd(not_ff, 1u);
}

__global__ void large_kernel(int *out)
{
    __shared__ int s[13000];
    s[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x + 1];
}
static int large_child(void)
{
    large_kernel<<<1, 32>>>(device_zeros<int>(32));
    return cudaGetLastError() == cudaErrorInvalidValue ? 0 : 1;
}

static void large(void)
{
    char command[100], said[1000] = "";
    snprintf(command, sizeof command, "exec /proc/%d/exe large 2>&1", (int)getpid());
    FILE *f = popen(command, "r");
    const size_t length = f ? fread(said, 1, sizeof said - 1, f) : 0;
    said[length] = 0;
    const int status = f ? pclose(f) : -1;
    tap_ok(status == 0 && strstr(said, "kernel large_kernel has 52000 bytes of static shared"),
           "more than 48 KB of static shared memory is refused, and said");
}

/* common/device/scan.cu has a kernel of this name, with 128 bytes; static functions may share one. */
static __global__ void scan_block_kernel(int *data, int count, int *block_total)
{
    __shared__ int warp_total[10000];
    warp_total[threadIdx.x] = data[count];
    *block_total = warp_total[0];
}

static void equal_names(void)
{
    cudaFuncAttributes a;
    CUDA(cudaFuncGetAttributes(&a, scan_block_kernel));
    tap_ok(a.sharedSizeBytes == 40000, "of two kernels of one name each has its own shared memory");
}

static void shared_memory(void)
{
    unsigned *d = device_zeros<unsigned>(1), *out = device_zeros<unsigned>(64), bad;
    static_kernel<64><<<100, 64>>>(d, out);
    static_kernel<32><<<100, 32>>>(d, out);
    static_kernel<64><<<100, 64>>>(d, out);
    FINISH();
    to_host(&bad, d, 1);
    tap_ok(bad == 0, "static shared memory is all 0xFF bytes when a block begins");
    d = device_zeros<unsigned>(1);
    calling_kernel<exchange><<<100, 64>>>(d);
    FINISH();
    to_host(&bad, d, 1);
    tap_ok(bad == 0, "that of a __device__ function, too");
    d = device_zeros<unsigned>(1);
    calling_kernel<exchange_anywhere><<<100, 64>>>(d);
    FINISH();
    to_host(&bad, d, 1);
    tap_ok(bad == 0, "and that of an inline one");
    d = device_zeros<unsigned>(1);
    for (int words : {1, 31, 32, 1000, 12000})
        dynamic_kernel<<<50, 64, words * sizeof(unsigned)>>>(d, words);
    FINISH();
    to_host(&bad, d, 1);
    tap_ok(bad == 0, "and so is dynamic shared memory");
}

/* ---- asynchronous copies arrive when they are waited for, not before --------------------------
 */

__global__ void hasty_kernel(const int *from, int *out)
{
    __shared__ int s[3];
    s[0] = s[1] = s[2] = -1;
    for (int i = 0; i < 3; i++) {
        async_copy<4>(&s[i], &from[i]);
        async_commit();
    }
    out[0] = s[0];
    async_wait<1>();
    out[1] = s[1];
    out[2] = s[2];
}

static void asynchronous(void)
{
    const int from[3] = {10, 11, 12};
    int *d_from = to_device(from, 3), *d = device_zeros<int>(3), out[3];
    hasty_kernel<<<1, 1>>>(d_from, d);
    FINISH();
    to_host(out, d, 3);
    tap_ok(out[0] == -1, "a copy nobody has waited for has not arrived");
    tap_ok(out[1] == 11 && out[2] == -1, "of three groups a wait for all but one brings two");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "small") == 0) return small_child();
    if (argc > 1 && strcmp(argv[1], "large") == 0) return large_child();
    device_memory();
    host_kept_out();
    reuse();
    small();
    shared_memory();
    large();
    equal_names();
    asynchronous();
    return tap_done();
}
