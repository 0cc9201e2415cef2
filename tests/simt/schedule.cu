/*
 * schedule.cu - the same program under every schedule: 1 and 2 OS threads, ascending and descending
 * order. Correct kernels give the same results; a kernel without its barrier is found out.
 *
 * Settings are read when a program starts, so this one starts itself again for each schedule and
 * reads what that prints.
 */
#include "tests/primitives/primitives.h"

#include "device/warp.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- kernels -----------------------------------------------------------------------------------
 */

/* Barriers, shuffles, integer atomics and divergence together; the result is defined. */
__global__ void mixed_kernel(unsigned *out, unsigned *histogram)
{
    __shared__ unsigned s[256];
    const int t = threadIdx.x;
    unsigned x = blockIdx.x * 2654435761u + t;
    for (int i = 0; i < 5; i++) {
        s[t] = x;
        __syncthreads();
        x = s[(t * 7 + i) % 256] * 31 + warp_sum(x);
        if (t % 3 == 0) x ^= __popc(x);
        __syncthreads();
    }
    atomicAdd(&histogram[x % 64], 1u);
    out[blockIdx.x * 256 + t] = x;
}

/* The order in which lanes, warps and blocks begin, as long as nobody waits. */
__global__ void order_kernel(int *next, int *place)
{
    place[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(next, 1);
}

/* Reads its neighbour's value without waiting for it to be written. */
__global__ void hasty_kernel(int *out)
{
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[(threadIdx.x + 31) % 32]; /* written before only in ascending order */
}

/* Block 0 fails, after the others have begun to run until somebody stops them. */
__global__ void one_of_many_kernel(volatile int *p)
{
    if (blockIdx.x == 0) {
        for (int i = 0; i < 100000000; i++)
            p[1] = i;
        __trap();
    }
    while (p[0] == 0) {
    }
}

/* One cell for each atomic function, used by all threads. What is added is taken away again; the
 * extremes climb, each thread from where it found them, and none may ever see less than it left. */
struct cells {
    float f32;
    double f64;
    __half f16;
    __half2 f16x2;
    __nv_bfloat16 bf16;
    __nv_bfloat162 bf16x2;
    unsigned inc, dec;
    int max32, min32;
    unsigned umax32, umin32;
    long long max64, min64;
    unsigned long long umax64, umin64;
    unsigned lost;
};

template <class T> __device__ bool climbs(T *cell, T *mine)
{
    const T old = atomicMax(cell, *mine);
    const bool right = old >= *mine - 1;
    *mine = max(old, *mine) + 1;
    return right;
}
template <class T> __device__ bool sinks(T *cell, T *mine)
{
    const T old = atomicMin(cell, *mine);
    const bool right = old <= *mine + 1;
    *mine = min(old, *mine) - 1;
    return right;
}

__global__ void contention_kernel(cells *c, int rounds)
{
    int max32 = 1, min32 = -1;
    unsigned umax32 = 1, umin32 = ~0u - 1, lost = 0;
    long long max64 = 1, min64 = -1;
    unsigned long long umax64 = 1, umin64 = ~0ull - 1;
    for (int i = 0; i < rounds; i++) {
        for (int one : {1, -1}) {
            atomicAdd(&c->f32, (float)one);
            atomicAdd(&c->f64, (double)one);
            atomicAdd(&c->f16, __float2half((float)one));
            atomicAdd(&c->f16x2, __floats2half2_rn((float)one, (float)-one));
            atomicAdd(&c->bf16, __float2bfloat16((float)one));
            atomicAdd(&c->bf16x2, __floats2bfloat162_rn((float)one, (float)-one));
        }
        atomicInc(&c->inc, ~0u);
        atomicDec(&c->dec, ~0u);
        lost += !climbs(&c->max32, &max32) + !sinks(&c->min32, &min32);
        lost += !climbs(&c->umax32, &umax32) + !sinks(&c->umin32, &umin32);
        lost += !climbs(&c->max64, &max64) + !sinks(&c->min64, &min64);
        lost += !climbs(&c->umax64, &umax64) + !sinks(&c->umin64, &umin64);
    }
    atomicAdd(&c->lost, lost);
}

/* The functions that lost an update, a bit each. */
static int contention_child(void)
{
    const int blocks = 64, threads = 32, rounds = 100;
    cells c, *d;
    memset((void *)&c, 0, sizeof c);
    c.umin32 = ~0u;
    c.umin64 = ~0ull;
    d = to_device(&c, 1);
    contention_kernel<<<blocks, threads>>>(d, rounds);
    FINISH();
    to_host(&c, d, 1);
    const unsigned count = blocks * threads * rounds;
    const bool wrong[] = {c.f32 != 0,
                          c.f64 != 0,
                          __half2float(c.f16) != 0,
                          __low2float(c.f16x2) != 0 || __high2float(c.f16x2) != 0,
                          __bfloat162float(c.bf16) != 0,
                          __low2float(c.bf16x2) != 0 || __high2float(c.bf16x2) != 0,
                          c.inc != count,
                          c.dec != 0u - count,
                          c.lost != 0};
    int set = 0;
    for (int i = 0; i < 9; i++)
        set |= wrong[i] << i;
    printf("%d\n", set);
    return set != 0;
}

static unsigned long long mix(unsigned long long h, unsigned x)
{
    return (h ^ x) * 1099511628211ull;
}

static int os_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks && readdir(tasks))
        count++;
    if (tasks) closedir(tasks);
    return count - 2; /* . and .. */
}

/* Host threads that launch at the same time take turns. */
static void *launch_many(void *wrong)
{
    for (int i = 0; i < 50; i++) {
        unsigned *d = device_zeros<unsigned>(5 * 256), *h = device_zeros<unsigned>(64),
                 histogram[64];
        mixed_kernel<<<5, 256>>>(d, h);
        FINISH();
        to_host(histogram, h, 64);
        CUDA(cudaFree(d));
        unsigned sum = 0;
        for (unsigned x : histogram)
            sum += x;
        if (sum != 5 * 256) __atomic_fetch_add((int *)wrong, 1, __ATOMIC_RELAXED);
    }
    return nullptr;
}

static bool runs(void)
{
    unsigned *d = device_zeros<unsigned>(256), *h = device_zeros<unsigned>(64);
    mixed_kernel<<<1, 256>>>(d, h);
    return cudaDeviceSynchronize() == cudaSuccess && cudaFree(d) == cudaSuccess &&
           cudaFree(h) == cudaSuccess;
}
static void *run_and_tell(void *number)
{
    *(int *)number = runs() ? gettid() : -1;
    return nullptr;
}

/* Two host threads, one after the other, that the system calls by the same number. */
static void same_number(void)
{
    int first = 0, second = 0;
    for (int attempt = 0; attempt < 100 && (!first || first != second); attempt++) {
        pthread_t t;
        pthread_create(&t, nullptr, run_and_tell, &first);
        pthread_join(t, nullptr);
        FILE *next = fopen("/proc/sys/kernel/ns_last_pid", "w");
        if (!next) break;
        fprintf(next, "%d", first - 1);
        if (fclose(next) != 0) break;
        pthread_create(&t, nullptr, run_and_tell, &second);
        pthread_join(t, nullptr);
    }
    if (first && first == second)
        tap_ok(first > 0, "a new host thread with the number of one that has ended");
    else
        tap_skip("needs a say in the next thread's number", "a thread number used again");
}

/* Prints, for one run, a hash of mixed_kernel's results, and the first and the last thread of
 * order_kernel. Then it prints how many threads of hasty_kernel read their neighbour's value, and
 * how many OS threads there were. */
static int child(void)
{
    const int blocks = 200;
    static unsigned out[blocks * 256], histogram[64];
    unsigned *d = device_zeros<unsigned>(blocks * 256), *h = device_zeros<unsigned>(64);
    mixed_kernel<<<blocks, 256>>>(d, h);
    FINISH();
    to_host(out, d, blocks * 256);
    to_host(histogram, h, 64);
    unsigned long long hash = 14695981039346656037ull;
    for (unsigned x : out)
        hash = mix(hash, x);
    for (unsigned x : histogram)
        hash = mix(hash, x);

    static int place[20 * 64];
    int *next = device_zeros<int>(1), *p = device_zeros<int>(20 * 64), first = -1, last = -1;
    order_kernel<<<20, 64>>>(next, p);
    FINISH();
    to_host(place, p, 20 * 64);
    for (int i = 0; i < 20 * 64; i++) {
        if (place[i] == 0) first = i;
        if (place[i] == 20 * 64 - 1) last = i;
    }

    int *q = device_zeros<int>(32), hasty[32], right = 0;
    hasty_kernel<<<1, 32>>>(q);
    FINISH();
    to_host(hasty, q, 32);
    for (int i = 0; i < 32; i++)
        right += hasty[i] == (i + 31) % 32;
    printf("%llx %d %d %d %d\n", hash, first, last, right, os_threads());
    return 0;
}

static int failing_child(void)
{
    int *d = device_zeros<int>(2);
    one_of_many_kernel<<<100, 32>>>(d);
    return cudaDeviceSynchronize() == cudaErrorLaunchFailure ? 0 : 1;
}

struct result {
    unsigned long long hash;
    int first, last, hasty, threads;
};

static struct result run(const char *threads, const char *order)
{
    char command[256];
    snprintf(command, sizeof command, "SIMT_THREADS=%s SIMT_ORDER=%s /proc/%d/exe child", threads,
             order, (int)getpid());
    struct result r = {0, -2, -2, -2, -2};
    FILE *f = popen(command, "r");
    if (!f || fscanf(f, "%llx %d %d %d %d", &r.hash, &r.first, &r.last, &r.hasty, &r.threads) != 5)
        tap_note("no result from %s", command);
    if (f) pclose(f);
    return r;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "child") == 0) return child();
    if (argc > 1 && strcmp(argv[1], "failing") == 0) return failing_child();
    if (argc > 1 && strcmp(argv[1], "contention") == 0) return contention_child();

    const struct result one = run("1", "forward"), two = run("2", "forward"),
                        back = run("1", "reverse"), both = run("2", "reverse"),
                        seven = run("7", "forward");
    tap_ok(one.hash && one.hash == two.hash && one.hash == seven.hash,
           "1, 2 and 7 OS threads give the same results");
    tap_ok(one.hash == back.hash && one.hash == both.hash, "so does descending order");
    tap_ok(one.first == 0 && one.last == 20 * 64 - 1, "ascending: the first thread is thread 0");
    tap_ok(back.first == 20 * 64 - 1 && back.last == 0, "descending: it is the last one");
    tap_ok(one.hasty == 31 && back.hasty <= 1,
           "a missing barrier shows in descending order: %d of 32, %d", one.hasty, back.hasty);
    tap_ok(one.threads == 1 && two.threads == 2 && seven.threads == 7,
           "SIMT_THREADS is the number of OS threads: %d, %d, %d", one.threads, two.threads,
           seven.threads);

    char command[256];
    snprintf(command, sizeof command,
             "SIMT_THREADS=4 SIMT_TIMEOUT=60 /proc/%d/exe failing 2>/dev/null", (int)getpid());
    struct rusage before, after;
    getrusage(RUSAGE_CHILDREN, &before);
    const int status = system(command);
    getrusage(RUSAGE_CHILDREN, &after);
    tap_ok(status == 0 && after.ru_utime.tv_sec - before.ru_utime.tv_sec < 30,
           "when one block fails, blocks that would run for ever are stopped");

    snprintf(command, sizeof command, "SIMT_THREADS=4 /proc/%d/exe contention", (int)getpid());
    FILE *f = popen(command, "r");
    int lost = -1;
    if (f && fscanf(f, "%d", &lost) != 1) lost = -1;
    if (f) pclose(f);
    tap_ok(lost == 0, "no atomic update is lost (%#x)", (unsigned)lost);

    /* With few addresses left the system refuses threads. */
    snprintf(command, sizeof command,
             "ulimit -v 3000000; SIMT_THREADS=1000 exec /proc/%d/exe child >/dev/null",
             (int)getpid());
    const int refused = system(command);
    tap_ok(refused == 0, "fewer OS threads than asked for will do (status %d)", refused);

    same_number();
    int wrong = 0;
    pthread_t others[3];
    for (pthread_t &t : others)
        pthread_create(&t, nullptr, launch_many, &wrong);
    launch_many(&wrong);
    for (pthread_t &t : others)
        pthread_join(t, nullptr);
    tap_ok(wrong == 0, "four host threads launch at the same time");
    return tap_done();
}
