/*
 * ring.cuh - what lies in shared memory, and the thread that fills it: steps of tiles of X and blocks of W, brought by the
 * copy engine; and the way of results out.
 *
 * A step has a barrier `full`, for the bytes that its copies bring, and one `empty`, for the warps that have read it. In a
 * cluster each block's thread sends its share of W to all blocks; so `empty` counts the warps of all of them.
 */
#ifndef BLOCK_WGMMA_RING_CUH
#define BLOCK_WGMMA_RING_CUH

#include "device/cluster.cuh"
#include "device/half.cuh"
#include "device/mbarrier.cuh"
#include "device/tensor_map.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"

/* Tokens and features of a thread block; its warpgroups that multiply, 64 tokens each, and one that fetches. */
constexpr int TOKENS = 128, FEATURES = 256, WARPS = TOKENS / 16, THREADS = TOKENS * 2 + 128;

/* Arguments of the kernel. entry, start: formats/block_walk.h. */
struct walk_of {
    tensor_map X,
        W; /* boxes of TOKENS x B, and of a block's share for one thread block of the cluster */
    const int *entry, *start;
    const float *gate;
    void *out;
    int N, outs;      /* tokens; features out */
    int stride;       /* of entries */
    int across, jobs; /* clusters side by side along the tokens; in all */
};

constexpr unsigned LAST_STEP = 1u << 31;

/* Contents of shared memory. A step: TOKENS rows of X, then FEATURES / B blocks, each at its fixed place. */
template <class H, int B> struct workplace {
    static constexpr int STAGES = 256 / B, GROUP = FEATURES / B;
    H stage[STAGES][(TOKENS + FEATURES) * B];
    H result[WARPS][16 * 64];
    mbarrier full[STAGES], empty[STAGES];
    unsigned
        note[STAGES]; /* bit j: column j has an open block in this step; LAST_STEP: of its tile */
    float gate[STAGES][GROUP];
};

/* A tile of the output: a group of features, and tokens from token0 on. Clusters take every so many of them. */
struct tile_of {
    int group, token0;
};
template <int CLUSTER> __device__ __forceinline__ tile_of tile_at(const walk_of &a, int job)
{
    return {job / a.across, (job % a.across * CLUSTER + cluster_rank()) * TOKENS};
}

/* Where piece `c` of row `r` of a tile lies, in numbers, as the copy engine has left it. */
template <int B> __device__ __forceinline__ int place(int r, int c)
{
    int s = 0;
    /* BEGIN STUDENT: the swizzle of rows of 2 B bytes */
    s = B == 64 ? r % 8 : r / 2 % 4;
    /* END STUDENT */
    return r * B + (c ^ s) * 8;
}

/* Returns which of the GROUP blocks of an entry are there and open; their gates go to `gate`. */
template <int GROUP, bool GATED>
__device__ __forceinline__ unsigned open_blocks(const walk_of &a, const int *block, float *gate)
{
    unsigned open = 0;
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
        if (block[j] < 0) continue;
        if (GATED) gate[j] = a.gate[block[j]];
        if (!GATED || gate[j] != 0) open |= 1u << j;
    }
    return open;
}

/* Asks for the copies of a step: the tile of X, and blocks that are open. */
template <class H, int B, int CLUSTER>
__device__ __forceinline__ void ask(const walk_of &a, H *stage, mbarrier *full, int input,
                                    const int *block, unsigned open, int token0)
{
    constexpr int SHARE = B / CLUSTER, ALL = (1 << CLUSTER) - 1;
    tensor_copy(stage, &a.X, token0, input * B, full);
    H *const mine = stage + TOKENS * B + cluster_rank() * SHARE * B;
#pragma unroll
    for (int j = 0; j < FEATURES / B; j++) {
        if (!(open >> j & 1)) continue;
        const int row = block[j] * B + cluster_rank() * SHARE;
        if (CLUSTER == 1)
            tensor_copy(mine + j * B * B, &a.W, row, 0, full);
        else
            tensor_copy_multicast(mine + j * B * B, &a.W, row, 0, full, ALL);
    }
}

/* The one thread that fetches: all steps of all tiles of this thread block, as fast as stages are given back. A tile
 * without blocks is one step of nothing. */
template <class H, int B, int CLUSTER, bool GATED>
__device__ __forceinline__ void fetch_all(const walk_of &a, workplace<H, B> &w)
{
    constexpr int GROUP = FEATURES / B;
    ring_turn turn = {0, 1};
    for (int job = blockIdx.x / CLUSTER; job < a.jobs; job += gridDim.x / CLUSTER) {
        const tile_of tile = tile_at<CLUSTER>(a, job);
        const int end = a.start[tile.group + 1];
        int step = a.start[tile.group];
        do {
            int entry[1 + GROUP];
            float gate[GROUP];
#pragma unroll
            for (int i = 0; i <= GROUP; i++)
                entry[i] = step < end ? a.entry[(size_t)step * a.stride + i] : -1;
            const unsigned open = open_blocks<GROUP, GATED>(a, entry + 1, gate);
            const int s = turn.number;
            /* Waits for the stage; leaves the note and the gates; announces the bytes; asks for the copies. */
            mbarrier_wait(&w.empty[s], turn.parity);
            w.note[s] = open | (step + 1 >= end ? LAST_STEP : 0);
#pragma unroll
            for (int j = 0; j < GROUP; j++)
                if (GATED && open >> j & 1) w.gate[s][j] = gate[j];
            mbarrier_expect(&w.full[s], open ? (TOKENS + __popc(open) * B) * B * 2 : 0);
            if (open)
                ask<H, B, CLUSTER>(a, w.stage[s], &w.full[s], entry[0], entry + 1, open,
                                   tile.token0);
            turn.advance(w.STAGES);
        } while (++step < end);
    }
}

/* Stores a warp's 16 tokens: 64 features at a time through its part of `result`, so that 8 lanes write 128 bytes of a
 * token. */
template <class H>
__device__ __forceinline__ void store_tokens(const walk_of &a, H *result,
                                             const float (&sum)[FEATURES / 8][4], int token0,
                                             int feature0)
{
    const int lane = lane_id();
#pragma unroll
    for (int q = 0; q < FEATURES / 64; q++) {
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float *s = &sum[8 * q + j][2 * h];
                const H x[2] = {narrow<H>(s[0]), narrow<H>(s[1])};
                store_vector(result + place<64>(lane / 4 + 8 * h, j) + lane % 4 * 2, x);
            }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int r = 4 * i + lane / 8, c = lane % 8, feature = feature0 + 64 * q + 8 * c;
            H x[8];
            if (token0 + r >= a.N || feature >= a.outs) continue;
            load_vector_plain(x, result + place<64>(r, c));
            store_vector((H *)a.out + (size_t)(token0 + r) * a.outs + feature, x);
        }
    }
}

#endif
