/*
 * atomics.cu - atomic functions on every type the Programming Guide lists for them ("Atomic
 * Functions"), in global and shared memory. It also tests the progress that independent thread
 * scheduling promises to lanes that spin.
 */
#include "tests/primitives/primitives.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

enum { BLOCKS = 40, THREADS = 96, TOTAL = BLOCKS * THREADS };

/* ---- sums, and the old values they return ---------------------------------------------------- */

template <class T> __global__ void add_kernel(T *sum, T *old)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    old[i] = atomicAdd(sum, (T)1);
}

/* TOTAL increments return 0 .. TOTAL - 1, each once. */
template <class T> static void add(const char *name)
{
    T *d_sum = device_zeros<T>(1), *d_old = device_zeros<T>(TOTAL), sum, old[TOTAL];
    add_kernel<<<BLOCKS, THREADS>>>(d_sum, d_old);
    FINISH();
    to_host(&sum, d_sum, 1);
    to_host(old, d_old, TOTAL);
    static int times[TOTAL];
    memset(times, 0, sizeof times);
    int wrong = 0;
    for (int i = 0; i < TOTAL; i++) {
        const int k = (int)old[i];
        if (k < 0 || k >= TOTAL || times[k]++) wrong++;
    }
    tap_ok(sum == (T)TOTAL && wrong == 0, "atomicAdd of %s: the sum, and every old value once",
           name);
}

/* ---- the other operations, against one thread at a time ---------------------------------------
 */

enum { SUB, EXCH, MIN, MAX, AND, OR, XOR, INC, DEC, CAS, OPERATIONS };
static const char *const names[] = {"atomicSub", "atomicExch", "atomicMin", "atomicMax",
                                    "atomicAnd", "atomicOr",   "atomicXor", "atomicInc",
                                    "atomicDec", "atomicCAS"};

/* Thread t does every operation on its own cell of each, with operands from `values`. */
template <class T> __global__ void each_kernel(const T *values, T *cells, T *old)
{
    const int t = threadIdx.x, n = blockDim.x;
    const T x = values[t], y = values[n + t];
    T *cell = cells + t;
    for (int op = 0; op < OPERATIONS; op++, cell += n)
        *cell = x;
    cell = cells + t;
    old += t;
    old[MIN * n] = atomicMin(&cell[MIN * n], y);
    old[MAX * n] = atomicMax(&cell[MAX * n], y);
    old[AND * n] = atomicAnd(&cell[AND * n], y);
    old[OR * n] = atomicOr(&cell[OR * n], y);
    old[XOR * n] = atomicXor(&cell[XOR * n], y);
    if constexpr (sizeof(T) == 4) old[SUB * n] = atomicSub(&cell[SUB * n], y);
    if constexpr (!std::is_same_v<T, long long>) {
        old[EXCH * n] = atomicExch(&cell[EXCH * n], y);
        old[CAS * n] = atomicCAS(&cell[CAS * n], t % 2 ? x : y, y);
    }
    if constexpr (std::is_same_v<T, unsigned>) {
        old[INC * n] = atomicInc(&cell[INC * n], y);
        old[DEC * n] = atomicDec(&cell[DEC * n], y);
    }
}

template <class T> static T define(int op, T x, T y, int thread)
{
    switch (op) {
    case SUB:
        return (T)((unsigned long long)x - (unsigned long long)y);
    case EXCH:
        return y;
    case MIN:
        return x < y ? x : y;
    case MAX:
        return x > y ? x : y;
    case AND:
        return x & y;
    case OR:
        return x | y;
    case XOR:
        return x ^ y;
    case INC:
        return x >= y ? 0 : x + 1;
    case DEC:
        return x == 0 || x > y ? y : x - 1;
    default:
        return x == (thread % 2 ? x : y) ? y : x;
    }
}

template <class T> static void each(const char *name)
{
    const int n = 256;
    static T values[2 * n], cells[OPERATIONS * n], old[OPERATIONS * n];
    uint64_t seed = 7;
    for (int i = 0; i < n; i++) {
        values[i] = (T)random_bits(&seed);
        values[n + i] = (T)random_bits(&seed);
        if (i % 8 == 0) values[i] = 0;
        if (i % 8 == 1) values[n + i] = values[i];
        if (i % 8 == 2) values[n + i] = (T)(values[i] + 1);
    }
    T *d_values = to_device(values, 2 * n), *d_cells = device_zeros<T>(OPERATIONS * n);
    T *d_old = device_zeros<T>(OPERATIONS * n);
    each_kernel<<<1, n>>>(d_values, d_cells, d_old);
    FINISH();
    to_host(cells, d_cells, OPERATIONS * n);
    to_host(old, d_old, OPERATIONS * n);
    CUDA(cudaFree(d_values));
    for (int op = 0; op < OPERATIONS; op++) {
        if (op == SUB && sizeof(T) != 4) continue;
        if ((op == EXCH || op == CAS) && std::is_same_v<T, long long>) continue;
        if ((op == INC || op == DEC) && !std::is_same_v<T, unsigned>) continue;
        int wrong = 0;
        for (int t = 0; t < n; t++)
            wrong += cells[op * n + t] != define(op, values[t], values[n + t], t) ||
                     old[op * n + t] != values[t];
        tap_ok(wrong == 0, "%s of %s", names[op], name);
    }
}

/* ---- floats exchanged, 16-bit values, scopes --------------------------------------------------
 */

__global__ void small_kernel(float *f, unsigned short *s, __half2 *h2, __half *h,
                             __nv_bfloat162 *b2)
{
    const int t = threadIdx.x;
    if (t == 0) f[1] = atomicExch(&f[0], 2.5f);
    /* Sixteen bits at a time: every thread adds one to either half of the word. */
    unsigned short *mine = s + t % 2, seen = *mine, before;
    do {
        before = seen;
        seen = atomicCAS(mine, before, (unsigned short)(before + 1));
    } while (seen != before);
    atomicAdd(h2, __floats2half2_rn(1.0f, 0.5f));
    atomicAdd(h, __float2half(2.0f));
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    atomicAdd(b2, __floats2bfloat162_rn(1.0f, 2.0f));
#endif
}

static void small(void)
{
    float f[2] = {7, 0};
    unsigned short s[2] = {0xfff0, 3};
    __half2 h2 = __floats2half2_rn(0, 0);
    __half h = __float2half(1);
    __nv_bfloat162 b2 = __floats2bfloat162_rn(0, 0);
    float *d_f = to_device(f, 2);
    unsigned short *d_s = to_device(s, 2);
    __half2 *d_h2 = to_device(&h2, 1);
    __half *d_h = to_device(&h, 1);
    __nv_bfloat162 *d_b2 = to_device(&b2, 1);
    small_kernel<<<1, 128>>>(d_f, d_s, d_h2, d_h, d_b2);
    FINISH();
    to_host(f, d_f, 2);
    to_host(s, d_s, 2);
    to_host(&h2, d_h2, 1);
    to_host(&h, d_h, 1);
    to_host(&b2, d_b2, 1);
    tap_ok(f[0] == 2.5f && f[1] == 7, "atomicExch of float");
    tap_ok(s[0] == 0x0030 && s[1] == 67, "atomicCAS of unsigned short leaves its neighbour alone");
    tap_ok(__low2float(h2) == 128 && __high2float(h2) == 64, "atomicAdd of __half2");
    tap_ok(__half2float(h) == 257, "atomicAdd of __half");
    if (compute_capability() < 80)
        tap_skip("needs compute capability 8.0", "atomicAdd of __nv_bfloat162");
    else
        tap_ok(__low2float(b2) == 128 && __high2float(b2) == 256, "atomicAdd of __nv_bfloat162");
}

__global__ void shared_kernel(int *out, int *global)
{
    __shared__ int sum;
    __shared__ float float_sum;
    if (threadIdx.x == 0) sum = 0, float_sum = 0;
    __syncthreads();
    atomicAdd_block(&sum, (int)threadIdx.x);
    atomicAdd(&float_sum, 0.25f);
    atomicAdd_system(global, 1);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = sum + (int)float_sum;
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Every thread, lanes of one warp included, takes a lock, adds without atomics, and lets go. */
__global__ void lock_kernel(int *lock, volatile int *sum)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *sum = *sum + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

/* The threads of a block take turns in descending, then in ascending order; each spins until it is
 * called. */
__global__ void turns_kernel(int *turn, int *place)
{
    const int n = blockDim.x, t = threadIdx.x;
    while (atomicAdd(turn, 0) != n - 1 - t) {
    }
    place[t] = atomicAdd(turn, 1);
    while (atomicAdd(turn, 0) != n + t) {
    }
    place[n + t] = atomicAdd(turn, 1);
}

/* Warp 1 waits in a loop for warp 0, which waits for lane 31 of its own. */
__global__ void flag_kernel(volatile int *flag, int *out)
{
    if (threadIdx.x == 31) {
        __threadfence();
        flag[0] = 1;
    } else if (threadIdx.x < 32) {
        while (flag[0] == 0)
            __nanosleep(100);
        if (threadIdx.x == 0) atomicExch((int *)&flag[1], 1);
    } else {
        while (atomicAdd((int *)&flag[1], 0) == 0) {
        }
        atomicAdd(out, 1);
    }
}

int main()
{
    add<int>("int");
    add<unsigned>("unsigned");
    add<unsigned long long>("unsigned long long");
    add<float>("float");
    add<double>("double");
    each<int>("int");
    each<unsigned>("unsigned");
    each<long long>("long long");
    each<unsigned long long>("unsigned long long");
    small();

    int *d = device_zeros<int>(10), *d_global = device_zeros<int>(1), h[10], global, wrong = 0;
    shared_kernel<<<10, 128>>>(d, d_global);
    FINISH();
    to_host(h, d, 10);
    to_host(&global, d_global, 1);
    for (int i = 0; i < 10; i++)
        wrong += h[i] != 127 * 64 + 32;
    tap_ok(wrong == 0 && global == 1280, "in shared memory; scopes of block and system");

    d = device_zeros<int>(2);
    lock_kernel<<<8, 64>>>(d, d + 1);
    FINISH();
    to_host(h, d, 2);
    tap_ok(h[1] == 512, "a spin lock taken by every thread of 8 blocks");

    const int n = 64;
    int *d_turn = device_zeros<int>(1), *d_place = device_zeros<int>(2 * n), place[2 * n];
    turns_kernel<<<1, n>>>(d_turn, d_place);
    FINISH();
    to_host(place, d_place, 2 * n);
    wrong = 0;
    for (int t = 0; t < n; t++)
        wrong += place[t] != n - 1 - t || place[n + t] != n + t;
    tap_ok(wrong == 0, "every thread spins until its turn comes, in either order");

    d = device_zeros<int>(3);
    flag_kernel<<<1, 64>>>(d, d + 2);
    FINISH();
    to_host(h, d, 3);
    tap_ok(h[2] == 32, "lanes and warps that wait for each other in loops");
    return tap_done();
}
