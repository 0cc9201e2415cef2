/*
 * packets.cuh - rows of at most 16 nonzeros, which most graphs are made of, and empty ones.
 *
 * Which slots make a row is known when this is compiled, and where a packet lies follows from its
 * number: its pairs and its rows are fetched at once. Of the three loads that wait for each other in
 * a row (where it begins, its pairs, its rows of B) two are left.
 */
#ifndef LAB20_PACKETS_CUH
#define LAB20_PACKETS_CUH

#include "gather.cuh"

constexpr int ZEROED_ROWS = 8; /* empty rows a group writes */

template <int BIN, int LANES, int V, int K, launch_kind KIND>
static __device__ void packet(const pass_product &p)
{
    const slice_lanes<LANES, V, K> at(p);
    constexpr int SLOTS = slots_of(BIN), ROWS = PACKET / SLOTS;
    constexpr int HELD =
        LANES < PACKET ? PACKET / LANES : 1; /* pairs, or rows, that a lane holds */
    constexpr int IN_FLIGHT = 4;
    const int number = (blockIdx.x - p.block[BIN]) * (BLOCK / LANES) + at.group;
    const bool exists = p.packet[BIN] + number < p.packet[BIN + 1];
    const int2 *const pairs = p.packets + (size_t)(p.packet[BIN] + number) * PACKET;
    const int first = p.first[BIN] + number * ROWS, end = p.first[BIN + 1];
    int2 pair[HELD];
    int row[HELD];
#pragma unroll
    for (int h = 0; h < HELD; h++) {
        const int i = h * LANES + at.lane;
        pair[h] = make_int2(-1, 0);
        if (exists && i < PACKET) pair[h] = __ldcs(&pairs[i]);
        row[h] = -1;
        if (i < ROWS && first + i < end) row[h] = p.row[first + i];
    }
    float sum[K][V] = {};
#pragma unroll 1 /* else the loads of all rounds come first, and have too few registers */
    for (int q = 0; q < PACKET; q += IN_FLIGHT) {
        int2 mine = pair[0];
#pragma unroll
        for (int h = 1; h < HELD; h++)
            if (q >= h * LANES) mine = pair[h];
        float b[IN_FLIGHT][K][V];
        int column[IN_FLIGHT];
#pragma unroll
        for (int u = 0; u < IN_FLIGHT; u++) {
            column[u] = __shfl_sync(FULL_MASK, mine.x, q + u, LANES);
            at.load(b[u], max(column[u], 0)); /* of a hole row 0, whatever it holds */
        }
#pragma unroll
        for (int u = 0; u < IN_FLIGHT; u++) {
            const int value = __shfl_sync(FULL_MASK, mine.y, q + u, LANES);
            if (column[u] >= 0) multiply_add(sum, value, b[u]);
            if ((q + u) % SLOTS < SLOTS - 1) continue;
            const int r = (q + u) / SLOTS;
            int holder = row[0];
#pragma unroll
            for (int h = 1; h < HELD; h++)
                if (r >= h * LANES) holder = row[h];
            const int to = __shfl_sync(FULL_MASK, holder, r, LANES);
            if (to >= 0) at.template store<KIND>(p, to, sum);
#pragma unroll
            for (int k = 0; k < K; k++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    sum[k][v] = 0;
        }
    }
}

template <int LANES, int V, int K, launch_kind KIND>
static __device__ void empty_rows(const pass_product &p)
{
    const slice_lanes<LANES, V, K> at(p);
    const int group = (blockIdx.x - p.block[EMPTY]) * (BLOCK / LANES) + at.group;
    const int first = p.first[EMPTY] + group * ZEROED_ROWS;
    const float zero[K][V] = {};
    for (int i = first; i < min(first + ZEROED_ROWS, p.first[NUM_BINS]); i++)
        at.template store<KIND>(p, p.row[i], zero);
}

#endif
