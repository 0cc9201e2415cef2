/*
 * failures.cu - what a broken kernel gets on the CPU backend: a report that names kernel, place,
 * block and thread; a sticky error; and a device that works again after cudaDeviceReset().
 */
#include "tests/primitives/primitives.h"

#include "device/async_copy.cuh"
#include "device/mbarrier.cuh"
#include "device/mma.cuh"
#include "device/mma_sparse.cuh"
#include "device/tensor_map.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "device/wgmma.cuh"
#include <assert.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Marks the line that a report must name. */
static int here_line;
#define HERE here_line = __LINE__

/* ---- kernels that break one rule each ----------------------------------------------------------
 */

__global__ void good_kernel(int *out)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
}

__global__ void two_barriers_kernel(int *out)
{
    if (threadIdx.x < 32) {
        __syncthreads();
        out[threadIdx.x] = 1;
    } else {
        out[threadIdx.x] = 2;
        HERE, __syncthreads();
    }
}

/* Half a warp waits for the other half, which waits for the block. */
__global__ void deadlock_kernel(int *out)
{
    if (lane_id() < 16)
        out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
    else
        __syncthreads();
}

/* Lane 0 waits for lane 1, which waits for lane 2, which waits for lane 0. */
__global__ void circle_kernel()
{
    if (threadIdx.x < 3) __syncwarp(threadIdx.x == 0 ? 3 : threadIdx.x == 1 ? 6 : 5);
}

__global__ void other_mask_kernel()
{
    const unsigned mask = threadIdx.x % 2 ? 0xffffffffu : 0x0000ffffu;
    HERE, __syncwarp(mask);
}

__global__ void outside_mask_kernel(int *out)
{
    HERE, out[threadIdx.x] = __any_sync(0xfffffffeu, 1);
}

__global__ void other_function_kernel(int *out)
{
    if (threadIdx.x < 16)
        out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
    else
        HERE, out[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1, 1);
}

__global__ void absent_source_kernel(int *out)
{
    if (threadIdx.x < 16) HERE, out[threadIdx.x] = __shfl_down_sync(0x0000ffffu, 1, 1);
}

__global__ void exited_source_kernel(int *out)
{
    if (threadIdx.x == 7) return;
    HERE, out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 7);
}

__global__ void width_kernel(int *out)
{
    HERE, out[threadIdx.x] = __shfl_sync(~0u, 1, 0, 12);
}

__global__ void half_mma_kernel(float *out)
{
    const uint32_t a[2] = {}, b[1] = {};
    float c[4] = {};
    if (threadIdx.x != 3) HERE, mma_m16n8k8_f16(c, a, b, c);
    out[threadIdx.x] = c[0];
}

__global__ void half_ldmatrix_kernel(unsigned *out)
{
    __shared__ __align__(16) unsigned short s[64];
    uint32_t r[1];
    s[threadIdx.x] = 0;
    __syncthreads();
    ldmatrix_x1(r, s);
    out[threadIdx.x] = r[0];
}

__global__ void global_ldmatrix_kernel(unsigned *out)
{
    uint32_t r[1];
    HERE, ldmatrix_x1(r, out);
    out[threadIdx.x] = r[0];
}

__global__ void odd_ldmatrix_kernel(unsigned *out)
{
    __shared__ __align__(16) unsigned char s[256];
    uint32_t r[1];
    HERE, ldmatrix_x1(r, s + 8);
    out[threadIdx.x] = r[0];
}

__global__ void odd_async_copy_kernel(const char *in, char *out)
{
    __shared__ __align__(16) char s[64];
    HERE, async_copy<16>(s, in + 8);
    async_wait_all();
    out[0] = s[0];
}

__global__ void global_async_copy_kernel(const int *in, int *out)
{
    HERE, async_copy<4>(out, in);
    async_wait_all();
}

__global__ void sparse_places_kernel(float *out)
{
    const uint32_t a[4] = {}, b[4] = {};
    float sum[4] = {};
    const uint32_t metadata = threadIdx.x == 5 ? 0x44440444 : 0x44444444;
    HERE, mma_sp_m16n8k32<__half, 0>(sum, a, b, metadata);
    out[threadIdx.x] = sum[0];
}

/* Errors in the use of a barrier in shared memory, and of a bulk copy. */
enum bulk_error {
    NOBODY_MADE_IT,
    TOO_MANY_ARRIVE,
    NOTHING_ANNOUNCED,
    ODD_SIZE,
    BULK_TO_GLOBAL,
    NOBODY_WAITS,
    NEVER_COPIED,
    NOT_PUBLISHED
};
__global__ void bulk_copy_kernel(bulk_error e, int *in)
{
    __shared__ mbarrier b;
    __shared__ __align__(16) int s[16];
    if (e == NOBODY_MADE_IT) HERE, mbarrier_arrive(&b);
    mbarrier_init(&b, 1);
    if (e != NOT_PUBLISHED) mbarrier_publish();
    if (e != NOTHING_ANNOUNCED) mbarrier_expect(&b, 32);
    if (e == TOO_MANY_ARRIVE) HERE, mbarrier_arrive(&b);
    if (e == NEVER_COPIED) HERE, mbarrier_wait(&b, 0);
    if (e == BULK_TO_GLOBAL) HERE, bulk_copy(in + 16, in, 32, &b);
    HERE, bulk_copy(s, in, e == ODD_SIZE ? 20 : 32, &b);
    if (e != NOBODY_WAITS) mbarrier_wait(&b, 0);
}

/* Errors in the use of a warpgroup's products, and of boxes. */
enum wgmma_error {
    NO_FENCE,
    NO_PRODUCT_AWAITED,
    NOT_SWIZZLED,
    WITHIN_EIGHT_ROWS,
    BEYOND_SHARED,
    LANES_MISSING
};
__global__ void product_kernel(wgmma_error e, float *out)
{
    extern __shared__ __align__(1024) char shared[];
    uint32_t a[1][4] = {};
    float d[8][4] = {};
    uint64_t b = wgmma_operand(shared);
    if (e == NOT_SWIZZLED) b &= ~(UINT64_C(3) << 62);
    if (e == WITHIN_EIGHT_ROWS) b += 128 / 16;
    if (e == BEYOND_SHARED) b += 16 * 128 / 16;
    if (e != NO_FENCE) wgmma_fence(a);
    if (e == LANES_MISSING && threadIdx.x % 32 == 5) return;
    HERE, (wgmma_k16<__half, false>(d, a[0], b));
    wgmma_commit();
    if (e != NO_PRODUCT_AWAITED) wgmma_wait(d);
    out[threadIdx.x] = d[0][0];
}

enum box_error {
    BOX_NOT_PUBLISHED,
    BOX_NOT_ANNOUNCED,
    BOX_ODD_PLACE,
    BOX_ODD_COLUMN,
    BOX_TO_NOBODY
};
__global__ void box_kernel(box_error e, const __half *in)
{
    extern __shared__ __align__(1024) char shared[];
    mbarrier *const b = (mbarrier *)(shared + 2048);
    const tensor_map map = {in, 64, 32, 16, 32};
    mbarrier_init(b, 1);
    if (e != BOX_NOT_PUBLISHED) mbarrier_publish();
    mbarrier_expect(b, e == BOX_NOT_ANNOUNCED ? 16 : 1024);
    HERE, tensor_copy_multicast(shared + (e == BOX_ODD_PLACE ? 64 : 0), &map, 0,
                                e == BOX_ODD_COLUMN ? 4 : 0, b, e == BOX_TO_NOBODY ? 2 : 1);
    mbarrier_wait(b, 0);
}

/* A sum is what it was until somebody waits for it, and a box is not there. */
__global__ void early_kernel(int *out)
{
    extern __shared__ __align__(1024) char shared[];
    for (int i = threadIdx.x; i < 64 * 64; i += 128)
        ((uint16_t *)shared)[i] = 0x3c00; /* 1 */
    wgmma_publish();
    __syncthreads();
    uint32_t a[1][4];
    for (uint32_t &x : a[0])
        x = 0x3c003c00;
    float d[8][4] = {};
    wgmma_fence(a);
    wgmma_k16<__half, false>(d, a[0], wgmma_operand(shared));
    wgmma_commit();
    const float before = d[3][2];
    wgmma_wait(d);
    out[threadIdx.x] = before == 0 && d[3][2] == 16;
}

__device__ __noinline__ int dive(int depth, volatile int *x)
{
    volatile char frame[512];
    frame[depth % 512] = (char)depth;
    return depth ? dive(depth - 1, x) + frame[depth % 512] : *x;
}
__global__ void stack_kernel(int *out)
{
    volatile int x = 1;
    out[threadIdx.x] = dive(1 << 20, &x);
}

__global__ void out_of_bounds_kernel(int *p, int n)
{
    HERE, p[n * 1024 + threadIdx.x] = 1;
}
__global__ void null_kernel(int *p)
{
    HERE, p[3] = 1;
}
__global__ void memset_kernel(char *p, size_t n)
{
    HERE, memset(p, 0, n);
    p[0] = 1;
}
__global__ void dynamic_kernel(int i)
{
    extern __shared__ int s[];
    HERE, s[i] = 1;
}
/* Each way to touch memory, at an address that is a multiple of 2 only, or of 4 only. */
enum { WHOLE, ELEMENTS, LDG, PAIR, INTEGERS, LOAD, STORE, WORD, WAYS };
__global__ void misaligned_kernel(int way, float *p, float4 *out)
{
    float pair[2] = {1, 2};
    float4 v = {};
    if (way == WHOLE) HERE, *out = *(const float4 *)(p + 1);
    if (way == ELEMENTS) {
        HERE, v = *(const float4 *)(p + 1);
        out->x = v.x + v.y + v.z + v.w;
    }
    if (way == LDG) {
        HERE, v = __ldg((const float4 *)(p + 2));
        out->x = v.x + v.w;
    }
    if (way == PAIR) HERE, out->x = ((const float2 *)(p + 1))->y;
    if (way == INTEGERS) HERE, *(int2 *)(p + 1) = make_int2(3, 4);
    if (way == LOAD) {
        HERE, load_vector(pair, p + 1);
        out->x = pair[0] + pair[1];
    }
    if (way == STORE) HERE, store_vector(p + 1, pair);
    if (way == WORD) HERE, out->x = *(const int *)((const char *)p + 2);
}
__global__ void no_address_kernel(int *p)
{
    HERE, *p = *(const int *)(uintptr_t)0x4142434445464748;
}
__global__ void bad_async_copy_kernel(const int *in)
{
    __shared__ int s;
    HERE, async_copy<4>(&s, in);
}
__global__ void waited_async_copy_kernel(const int *in, int *out)
{
    __shared__ int s;
    HERE, async_copy<4>(&s, in);
    async_wait_all();
    *out = s;
}
__global__ void odd_atomic_kernel(char *p)
{
    HERE, atomicAdd((int *)(p + 2), 1);
}
__global__ void divide_kernel(int *p, int x, int y)
{
    HERE, p[threadIdx.x] = x / y;
}
__global__ void trap_kernel(int *p)
{
    if (blockIdx.x == 2 && threadIdx.x == 5) HERE, __trap();
    p[threadIdx.x] = 1;
}
__global__ void assert_kernel(const int *p)
{
    HERE, assert(p[threadIdx.x] == 12345);
}
__global__ void loop_kernel(volatile int *p)
{
    while (p[0] == 0) {
    }
}
/* Warp 0 waits for warp 1 and never lets it run. */
__global__ void spin_kernel()
{
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 32) flag = 1;
    while (threadIdx.x == 0 && flag == 0) {
    }
}
__global__ void barrier_loop_kernel(volatile int *p)
{
    while (p[0] == 0)
        __syncthreads();
}
__global__ void shuffle_loop_kernel(volatile int *p)
{
    while (p[0] == 0)
        __syncwarp();
}
__global__ void atomic_loop_kernel(int *p)
{
    while (atomicAdd(p, 0) == 0) {
    }
}
/* Block 1 fails at once; the others would run for ever. */
__global__ void one_of_many_kernel(volatile int *p)
{
    if (blockIdx.x == 1) __trap();
    while (p[0] == 0) {
    }
}

/* ---- checks ------------------------------------------------------------------------------------
 */

static bool contains(const char *text, const char *part)
{
    return strstr(text, part) != nullptr;
}

/* The launch before this failed with `error`, and its report has all of the words. */
static void failed(const char *name, cudaError_t error, std::initializer_list<const char *> words)
{
    const char *report = simt_last_report();
    const cudaError_t got = cudaGetLastError();
    bool right = got == error;
    if (!right) tap_note("%s, not %s", cudaGetErrorName(got), cudaGetErrorName(error));
    char kernel[128];
    snprintf(kernel, sizeof kernel,
             "in kernel %s_kernel, launched at tests/simt/failures.cu:", name);
    right &= contains(report, "simt: error: ") && contains(report, kernel);
    for (const char *word : words)
        right &= contains(report, word);
    if (here_line) {
        char line[64];
        snprintf(line, sizeof line, "at tests/simt/failures.cu:%d\n", here_line);
        right &= contains(report, line);
        if (!contains(report, line)) tap_note("line %d is not named", here_line);
    }
    for (const char *word : words)
        if (!contains(report, word)) tap_note("missing: %s", word);
    if (!right) printf("%s", report);
    tap_ok(right, "%s: %s", name, cudaGetErrorName(error));
    here_line = 0;
}

/* The device works: the same kernel, on all OS threads, twice. */
static bool works(void)
{
    const int n = 200 * 64;
    static int h[n];
    int wrong = 0;
    for (int repeat = 0; repeat < 2; repeat++) {
        int *d = device_zeros<int>(n);
        good_kernel<<<200, 64>>>(d);
        FINISH();
        to_host(h, d, n);
        for (int i = 0; i < n; i++)
            wrong += h[i] != 63 - i % 64;
    }
    return wrong == 0;
}

/* Sleeps for twice the time limit, so that a clock on the wall would have it time out. */
__global__ void sleep_kernel(int *out)
{
    for (int i = 0; i < 200; i++)
        usleep(10000);
    *out = 12345;
}

static int *memory;

/* Each case starts on a device that was reset and is seen to work. */
static void fresh(void)
{
    CUDA(cudaDeviceReset());
    if (!works()) tap_ok(false, "the device works after a reset");
    memory = device_zeros<int>(1024);
    device_zeros<int>(1024); /* to be left alone by whoever leaves `memory` */
    here_line = 0;
}

static void early(void)
{
    int seen[128], wrong = 0;
    fresh();
    early_kernel<<<1, 128, 64 * 128>>>(memory);
    FINISH();
    CUDA(cudaMemcpy(seen, memory, sizeof seen, cudaMemcpyDeviceToHost));
    for (int x : seen)
        wrong += x != 1;
    tap_ok(wrong == 0, "a product is made at the wait for it, not before");
}

static void sticky(void)
{
    fresh();
    float *kept = device_zeros<float>(16), *p, ms, f = 0;
    cudaStream_t stream;
    cudaEvent_t event;
    size_t a, b;
    CUDA(cudaEventCreate(&event));
    CUDA(cudaEventRecord(event));
    trap_kernel<<<4, 32>>>(memory);
    const cudaError_t e = cudaErrorLaunchFailure;
    tap_ok(cudaGetLastError() == e && cudaGetLastError() == e && cudaPeekAtLastError() == e,
           "the error of a kernel is not forgotten");
    tap_ok(cudaMalloc(&p, 4) == e && cudaFree(kept) == e && cudaMemset(kept, 0, 4) == e &&
               cudaMemcpy(&f, kept, 4, cudaMemcpyDeviceToHost) == e && cudaMallocHost(&p, 4) == e &&
               cudaMemGetInfo(&a, &b) == e,
           "memory functions return it");
    tap_ok(cudaDeviceSynchronize() == e && cudaStreamCreate(&stream) == e &&
               cudaStreamSynchronize(0) == e && cudaEventRecord(event) == e &&
               cudaEventSynchronize(event) == e && cudaEventElapsedTime(&ms, event, event) == e,
           "streams, events and synchronisation return it");
    const char *before = strdup(simt_last_report());
    good_kernel<<<1, 64>>>(memory);
    tap_ok(cudaGetLastError() == e && strcmp(before, simt_last_report()) == 0,
           "no kernel runs any more");
    free((void *)before);
    CUDA(cudaDeviceReset());
    tap_ok(cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess,
           "cudaDeviceReset ends that");
    tap_ok(cudaMemset(kept, 0, 4) == cudaErrorInvalidValue, "and has freed all memory");
    cudaGetLastError();
    tap_ok(works(), "and kernels run again");
}

/* Host code that fails does so as without this backend. */
static int signal_of(void (*mistake)(void))
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        mistake();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}
static void host_null(void)
{
    volatile int *p = nullptr;
    *p = 1;
}
static void host_misaligned(void)
{
    char bytes[8] = {};
    if (*(volatile int *)(bytes + ((uintptr_t)bytes % 2 ? 2 : 1)) != 0) abort();
}
static void host_assert(void)
{
    const volatile int two = 2;
    assert(two == 3);
}

int main(int, char **argv)
{
    /* Settings are read when the program starts. */
    const char *limit = getenv("SIMT_TIMEOUT"), *order = getenv("SIMT_ORDER");
    if (!limit || strcmp(limit, "1") != 0 || !order || strcmp(order, "forward") != 0) {
        setenv("SIMT_TIMEOUT", "1", 1);
        setenv("SIMT_ORDER", "forward", 1);
        execv("/proc/self/exe", argv);
    }

#define CASE(NAME, GRID, BLOCK, SHARED, ARGUMENTS, ERROR, ...) \
    fresh();                                                   \
    NAME##_kernel<<<GRID, BLOCK, SHARED>>> ARGUMENTS;          \
    failed(#NAME, ERROR, {__VA_ARGS__})

    CASE(two_barriers, 1, 64, 0, (memory), cudaErrorLaunchFailure, "barrier divergence",
         "<<<(1,1,1), (64,1,1), 0>>>", "block (0,0,0) thread (32,0,0) [warp 1 lane 0]");
    CASE(deadlock, 2, dim3(8, 8), 0, (memory), cudaErrorLaunchTimeout, "deadlock",
         "warp 0 lanes 0x0000ffff wait in __shfl_sync at tests/simt/failures.cu:",
         "for lanes 0xffff0000", "warp 1 lanes 0xffff0000 wait in __syncthreads",
         "<<<(2,1,1), (8,8,1), 0>>>");
    CASE(circle, 1, 32, 0, (), cudaErrorLaunchTimeout, "deadlock",
         "warp 0 lanes 0x00000001 wait in __syncwarp", "for lanes 0x00000002",
         "warp 0 lanes 0x00000002 wait in __syncwarp", "for lanes 0x00000004",
         "warp 0 lanes 0x00000004 wait in __syncwarp", "for lanes 0x00000001",
         "warp 0 lanes 0xfffffff8 have exited");
    CASE(other_mask, 1, 32, 0, (), cudaErrorLaunchFailure,
         "lane 1 calls __syncwarp with mask 0xffffffff while lanes 0x00000001 of its warp wait in "
         "__syncwarp with mask 0x0000ffff");
    CASE(outside_mask, 1, 32, 0, (memory), cudaErrorLaunchFailure,
         "__any_sync: the calling lane 0 is not in the mask 0xfffffffe", "[warp 0 lane 0]");
    CASE(other_function, 1, 32, 0, (memory), cudaErrorLaunchFailure,
         "lane 16 calls __shfl_down_sync with mask 0xffffffff while lanes 0x0000ffff of its warp "
         "wait in __shfl_xor_sync");
    CASE(absent_source, 1, 32, 0, (memory), cudaErrorLaunchFailure,
         "lane 15 reads from lane 16, which does not take part (taking part: 0x0000ffff)");
    CASE(exited_source, 1, 32, 0, (memory), cudaErrorLaunchFailure,
         "reads from lane 7, which has exited");
    CASE(width, 1, 32, 0, (memory), cudaErrorLaunchFailure, "width 12 is not");
    CASE(half_mma, 1, 32, 0, ((float *)memory), cudaErrorLaunchFailure,
         "mma.sync by lanes 0xfffffff7 only: all 32 lanes");
    CASE(half_ldmatrix, 1, 16, 0, ((unsigned *)memory), cudaErrorLaunchFailure,
         "ldmatrix by lanes 0x0000ffff only: all 32 lanes");
    CASE(global_ldmatrix, 1, 32, 0, ((unsigned *)memory), cudaErrorInvalidAddressSpace,
         "is not in the block's shared memory");
    CASE(sparse_places, 1, 32, 0, ((float *)memory), cudaErrorIllegalInstruction,
         "mma.sp: row 1, columns 28 to 31: metadata name place 0 and then 0, which do not ascend");
    CASE(odd_ldmatrix, 1, 32, 0, ((unsigned *)memory), cudaErrorMisalignedAddress,
         "is not a multiple of 16");
    CASE(odd_async_copy, 1, 1, 0, ((char *)memory, (char *)memory), cudaErrorMisalignedAddress,
         "both addresses must be multiples of 16");
    CASE(global_async_copy, 1, 1, 0, (memory, memory), cudaErrorInvalidAddressSpace,
         "not the block's shared memory");
    const struct {
        bulk_error e;
        cudaError_t error;
        const char *says;
    } BULK[] = {
        {NOBODY_MADE_IT, cudaErrorLaunchFailure, "nobody has initialised the barrier"},
        {TOO_MANY_ARRIVE, cudaErrorLaunchFailure, "all 1 arrivals of this phase have been made"},
        {NOTHING_ANNOUNCED, cudaErrorLaunchFailure, "0 are announced to its barrier"},
        {ODD_SIZE, cudaErrorMisalignedAddress, "must be multiples of 16"},
        {BULK_TO_GLOBAL, cudaErrorInvalidAddressSpace, "not the block's shared memory"},
        {NOBODY_WAITS, cudaErrorLaunchFailure, "for which nobody has waited"},
        {NEVER_COPIED, cudaErrorLaunchTimeout, "wait in mbarrier.try_wait"},
        {NOT_PUBLISHED, cudaErrorLaunchFailure, "no fence (mbarrier_publish)"},
    };
    for (const auto &bulk : BULK) {
        CASE(bulk_copy, 1, 1, 0, (bulk.e, memory), bulk.error, bulk.says);
    }
    const struct {
        wgmma_error e;
        cudaError_t error;
        const char *says;
    } PRODUCTS[] = {
        {NO_FENCE, cudaErrorLaunchFailure, "no wgmma.fence since the last wait"},
        {NO_PRODUCT_AWAITED, cudaErrorLaunchFailure, "for which nobody has waited"},
        {NOT_SWIZZLED, cudaErrorInvalidValue, "is not one of swizzled rows"},
        {WITHIN_EIGHT_ROWS, cudaErrorInvalidValue, "begins within a group of eight rows"},
        {BEYOND_SHARED, cudaErrorInvalidAddressSpace, "is not in the block's shared memory"},
        {LANES_MISSING, cudaErrorLaunchFailure, "all 32 lanes of the warp must take part"},
    };
    for (const auto &product : PRODUCTS) {
        CASE(product, 1, 128, 64 * 128, (product.e, (float *)memory), product.error, product.says);
    }
    const struct {
        box_error e;
        cudaError_t error;
        const char *says;
    } BOXES[] = {
        {BOX_NOT_PUBLISHED, cudaErrorLaunchFailure, "no fence (mbarrier_publish)"},
        {BOX_NOT_ANNOUNCED, cudaErrorLaunchFailure, "of 1024 bytes: 16 are announced"},
        {BOX_ODD_PLACE, cudaErrorMisalignedAddress, "must be a multiple of 128"},
        {BOX_ODD_COLUMN, cudaErrorInvalidValue, "from column 4 on"},
        {BOX_TO_NOBODY, cudaErrorLaunchFailure, "to blocks 0x2 of a cluster of 1"},
    };
    for (const auto &box : BOXES) {
        CASE(box, 1, 1, 4096, (box.e, (const __half *)memory), box.error, box.says);
    }
    CASE(stack, 1, 3, 0, (memory), cudaErrorHardwareStackError, "stack overflow", "thread (0,0,0)");
    CASE(out_of_bounds, 2, 32, 0, (memory, 1), cudaErrorIllegalAddress, "illegal address 0x",
         "0 bytes past the end of allocation ", "(4096 bytes)", "thread (0,0,0)");
    CASE(null, 1, 1, 0, (nullptr), cudaErrorIllegalAddress, "a null pointer plus 12 bytes");
    CASE(memset, 1, 1, 0, ((char *)memory, 5000), cudaErrorIllegalAddress, "past the end of");
    CASE(dynamic, 1, 1, 256, (64), cudaErrorIllegalAddress,
         "0 bytes past the end of the block's dynamic shared memory (256 bytes)");
    CASE(dynamic, 1, 1, 0, (0), cudaErrorIllegalAddress, "dynamic shared memory (0 bytes)");
    for (int way = 0; way < WAYS; way++) {
        CASE(misaligned, 1, 2, 0, (way, (float *)memory, (float4 *)memory),
             cudaErrorMisalignedAddress,
             "misaligned access: a vector's address must be a multiple of its size");
    }
    CASE(bad_async_copy, 1, 1, 0, (memory + 1024), cudaErrorIllegalAddress, "past the end of");
    CASE(waited_async_copy, 1, 1, 0, (memory + 1024, memory), cudaErrorIllegalAddress,
         "past the end of");
    CASE(odd_atomic, 1, 1, 0, ((char *)memory), cudaErrorMisalignedAddress,
         "is not a multiple of 4");
#ifdef __x86_64__ /* where the processor notices */
    CASE(divide, 1, 1, 0, (memory, 100, 0), cudaErrorLaunchFailure, "integer division by zero");
    CASE(divide, 1, 1, 0, (memory, INT_MIN, -1), cudaErrorLaunchFailure,
         "or of the smallest integer by -1");
    CASE(no_address, 1, 1, 0, (memory), cudaErrorIllegalAddress, "one that no memory can have");
#endif
    CASE(trap, 4, 32, 0, (memory), cudaErrorLaunchFailure, "__trap() was called",
         "block (2,0,0) thread (5,0,0)");
    CASE(assert, 1, 32, 0, (memory), cudaErrorAssert,
         "assertion `p[threadIdx.x] == 12345' failed in", "assert_kernel");
    CASE(loop, 1, 2, 0, (memory), cudaErrorLaunchTimeout, "time limit: this block has run for 1 s",
         "at tests/simt/failures.cu:", "warp 0 lanes 0x00000001 can run",
         "warp 0 lanes 0x00000002 have not started");
    CASE(spin, 1, 64, 0, (), cudaErrorLaunchTimeout, "a loop of plain reads lets nobody else run",
         "warp 1 lanes 0xffffffff can run");
    CASE(barrier_loop, 1, 64, 0, (memory), cudaErrorLaunchTimeout, "time limit",
         "    at tests/simt/failures.cu:");
    CASE(shuffle_loop, 1, 64, 0, (memory), cudaErrorLaunchTimeout, "time limit",
         "    at tests/simt/failures.cu:");
    CASE(atomic_loop, 1, 64, 0, (memory), cudaErrorLaunchTimeout, "time limit",
         "    at tests/simt/failures.cu:");
    CASE(one_of_many, 8, 1024, 0, (memory), cudaErrorLaunchFailure, "__trap() was called",
         "block (1,0,0)");

    fresh();
    int *freed = device_zeros<int>(100);
    CUDA(cudaFree(freed));
    null_kernel<<<1, 1>>>(freed);
    failed("null", cudaErrorIllegalAddress, {"byte 12 of freed allocation ", "(400 bytes)"});

    fresh();
    sleep_kernel<<<1, 1>>>(memory);
    int slept = 0;
    CUDA(cudaMemcpy(&slept, memory, sizeof slept, cudaMemcpyDeviceToHost));
    tap_ok(slept == 12345, "time that a block does not work is not counted");

    early();
    sticky();

    tap_ok(signal_of(host_null) == SIGSEGV, "a null pointer in host code is a segmentation fault");
    tap_ok(signal_of(host_misaligned) == 0, "a misaligned access in host code passes");
    tap_ok(signal_of(host_assert) == SIGABRT, "a failed assertion in host code aborts");
    return tap_done();
}
