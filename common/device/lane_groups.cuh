/*
 * lane_groups.cuh - groups of LANES lanes that share a warp, a group for each row or segment of
 * one. A lane has K vectors of V columns of a sum.
 *
 * A group fetches LANES (column, value) pairs in one coalesced load and hands them round by
 * shuffles; each lane then has IN_FLIGHT loads of B on their way at once, of K * V floats each.
 */
#ifndef DEVICE_LANE_GROUPS_CUH
#define DEVICE_LANE_GROUPS_CUH

#include "device/byte_offset.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

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

    /* Finds this lane in its block's slice, first_slice + blockIdx.y. P: a kernel's argument, with
     * N, first_slice and B. */
    template <class P>
    __device__ __forceinline__ explicit slice_lanes(const P &p)
        : lane(threadIdx.x % LANES), group(threadIdx.x / LANES),
          column((p.first_slice + blockIdx.y) * WIDTH + lane * V), inside(column < p.N),
          B(p.B + min(column, p.N - V)), row_bytes(4u * (unsigned)p.N)
    {
    }

    /* Loads this lane's columns of a row of B. */
    __device__ __forceinline__ void load(float (&b)[K][V], int row_of_B) const
    {
        /* Unsigned, so that the address is one multiply-add of 32 x 32 + 64 bits. */
        const float *const from = byte_offset(B, (size_t)(unsigned)row_of_B * row_bytes);
#pragma unroll
        for (int k = 0; k < K; k++)
            load_vector(b[k], from + k * LANES * V);
    }

    /* The place of vector k of a row in C. */
    __device__ __forceinline__ float *place(float *C, int N, int row, int k) const
    {
        return &C[(size_t)row * N + column + k * LANES * V];
    }
};

template <int K, int V> static __device__ __forceinline__ void set_zero(float (&sum)[K][V])
{
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
        for (int v = 0; v < V; v++)
            sum[k][v] = 0;
}

/* sum += the value with these bits times b. */
template <int K, int V>
static __device__ __forceinline__ void multiply_add(float (&sum)[K][V], int value_bits,
                                                    const float (&b)[K][V])
{
    const float value = __int_as_float(value_bits);
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
        for (int v = 0; v < V; v++)
            sum[k][v] += value * b[k][v];
}

/* Pairs of a segment of `count` that each of `groups` groups takes: whole rounds of LANES. */
template <int LANES> static __device__ __forceinline__ int share_of(int count, int groups)
{
    const int rounds = (count + LANES - 1) / LANES;
    return (rounds + groups - 1) / groups * LANES;
}

/* Adds up the sums of the warp's groups, in every group. */
template <int LANES, int V, int K>
static __device__ __forceinline__ void add_groups(float (&sum)[K][V])
{
#pragma unroll
    for (int distance = LANES; distance < WARP_SIZE; distance *= 2)
#pragma unroll
        for (int k = 0; k < K; k++)
#pragma unroll
            for (int v = 0; v < V; v++)
                sum[k][v] += __shfl_xor_sync(FULL_MASK, sum[k][v], distance);
}

/* Adds the next LANES pairs of each group, of which `mine` is this lane's, times B. In a round that
 * is not FULL a group has `left` of them, and no group more than `most`. A group that has none left
 * loads rows of B that it had, or row 0, and adds nothing: loads without conditions go off
 * together, others one by one. */
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

/* Adds pairs[0 .. count-1] times B to sum, for each group of the warp its own pairs and count. All
 * lanes of the warp must be here, since they shuffle together as long as one group has pairs left.
 * Rounds that all groups have are added without asking which groups have them. pairs[0 .. LANES-1]
 * must be there even if count is not positive.
 *
 * Each loop finds its bound when it begins. With both bounds held all the time 40 registers are too
 * few, and a round begins by waiting for local memory instead. */
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
