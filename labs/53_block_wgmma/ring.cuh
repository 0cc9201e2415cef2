/*
 * ring.cuh - what lies in shared memory, and the warps that fill it: steps of tiles of X and blocks of W, brought by the
 * copy engine; and the way of results out.
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
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "formats/block_walk.cuh"

/* Tokens and features of a thread block; its warpgroups that multiply, 64 tokens each, and one that fetches. */
constexpr int TOKENS = 128, FEATURES = 256, WARPS = TOKENS / 16, THREADS = TOKENS * 2 + 128;

/* The ring has `stages` tiles of X, one a step, then `pages` blocks of W: a step takes as many pages as it has blocks. So
 * sparse layouts have more steps on their way, which hides the latency of L2. */
struct ring_size {
    int stages, pages;
    /* The page that comes so many after that one. */
    __device__ int after(int page, int many) const
    {
        return page + many < pages ? page + many : page + many - pages;
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
    int across, jobs; /* clusters side by side along the tokens; in all */
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
    const int group = job / a.across, across = job - group * a.across;
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

/* Asks for a step's W, or in a cluster for this thread block's half of it, for both. Lane j brings the block of column j, if
 * that one is open. They take the pages from `page` on, in order. */
template <class H, int B>
__device__ __forceinline__ void ask_W(const walk_of &a, int rank, workplace<H, B> &w,
                                      mbarrier *full, int block, unsigned open, int page)
{
    const int lane = lane_id(), before = __popc(open & ((1u << lane) - 1));
    const int first = rank * a.W_share, row = block * B + first;
    H *const box = w.page(a.ring, a.ring.after(page, before)) + first * B;
    if (!(open >> lane & 1)) return;
    if (a.cluster == 1)
        tensor_copy(box, &a.W, row, 0, full);
    else
        tensor_copy_multicast(box, &a.W, row, 0, full, 3);
}

/* The ring, as the warp that fetches W sees it: the next step, the oldest one that may still be read, and what lies between
 * them. */
struct ring_room {
    ring_turn oldest;
    int stage, steps, page, pages; /* the next step's first ones; in use */
    int blocks;                    /* lane s: pages of stage s */
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

/* Calls `bring` with each step's entry, the tile's first token, and LAST_STEP or 0: all steps of all tiles of this thread
 * block. A tile without blocks is one step of nothing. The next entries are on their way from L2 while these are used. */
template <int B, class F>
__device__ __forceinline__ void for_each_step(const walk_of &a, int rank, F bring)
{
    typedef walk_entries<FEATURES / B> entries;
    walk_place here = begin_job(a, rank, first_job(a));
    entries now = entries::at(a.entry, here.step, here.end);
    while (here.job < a.jobs) {
        walk_place then = here;
        then.step += entries::STEPS;
        if (then.step >= then.end) then = begin_job(a, rank, here.job + clusters(a));
        const entries next = entries::at(a.entry, then.step, then.end);
        walk_entry e[entries::STEPS];
#pragma unroll
        for (int i = 0; i < entries::STEPS; i++)
            e[i] = now[i]; /* shuffles, side by side */
#pragma unroll
        for (int i = 0; i < entries::STEPS; i++)
            if (i == 0 || here.step + i < here.end)
                bring(e[i], here.token0, here.step + i + 1 >= here.end ? LAST_STEP : 0);
        here = then;
        now = next;
    }
}

/* Returns the columns whose blocks are there and open. Lane j's gate, if its block is there, goes to `gate`. */
template <bool GATED>
__device__ __forceinline__ unsigned open_columns(const float *gates, int block, float &gate)
{
    if (GATED && block >= 0) gate = gates[block];
    return __ballot_sync(FULL_MASK, block >= 0 && (!GATED || gate != 0));
}

/* The warp that fetches X, as fast as stages are given back: announces the bytes, and asks for the copies. */
template <class H, int B, bool GATED>
__device__ __forceinline__ void fetch_X(const walk_of &a, workplace<H, B> &w)
{
    ring_turn turn = {0, 1};
    for_each_step<B>(a, rank_in_register(), [&](const walk_entry &e, int token0, unsigned) {
        mbarrier *const full = &w.full[turn.number];
        float gate = 0;
        const bool has_X = GATED ? open_columns<GATED>(a.gate, e.block, gate) != 0 : e.input >= 0;
        mbarrier_wait(&w.empty[turn.number], turn.parity);
        if (lane_id() == 0) {
            mbarrier_expect(full, has_X ? TOKENS * B * 2 : 0);
            if (has_X) tensor_copy(w.tile(turn.number), &a.X, token0, e.input * B, full);
        }
        turn.advance(a.ring.stages);
    });
}

/* The warp that fetches W, as fast as pages are given back: leaves notes and gates, too. */
template <class H, int B, bool GATED>
__device__ __forceinline__ void fetch_W(const walk_of &a, workplace<H, B> &w)
{
    const int lane = lane_id(), rank = rank_in_register();
    ring_room r = {};
    for_each_step<B>(a, rank, [&](const walk_entry &e, int, unsigned last) {
        float gate = 0;
        const unsigned open = open_columns<GATED>(a.gate, e.block, gate);
        const int blocks = __popc(open), s = r.stage;
        make_room(a.ring, w, r, blocks);
        if (GATED && open >> lane & 1) w.gate[s][lane] = gate;
        if (lane == 0) w.note[s] = open | last;
        __syncwarp(); /* the arrival follows what all lanes have left */
        if (lane == 0) mbarrier_expect(&w.full[s], blocks * B * B * 2);
        ask_W(a, rank, w, &w.full[s], e.block, open, r.page);
        if (lane == s) r.blocks = blocks;
        r.page = a.ring.after(r.page, blocks);
        r.pages += blocks;
        r.stage = s + 1 == a.ring.stages ? 0 : s + 1;
        r.steps++;
    });
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
