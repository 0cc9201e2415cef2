/*
 * ring.cuh - what lies in shared memory, and the warps that fill it: steps of tiles of X and blocks of W, brought by the
 * copy engine.
 *
 * A step has a barrier `full`, for the bytes that its copies bring, and one `empty`, for the warps that have read it. In a
 * cluster each of the two thread blocks sends its half of W to both. So `empty` counts the warps of both, and they keep
 * step.
 */
#ifndef BLOCK_WGMMA_RING_CUH
#define BLOCK_WGMMA_RING_CUH

#include "device/cluster.cuh"
#include "device/half.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/tensor_map.cuh"
#include "device/warp.cuh"
#include "formats/block_walk.cuh"

/* Tokens and features of a thread block; its warpgroups that multiply, 64 tokens each, and one that fetches. */
constexpr int TOKENS = 128, FEATURES = 256, WARPS = TOKENS / 16, THREADS = TOKENS * 2 + 128;

/* The ring has `stages` tiles of X, one a step, then `pages` blocks of W: a step takes as many pages as it has blocks. So
 * sparse layouts have more steps on their way, which hides the latency of L2. */
struct ring_size {
    int stages, pages;
    /* Returns the page `many` behind `page`: 16 at most, and there are 8 or more. */
    __device__ int after(int page, int many) const
    {
        page += many;
        if (page >= pages) page -= pages;
        return page < pages ? page : page - pages;
    }
    /* Returns the stage `many` behind `stage`. There are as many as a batch has steps, or more. */
    __device__ int stage_after(int stage, int many) const
    {
        return stage + many < stages ? stage + many : stage + many - stages;
    }
};

/* Arguments of the kernel. entry, start: formats/block_walk.h. */
struct walk_of {
    tensor_map X, W; /* boxes: a tile of X; a block, or half of it */
    const int *entry, *start;
    const float *gate;
    void *out;
    int N, outs; /* tokens; features out */
    int cluster; /* thread blocks of a cluster, 1 or 2: neighbouring tiles of tokens */
    int W_share; /* rows of a block of W that each of them asks for */
    ring_size ring;
    int across, groups, jobs; /* clusters along the tokens; groups of features; tiles in all */
    bool groups_first;        /* neighbouring jobs are groups, not tokens */
};

constexpr unsigned LAST_STEP = 1u << 31;

/* Contents of shared memory. */
template <class H, int B> struct workplace {
    static constexpr int STAGES = 16, GROUP = FEATURES / B; /* stages: at most so many */
    static constexpr int TILE = TOKENS * B, PAGE = B * B, NUMBERS = 208 * 1024 / sizeof(H);
    H ring[NUMBERS];
    H result[WARPS][16 * 64];
    mbarrier full[STAGES], empty[STAGES]; /* of each stage */
    unsigned
        note[STAGES]; /* bit j: column j has an open block in this step; LAST_STEP: of its tile */
    float gate[STAGES][GROUP];

    __device__ H *tile(int stage) { return ring + stage * TILE; }
    __device__ H *page(const ring_size &size, int number)
    {
        return ring + size.stages * TILE + number * PAGE;
    }
};

/* This thread block's number in its cluster. The shuffle changes nothing: its result stays in a register, where the rank
 * would be read anew at each use. */
__device__ __forceinline__ int rank_in_register()
{
    return __shfl_sync(FULL_MASK, cluster_rank(), 0);
}

/* Jobs of a cluster: the first, and how far the next one is. */
__device__ __forceinline__ int first_job(const walk_of &a)
{
    return (int)blockIdx.x / a.cluster;
}
__device__ __forceinline__ int clusters(const walk_of &a)
{
    return (int)gridDim.x / a.cluster;
}

/* A tile of the output: a group of features, and tokens from token0 on. */
struct tile_of {
    int group, token0;
};
__device__ __forceinline__ tile_of tile_at(const walk_of &a, int rank, int job)
{
    const int columns = a.groups_first ? a.groups : a.across; /* of tiles, in the order of jobs */
    const int row = job / columns, column = job - row * columns;
    /* Turns groups by one from row to row: else a thread block could get the same group in each round. */
    const int group = a.groups_first ? (column + row) % a.groups : row;
    const int across = a.groups_first ? row : column;
    return {group, (across * a.cluster + rank) * TOKENS};
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

/* The ring, as the warp that fetches W sees it: the next step, the oldest one that may still be read, and what lies between
 * them. */
struct ring_room {
    ring_turn oldest;
    int stage, steps; /* the next step's; in use */
    int page, pages;  /* where the next few steps begin; in use */
    int blocks;       /* lane s: pages of stage s */
};

/* Waits until there is room for a step of so many blocks. */
template <class H, int B>
__device__ __forceinline__ void make_room(const ring_size &ring, workplace<H, B> &w, ring_room &r,
                                          int blocks)
{
    while (r.steps == ring.stages || r.pages + blocks > ring.pages) {
        mbarrier_wait(&w.empty[r.oldest.number], r.oldest.parity);
        r.pages -= __shfl_sync(FULL_MASK, r.blocks, r.oldest.number);
        r.steps--;
        r.oldest.advance(ring.stages);
    }
}

/* Where a warp that fetches is: in a tile, at `step` of its list. Behind the last job, job >= a.jobs and no step. */
struct walk_place {
    int job, step, end, token0;
};
__device__ __forceinline__ walk_place begin_job(const walk_of &a, int rank, int job)
{
    if (job >= a.jobs) return {job, 0, 0, 0};
    const tile_of tile = tile_at(a, rank, job);
    return {job, a.start[tile.group], a.start[tile.group + 1], tile.token0};
}

/* Calls `bring` with a few neighbouring entries and their place, for all tiles of this thread block. A tile without blocks has
 * one step of nothing. The next entries are on their way from L2 while these are used. */
template <int B, class F>
__device__ __forceinline__ void for_each_batch(const walk_of &a, int rank, F bring)
{
    typedef walk_entries<FEATURES / B> entries;
    walk_place here = begin_job(a, rank, first_job(a));
    entries now = entries::at(a.entry, here.step, here.end);
    while (here.job < a.jobs) {
        walk_place then = here;
        then.step += entries::STEPS;
        if (then.step >= then.end) then = begin_job(a, rank, here.job + clusters(a));
        const entries next = entries::at(a.entry, then.step, then.end);
        bring(now, here);
        here = then;
        now = next;
    }
}

/* Returns the lanes whose blocks are there and open. A lane's gate, if its block is there, goes to `gate`. */
template <bool GATED>
__device__ __forceinline__ unsigned open_lanes(const float *gates, int block, float &gate)
{
    if (GATED && block >= 0) gate = gates[block];
    return __ballot_sync(FULL_MASK, block >= 0 && (!GATED || gate != 0));
}

/* The warp that fetches X, as fast as stages are given back. It leaves the note of the step and its gates, too, for it has less
 * to do than the other. */
template <class H, int B, bool GATED>
__device__ __forceinline__ void fetch_X(const walk_of &a, workplace<H, B> &w)
{
    typedef walk_entries<FEATURES / B> entries;
    const int lane = lane_id();
    ring_turn turn = {0, 1};
    for_each_batch<B>(a, rank_in_register(), [&](const entries &now, const walk_place &here) {
        float gate = 0;
        const unsigned open = open_lanes<GATED>(a.gate, now.block(), gate);
        int input[entries::STEPS];
#pragma unroll
        for (int i = 0; i < entries::STEPS; i++)
            input[i] = now.input(i); /* shuffles, side by side */
#pragma unroll
        for (int i = 0; i < entries::STEPS; i++) {
            if (i > 0 && here.step + i >= here.end) break;
            const int s = turn.number;
            const unsigned columns = entries::columns(open, i);
            mbarrier_wait(&w.empty[s], turn.parity);
            if (GATED && lane / entries::INTS == i && open >> lane & 1)
                w.gate[s][lane % entries::INTS - 1] = gate;
            if (GATED) __syncwarp(); /* the arrival follows what all lanes have left */
            if (lane == 0) {
                w.note[s] = columns | (here.step + i + 1 >= here.end ? LAST_STEP : 0);
                mbarrier_expect(&w.full[s], columns ? TOKENS * B * 2 : 0);
                if (columns) tensor_copy(w.tile(s), &a.X, here.token0, input[i] * B, &w.full[s]);
            }
            turn.advance(a.ring.stages);
        }
    });
}

/* The warp that fetches W, as fast as pages are given back. In a cluster it asks for its half of each block, for both. A lane
 * brings the block that it holds, if that is open. They take the pages from r.page on, in order. Addresses are those of a few
 * steps at once: what a step needs by itself is the wait for room. */
template <class H, int B, bool GATED>
__device__ __forceinline__ void fetch_W(const walk_of &a, workplace<H, B> &w)
{
    typedef walk_entries<FEATURES / B> entries;
    const int lane = lane_id(), rank = rank_in_register(), first = rank * a.W_share;
    const ring_size &ring = a.ring;
    ring_room r = {};
    for_each_batch<B>(a, rank, [&](const entries &now, const walk_place &here) {
        float gate = 0;
        const int block = now.block(), row = block * B + first;
        const unsigned open = open_lanes<GATED>(a.gate, block, gate);
        const int stage = ring.stage_after(r.stage, lane / entries::INTS);
        H *const box =
            w.page(ring, ring.after(r.page, __popc(open & ((1u << lane) - 1)))) + first * B;
        mbarrier *const full = &w.full[stage];
#pragma unroll
        for (int i = 0; i < entries::STEPS; i++) {
            if (i > 0 && here.step + i >= here.end) break;
            const int blocks = __popc(entries::columns(open, i)), s = r.stage;
            const bool mine = lane / entries::INTS == i && open >> lane & 1;
            make_room(ring, w, r, blocks);
            if (lane == 0) mbarrier_expect(&w.full[s], blocks * B * B * 2);
            __syncwarp(); /* copies follow what announces them */
            if (mine) {
                if (a.cluster == 1)
                    tensor_copy(box, &a.W, row, 0, full);
                else
                    tensor_copy_multicast(box, &a.W, row, 0, full, 3);
            }
            if (lane == s) r.blocks = blocks;
            r.pages += blocks;
            r.stage = ring.stage_after(s, 1);
            r.steps++;
        }
        r.page = ring.after(r.page, __popc(open));
    });
}

#endif
