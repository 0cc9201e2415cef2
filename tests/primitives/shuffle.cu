/*
 * shuffle.cu - __shfl_sync and its variants. The reference is the pseudocode of `shfl.sync` in the
 * PTX ISA: a lane's segment and clamp come packed in the operand c = ((32 - width) << 8) | clamp,
 * clamp 31, except 0 for `up`.
 */
#include "tests/primitives/primitives.h"

enum variant { IDX, UP, DOWN, XOR };

/* The lane that `lane` reads from. */
static int ptx_source(enum variant v, int lane, int operand, int width)
{
    const int c = (32 - width) << 8 | (v == UP ? 0 : 31);
    const int b = operand & 31, clamp = c & 31, segment = c >> 8 & 31;
    const int max_lane = (lane & segment) | (clamp & ~segment);
    const int min_lane = lane & segment;
    int j;
    bool inside;
    if (v == UP) {
        j = lane - b;
        inside = j >= max_lane;
    } else if (v == DOWN) {
        j = lane + b;
        inside = j <= max_lane;
    } else if (v == XOR) {
        j = lane ^ b;
        inside = j <= max_lane;
    } else {
        j = min_lane | (b & ~segment);
        inside = j <= max_lane;
    }
    return inside ? j : lane;
}

template <class T> __device__ T shuffle(int v, unsigned mask, T x, int operand, int width)
{
    switch (v) {
    case IDX:
        return __shfl_sync(mask, x, operand, width);
    case UP:
        return __shfl_up_sync(mask, x, operand, width);
    case DOWN:
        return __shfl_down_sync(mask, x, operand, width);
    default:
        return __shfl_xor_sync(mask, x, operand, width);
    }
}

__global__ void sources_kernel(int *out)
{
    int *next = out + threadIdx.x;
    for (int v = IDX; v <= XOR; v++)
        for (int width = 1; width <= 32; width *= 2)
            for (int operand = 0; operand < 64; operand++, next += 32)
                *next = shuffle(v, 0xffffffffu, (int)threadIdx.x, operand, width);
}

static void sources(void)
{
    const int count = 4 * 6 * 64 * 32;
    int *d = device_zeros<int>(count), *h = (int *)malloc(count * sizeof *h), i = 0;
    sources_kernel<<<1, 32>>>(d);
    FINISH();
    to_host(h, d, count);
    static const char *const names[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync",
                                        "__shfl_xor_sync"};
    for (int v = IDX; v <= XOR; v++) {
        int wrong = 0;
        for (int width = 1; width <= 32; width *= 2)
            for (int operand = 0; operand < 64; operand++)
                for (int lane = 0; lane < 32; lane++, i++)
                    wrong += h[i] != ptx_source((enum variant)v, lane, operand, width);
        tap_ok(wrong == 0, "%s: every width, operands up to 63", names[v]);
    }
    free(h);
}

/* ---- types ----------------------------------------------------------------------------------- */

template <class T> __global__ void type_kernel(T *x)
{
    x[threadIdx.x] = __shfl_sync(0xffffffffu, x[threadIdx.x], 31 - (int)threadIdx.x);
}

template <class T> static void type(const char *name)
{
    T h[32], got[32];
    uint64_t seed = sizeof(T);
    for (int i = 0; i < 32; i++) {
        const uint64_t bits = random_bits(&seed) & UINT64_C(0x3fffffff3fffffff); /* no NaN */
        memcpy(&h[i], &bits, sizeof(T));
    }
    T *d = to_device(h, 32);
    type_kernel<<<1, 32>>>(d);
    FINISH();
    to_host(got, d, 32);
    bool right = true;
    for (int i = 0; i < 32; i++)
        right &= memcmp(&got[i], &h[31 - i], sizeof(T)) == 0;
    tap_ok(right, "all bits of %s", name);
}

/* ---- parts of a warp ------------------------------------------------------------------------- */

/* Quarters of the warp go around a loop different numbers of times, each with a mask of its own. */
__global__ void quarters_kernel(int *out)
{
    const int lane = threadIdx.x, quarter = lane / 8;
    const unsigned mask = 0xffu << 8 * quarter;
    int x = lane;
    for (int i = 0; i <= quarter; i++)
        x = __shfl_sync(mask, x, lane + 1, 8) + 100;
    out[lane] = x;
}

/* A last warp of 16 lanes; and the other half of a full one has exited. */
__global__ void short_kernel(int *out)
{
    int x = threadIdx.x;
    if (blockIdx.x == 1 && threadIdx.x >= 16) return;
    for (int d = 8; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

/* Lane 0 meets every other lane in turn, with a mask of the two; the others wait their turn. */
__global__ void pairs_kernel(int *out)
{
    const int lane = threadIdx.x;
    int sum = lane;
    for (int other = 1; other < 32; other++)
        if (lane == 0 || lane == other)
            sum += __shfl_xor_sync(1u | 1u << other, 100 * lane + other, other);
    out[lane] = sum;
}

int main()
{
    sources();
    type<char>("char");
    type<unsigned char>("unsigned char");
    type<short>("short");
    type<int>("int");
    type<unsigned>("unsigned");
    type<long>("long");
    type<long long>("long long");
    type<unsigned long long>("unsigned long long");
    type<float>("float");
    type<double>("double");

    int *d = device_zeros<int>(32), h[64], wrong = 0;
    quarters_kernel<<<1, 32>>>(d);
    FINISH();
    to_host(h, d, 32);
    for (int lane = 0; lane < 32; lane++) {
        const int turns = lane / 8 + 1;
        wrong += h[lane] != lane / 8 * 8 + (lane + turns) % 8 + 100 * turns;
    }
    tap_ok(wrong == 0, "four masks in one warp, each with its own loop");

    d = device_zeros<int>(32);
    pairs_kernel<<<1, 32>>>(d);
    FINISH();
    to_host(h, d, 32);
    wrong = h[0] != 101 * 496;
    for (int lane = 1; lane < 32; lane++)
        wrong += h[lane] != 2 * lane;
    tap_ok(wrong == 0, "31 masks that overlap in lane 0");

    for (int threads : {16, 32}) {
        d = device_zeros<int>(64);
        short_kernel<<<2, threads>>>(d);
        FINISH();
        to_host(h, d, 64);
        wrong = 0;
        for (int lane = 0; lane < 16; lane++)
            wrong += h[threads + lane] != 120;
        tap_ok(wrong == 0, "full mask where only 16 lanes %s",
               threads == 16 ? "exist" : "are left");
    }
    return tap_done();
}
