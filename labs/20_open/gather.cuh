/*
 * gather.cuh - the core of the gather kernel: a group of LANES lanes adds nonzeros times rows of B.
 *
 * A group fetches LANES (column, value) pairs in one coalesced load and hands them round by shuffles;
 * each lane then has IN_FLIGHT loads of B on their way at once, of K * V floats each.
 */
#ifndef LAB20_GATHER_CUH
#define LAB20_GATHER_CUH

#include "device/byte_offset.cuh"
#include "device/overlap.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "labs/10_row_swizzle/lane_groups.cuh"
#include "passes.h"

constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;

/* One launch: a pass. Positions are counted from the pass's first one, and so are LONG segments and
 * parts. */
struct pass_product {
    int N, first_slice, num_slices;
    int first[NUM_BINS + 1]; /* position */
    int block[NUM_BINS + 1]; /* first block of each bin */
    int packet[NUM_BINS];
    int part_length;
    const int *__restrict__ row; /* of each position; ADDS: to what C holds */
    const int2 *__restrict__ span;
    const int2 *__restrict__ pairs, *__restrict__ packets;
    const int2 *__restrict__ part;
    const int *__restrict__ first_part_of;
    int before_long, before_part; /* the pass's first LONG segment and part */
    float *partial;
    unsigned *arrived;
    const float *__restrict__ B;
    float *C;
};

/* What a launch is, here and below.
 *
 *   ALONE        the only one: C is written once, and had better make room in L2. Of several launches C is
 *                read again, and had better stay.
 *   IN_TURN      one of several, each of which begins when the one before has ended
 *   OVERLAPPING  one of several, each of which begins when all blocks of the one before have begun; what that
 *                one leaves in C can be read after wait_for_kernel_before() */
enum launch_kind { ALONE, IN_TURN, OVERLAPPING };

/* A lane's part of a slice of C: K vectors of V columns, LANES * V apart. K = 2 is for slices that
 * divide N, so that the second vector is at a fixed distance from the first. */
template <int LANES, int V, int K> struct slice_lanes {
    static constexpr int WIDTH = LANES * V * K, GROUPS = WARP_SIZE / LANES;
    static constexpr int IN_FLIGHT = V == 4 ? 4 : 8;
    int lane, group; /* this lane in its group, this group in the block */
    int column;      /* first of this lane */
    bool inside;     /* whether C has that column */
    const float *B;  /* row 0 of B at that column, or at the last that B has for the lanes beyond */
    unsigned row_bytes;

    __device__ __forceinline__ slice_lanes(const pass_product &p)
        : lane(threadIdx.x % LANES), group(threadIdx.x / LANES),
          column((p.first_slice + blockIdx.y) * WIDTH + lane * V), inside(column < p.N),
          B(p.B + min(column, p.N - V)), row_bytes(4u * (unsigned)p.N)
    {
    }

    __device__ __forceinline__ void load(float (&b)[K][V], int row_of_B) const
    {
        /* Unsigned, so that the address is one multiply-add of 32 x 32 + 64 bits. */
        const float *const from = byte_offset(B, (size_t)(unsigned)row_of_B * row_bytes);
#pragma unroll
        for (int k = 0; k < K; k++)
            load_vector(b[k], from + k * LANES * V);
    }

    /* Where a sum begins: at zero, or at what earlier passes left in C, if they have ended. That load
     * goes off together with the first pairs, and needs no registers of its own. */
    template <launch_kind KIND>
    __device__ __forceinline__ void begin(const pass_product &p, int tagged_row,
                                          float (&sum)[K][V]) const
    {
#pragma unroll
        for (int k = 0; k < K; k++)
#pragma unroll
            for (int v = 0; v < V; v++)
                sum[k][v] = 0;
        if constexpr (KIND == IN_TURN)
            if ((tagged_row & ADDS) && inside)
#pragma unroll
                for (int k = 0; k < K; k++)
                    load_vector_plain(sum[k], place(p, tagged_row, k));
    }

    /* The sum's end: an overlapping pass adds what C holds now, when those before are most likely done. */
    template <launch_kind KIND>
    __device__ __forceinline__ void finish(const pass_product &p, int tagged_row,
                                           float (&sum)[K][V]) const
    {
        if constexpr (KIND == OVERLAPPING)
            if ((tagged_row & ADDS) && inside) {
                float c[K][V];
                wait_for_kernel_before();
#pragma unroll
                for (int k = 0; k < K; k++)
                    load_vector_l2(c[k], place(p, tagged_row, k));
#pragma unroll
                for (int k = 0; k < K; k++)
#pragma unroll
                    for (int v = 0; v < V; v++)
                        sum[k][v] += c[k][v];
            }
        store<KIND>(p, tagged_row, sum);
    }

    template <launch_kind KIND>
    __device__ __forceinline__ void store(const pass_product &p, int tagged_row,
                                          const float (&x)[K][V]) const
    {
        if (!inside) return;
#pragma unroll
        for (int k = 0; k < K; k++)
            if constexpr (KIND == ALONE)
                store_vector_streaming(place(p, tagged_row, k), x[k]);
            else
                store_vector(place(p, tagged_row, k), x[k]);
    }

    __device__ __forceinline__ float *place(const pass_product &p, int tagged_row, int k) const
    {
        return &p.C[(size_t)(tagged_row & ~ADDS) * p.N + column + k * LANES * V];
    }
};

/* The next LANES pairs of each group, of which `mine` is this lane's, times B. In a round that is not
 * FULL a group has `left` of them, and no group more than `most`; one that has none left loads rows of
 * B that it had, or row 0, and adds nothing: loads without conditions go off together, others one by
 * one. */
template <bool FULL, int LANES, int V, int K>
static __device__ __forceinline__ void add_round(const slice_lanes<LANES, V, K> &at,
                                                 const int2 &mine, int left, int most,
                                                 float (&sum)[K][V])
{
    constexpr int BATCH = at.IN_FLIGHT < LANES ? at.IN_FLIGHT : LANES;
#pragma unroll
    for (int q = 0; q < LANES; q += BATCH) {
        if (!FULL && q > 0 && q >= most) break;
        float b[BATCH][K][V];
#pragma unroll
        for (int u = 0; u < BATCH; u++)
            at.load(b[u], __shfl_sync(FULL_MASK, mine.x, q + u, LANES));
#pragma unroll
        for (int u = 0; u < BATCH; u++) {
            const int value = __shfl_sync(FULL_MASK, mine.y, q + u, LANES);
            if (FULL || q + u < left) multiply_add(sum, value, b[u]);
        }
    }
}

/* sum += pairs[0 .. count-1] times B, for each group of the warp its own pairs and count. All lanes
 * of the warp must be here, since they shuffle together as long as one group has pairs left; what all
 * groups have is done without asking who has. pairs[0 .. LANES-1] must be there even if count is not
 * positive.
 *
 * Each loop finds its bound when it begins. With both bounds held all the time 40 registers are too few,
 * and a round begins by waiting for what lies in local memory instead. */
template <int LANES, int V, int K>
static __device__ __forceinline__ void gather(const slice_lanes<LANES, V, K> &at,
                                              const int2 *__restrict__ pairs, int count,
                                              float (&sum)[K][V])
{
    int least = count;
#pragma unroll
    for (int distance = LANES; distance < WARP_SIZE; distance *= 2)
        least = min(least, __shfl_xor_sync(FULL_MASK, least, distance));
    pairs += at.lane;
    int2 next = __ldcs(pairs);
    int done = 0;
    for (; done + LANES <= least; done += LANES) {
        const int2 mine = next;
        if (done + LANES < count) next = __ldcs(&pairs[done + LANES]);
        add_round<true>(at, mine, LANES, LANES, sum);
    }

    pairs += done;
    count -= done;
    int most = count;
#pragma unroll
    for (int distance = LANES; distance < WARP_SIZE; distance *= 2)
        most = max(most, __shfl_xor_sync(FULL_MASK, most, distance));
    for (; most > 0; most -= LANES) {
        const int2 mine = next;
        pairs += LANES;
        if (count > LANES) next = __ldcs(pairs);
        add_round<false>(at, mine, count, most, sum);
        count -= LANES;
    }
}

#endif
