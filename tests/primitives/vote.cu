/*
 * vote.cu - votes, matches, reductions, __syncwarp, __activemask. Programming Guide, "Warp Vote
 * Functions", "Warp Match Functions", "Warp Reduce Functions".
 */
#include "tests/primitives/primitives.h"

enum {
    BALLOT,
    ANY,
    ALL,
    MATCH_ANY,
    MATCH_ALL,
    MATCH_ALL_PREDICATE,
    MATCH_LONG,
    ADD,
    MIN,
    MAX,
    AND,
    OR,
    XOR,
    ADD_S,
    MIN_S,
    MAX_S,
    RESULTS
};
static const char *const names[RESULTS] = {"__ballot_sync",
                                           "__any_sync",
                                           "__all_sync",
                                           "__match_any_sync",
                                           "__match_all_sync",
                                           "__match_all_sync's predicate",
                                           "__match_any_sync of 64 bits",
                                           "__reduce_add_sync",
                                           "__reduce_min_sync",
                                           "__reduce_max_sync",
                                           "__reduce_and_sync",
                                           "__reduce_or_sync",
                                           "__reduce_xor_sync",
                                           "__reduce_add_sync, signed",
                                           "__reduce_min_sync, signed",
                                           "__reduce_max_sync, signed"};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define HAVE_REDUCE 1
#endif

/* Lanes of masks[i] use values[i][lane]; the others do something else meanwhile. */
__global__ void votes_kernel(const unsigned *masks, const unsigned *values, unsigned *out)
{
    const int lane = threadIdx.x;
    const unsigned mask = masks[blockIdx.x], x = values[32 * blockIdx.x + lane];
    unsigned *result = out + (size_t)blockIdx.x * RESULTS * 32 + lane;
    if (!(mask >> lane & 1)) return;
    result[32 * BALLOT] = __ballot_sync(mask, x & 1);
    result[32 * ANY] = __any_sync(mask, x & 2) != 0;
    result[32 * ALL] = __all_sync(mask, x & 4) != 0;
    result[32 * MATCH_ANY] = __match_any_sync(mask, x & 3);
    int all;
    result[32 * MATCH_ALL] = __match_all_sync(mask, x >> 31, &all);
    result[32 * MATCH_ALL_PREDICATE] = all != 0;
    result[32 * MATCH_LONG] = __match_any_sync(mask, (unsigned long long)(x & 1) << 40);
#ifdef HAVE_REDUCE
    result[32 * ADD] = __reduce_add_sync(mask, x);
    result[32 * MIN] = __reduce_min_sync(mask, x);
    result[32 * MAX] = __reduce_max_sync(mask, x);
    result[32 * AND] = __reduce_and_sync(mask, x);
    result[32 * OR] = __reduce_or_sync(mask, x);
    result[32 * XOR] = __reduce_xor_sync(mask, x);
    result[32 * ADD_S] = (unsigned)__reduce_add_sync(mask, (int)x);
    result[32 * MIN_S] = (unsigned)__reduce_min_sync(mask, (int)x);
    result[32 * MAX_S] = (unsigned)__reduce_max_sync(mask, (int)x);
#endif
}

/* Computes the result of a lane by the words of the guide. */
static void define(unsigned mask, const unsigned *x, int lane, unsigned want[RESULTS])
{
    memset(want, 0, RESULTS * sizeof *want);
    want[ALL] = want[MATCH_ALL_PREDICATE] = 1;
    want[MIN] = want[AND] = 0xffffffffu;
    int least = INT32_MAX, most = INT32_MIN;
    for (int l = 0; l < 32; l++) {
        if (!(mask >> l & 1)) continue;
        want[BALLOT] |= (x[l] & 1) << l;
        if (x[l] & 2) want[ANY] = 1;
        if (!(x[l] & 4)) want[ALL] = 0;
        if ((x[l] & 3) == (x[lane] & 3)) want[MATCH_ANY] |= 1u << l;
        if ((x[l] & 1) == (x[lane] & 1)) want[MATCH_LONG] |= 1u << l;
        if (x[l] >> 31 != x[lane] >> 31) want[MATCH_ALL_PREDICATE] = 0;
        want[ADD] += x[l];
        if (x[l] < want[MIN]) want[MIN] = x[l];
        if (x[l] > want[MAX]) want[MAX] = x[l];
        want[AND] &= x[l];
        want[OR] |= x[l];
        want[XOR] ^= x[l];
        if ((int)x[l] < least) least = (int)x[l];
        if ((int)x[l] > most) most = (int)x[l];
    }
    want[MATCH_ALL] = want[MATCH_ALL_PREDICATE] ? mask : 0;
    want[ADD_S] = want[ADD];
    want[MIN_S] = (unsigned)least;
    want[MAX_S] = (unsigned)most;
}

static void votes(void)
{
    const int cases = 400;
    static unsigned masks[cases], values[cases][32], got[cases][RESULTS][32];
    uint64_t seed = 1;
    for (int i = 0; i < cases; i++) {
        masks[i] = i == 0 ? 0xffffffffu : i <= 32 ? 1u << (i - 1) : (unsigned)random_bits(&seed);
        if (!masks[i]) masks[i] = 1;
        for (int l = 0; l < 32; l++) {
            values[i][l] = (unsigned)random_bits(&seed);
            if (i % 4 == 1) values[i][l] |= 7;   /* all agree */
            if (i % 4 == 2) values[i][l] &= ~7u; /* none does */
            if (i % 4 < 3) values[i][l] &= ~(1u << 31);
        }
    }
    unsigned *d_masks = to_device(masks, cases), *d_values = to_device(&values[0][0], cases * 32);
    unsigned *d = device_zeros<unsigned>(cases * RESULTS * 32);
    votes_kernel<<<cases, 32>>>(d_masks, d_values, d);
    FINISH();
    to_host(&got[0][0][0], d, cases * RESULTS * 32);
    CUDA(cudaFree(d_masks));
    CUDA(cudaFree(d_values));
    int wrong[RESULTS] = {};
    for (int i = 0; i < cases; i++)
        for (int l = 0; l < 32; l++) {
            if (!(masks[i] >> l & 1)) continue;
            unsigned want[RESULTS];
            define(masks[i], values[i], l, want);
            for (int r = 0; r < RESULTS; r++)
                wrong[r] += want[r] != got[i][r][l];
        }
    for (int r = 0; r < RESULTS; r++)
        if (r >= ADD && compute_capability() < 80)
            tap_skip("needs compute capability 8.0", "%s", names[r]);
        else
            tap_ok(wrong[r] == 0, "%s: %d masks", names[r], cases);
}

/* ---- __syncwarp orders memory within the warp ------------------------------------------------ */

__global__ void reverse_kernel(int *out)
{
    __shared__ int s[32];
    int x = threadIdx.x;
    for (int i = 0; i < 7; i++) {
        s[threadIdx.x] = x;
        __syncwarp();
        x = s[31 - threadIdx.x] + 1;
        __syncwarp();
    }
    out[threadIdx.x] = x;
}

/* Odd and even lanes exchange through shared memory at different rates. */
__global__ void parts_kernel(int *out)
{
    __shared__ int s[32];
    const int lane = threadIdx.x, odd = lane & 1;
    const unsigned mask = odd ? 0xaaaaaaaau : 0x55555555u;
    int x = lane;
    for (int i = 0; i < 3 + 4 * odd; i++) {
        s[lane] = x;
        __syncwarp(mask);
        x = s[(lane + 2) % 32] + 100;
        __syncwarp(mask);
    }
    out[lane] = x;
}

__global__ void active_kernel(unsigned *out)
{
    unsigned mask = __activemask();
    if (threadIdx.x % 3 == 0) mask = __activemask();
    out[threadIdx.x] = mask;
}

int main()
{
    votes();

    int *d = device_zeros<int>(32), h[32], wrong = 0;
    reverse_kernel<<<1, 32>>>(d);
    FINISH();
    to_host(h, d, 32);
    for (int l = 0; l < 32; l++)
        wrong += h[l] != 31 - l + 7;
    tap_ok(wrong == 0, "__syncwarp: what was written before it is read after it");

    d = device_zeros<int>(32);
    parts_kernel<<<1, 32>>>(d);
    FINISH();
    to_host(h, d, 32);
    wrong = 0;
    for (int l = 0; l < 32; l++) {
        const int rounds = l & 1 ? 7 : 3;
        wrong += h[l] != (l + 2 * rounds) % 32 + 100 * rounds;
    }
    tap_ok(wrong == 0, "__syncwarp of parts of a warp");

    unsigned *du = device_zeros<unsigned>(32), hu[32];
    active_kernel<<<1, 32>>>(du);
    FINISH();
    to_host(hu, du, 32);
    wrong = 0;
    for (int l = 0; l < 32; l++) {
        wrong += !(hu[l] >> l & 1);
        if (l % 3 == 0) wrong += (hu[l] & ~0x49249249u) != 0;
    }
    tap_ok(wrong == 0, "__activemask: the calling lane, and none that is elsewhere");
    return tap_done();
}
