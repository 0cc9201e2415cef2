/*
 * ring.cuh - what lies in shared memory, and the warps that fill it: steps of tiles of X and blocks of W, brought by the
 * copy engine; and the way of results out.
 *
 * A step has a barrier `full`, for the bytes that its copies bring, and one `empty`, for the warps that have read it. In a
 * cluster they also send to others: a share of W to those with the same features, a share of X to those with the
 * same tokens that need it. So `empty` counts the warps of all thread blocks, and all keep step.
 *
 * All, and not only those that it sends to: in a step without bytes from a neighbour nobody would wait for that one. Such a
 * thread block could give a stage back twice before a third has done so once.
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

/* Thread blocks of a cluster: 1 or 2 tiles of tokens, by 1 to 4 stripes of features. Ranks count tiles first. */
struct cluster_shape {
    int tiles, stripes;
    __host__ __device__ int size() const { return tiles * stripes; }
    /* Ranks, a bit each, of the thread blocks that have this tile and one of these stripes; that have this stripe. */
    __device__ unsigned of_tile(int tile, unsigned some) const
    {
        if (tiles == 1) return some;
        const unsigned pairs = (some | some << 2) & 0x33;
        return ((pairs | pairs << 1) & 0x55) << tile;
    }
    __device__ unsigned of_stripe(int stripe) const
    {
        return ((1u << tiles) - 1) << stripe * tiles;
    }
    /* Its cluster's first job; the next ones are count() further on. */
    __device__ int number() const { return (int)blockIdx.x / size(); }
    __device__ int count() const { return (int)gridDim.x / size(); }
};

/* A thread block's place in its cluster. */
struct cluster_place {
    int tile, stripe;
};
/* The shuffle changes nothing. Its result stays in a register, where the rank would be read anew at each use. */
__device__ __forceinline__ cluster_place place_in(const cluster_shape &c)
{
    const int rank = __shfl_sync(FULL_MASK, cluster_rank(), 0);
    return {rank & (c.tiles - 1), rank >> (c.tiles - 1)};
}

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

/* Arguments of the kernel. entry, start: formats/block_walk.h, in bundles. */
struct walk_of {
    tensor_map X, W; /* boxes: shares of a tile of X, and of a block */
    const int *entry, *start;
    const float *gate;
    void *out;
    int N, outs; /* tokens; features out */
    ring_size ring;
    int across, jobs; /* clusters side by side along the tokens; in all */
    cluster_shape cluster;
    int X_share, W_share; /* rows of a tile of X, of a block of W, that a thread block asks for */
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

/* A tile of the output: a group of features of a bundle, and tokens from token0 on. Clusters take every so many jobs. */
struct tile_of {
    int bundle, group, token0;
};
__device__ __forceinline__ tile_of tile_at(const walk_of &a, const cluster_place &at, int job)
{
    const cluster_shape &c = a.cluster;
    const int bundle = job / a.across, across = job - bundle * a.across;
    return {bundle, bundle * c.stripes + at.stripe, (across * c.tiles + at.tile) * TOKENS};
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

/* Brings a box to the thread blocks `ranks` of the cluster, at the same place of each; or else to this one, which is all
 * of them. */
template <class H>
__device__ __forceinline__ void send(H *box, const tensor_map *map, int row, int column,
                                     mbarrier *full, unsigned ranks, bool to_several)
{
    if (to_several)
        tensor_copy_multicast(box, map, row, column, full, ranks);
    else
        tensor_copy(box, map, row, column, full);
}

/* Asks for a step's share of X. A tile is cut into a box for each stripe of the cluster; the thread blocks that need it,
 * `stripes`, take turns in sending one to all of them. One lane. */
template <class H, int B>
__device__ __forceinline__ void ask_X(const walk_of &a, const cluster_place &at, H *stage,
                                      mbarrier *full, int input, unsigned stripes, int token0)
{
    const cluster_shape &c = a.cluster;
    const int senders = __popc(stripes);
    for (int i = __popc(stripes & ((1u << at.stripe) - 1)); i < c.stripes; i += senders)
        send(stage + i * a.X_share * B, &a.X, token0 + i * a.X_share, input * B, full,
             c.of_tile(at.tile, stripes), c.stripes > 1);
}

/* Asks for a step's share of W, for all tiles of tokens. Lane j brings the block of column j, if that one is open. They take
 * the pages from `page` on, in order. */
template <class H, int B>
__device__ __forceinline__ void ask_W(const walk_of &a, const cluster_place &at, workplace<H, B> &w,
                                      mbarrier *full, int block, unsigned open, int page)
{
    const cluster_shape &c = a.cluster;
    const ring_size &ring = a.ring;
    const int first = at.tile * a.W_share, before = __popc(open & ((1u << lane_id()) - 1));
    if (open >> lane_id() & 1)
        send(w.page(ring, ring.after(page, before)) + first * B, &a.W, block * B + first, 0, full,
             c.of_stripe(at.stripe), c.tiles > 1);
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

/* Where a warp that fetches is: in a tile, at `step` of its bundle. Behind the last job, job >= a.jobs and no step. */
struct walk_place {
    int job, step, end;
    tile_of tile;
};
__device__ __forceinline__ walk_place begin_job(const walk_of &a, const cluster_place &at, int job)
{
    if (job >= a.jobs) return {job, 0, 0, {}};
    const tile_of tile = tile_at(a, at, job);
    return {job, a.start[tile.bundle], a.start[tile.bundle + 1], tile};
}

/* Calls `bring` with each step's entry, its tile, and LAST_STEP or 0: all steps of all tiles of this thread block. A tile
 * without blocks is one step of nothing. The next entries are on their way from L2 while these are used. */
template <int B, class F>
__device__ __forceinline__ void for_each_step(const walk_of &a, const cluster_place &at, F bring)
{
    typedef bundle_entries<FEATURES / B> entries;
    const auto load = [&](const walk_place &p) {
        return entries::at(a.entry, p.step, p.end, a.cluster.stripes, at.stripe);
    };
    const int clusters = a.cluster.count();
    walk_place here = begin_job(a, at, a.cluster.number());
    entries now = load(here);
    while (here.job < a.jobs) {
        walk_place then = here;
        then.step += entries::STEPS;
        if (then.step >= then.end) then = begin_job(a, at, here.job + clusters);
        const entries next = load(then);
        bundle_entry e[entries::STEPS];
#pragma unroll
        for (int i = 0; i < entries::STEPS; i++)
            e[i] = now[i]; /* shuffles, side by side */
#pragma unroll
        for (int i = 0; i < entries::STEPS; i++)
            if (i == 0 || here.step + i < here.end)
                bring(e[i], here.tile, here.step + i + 1 >= here.end ? LAST_STEP : 0);
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
    const ring_size &ring = a.ring;
    const cluster_place at = place_in(a.cluster);
    const unsigned mine = 1u << at.stripe;
    ring_turn turn = {0, 1};
    for_each_step<B>(a, at, [&](const bundle_entry &e, const tile_of &tile, unsigned) {
        mbarrier *const full = &w.full[turn.number];
        bool has_X = e.input >= 0;
        float gate = 0;
        if (GATED && e.stripes == mine) /* others do not know of this one's gates */
            has_X = open_columns<GATED>(a.gate, e.block, gate) != 0;
        mbarrier_wait(&w.empty[turn.number], turn.parity);
        if (lane_id() == 0) {
            mbarrier_expect(full, has_X ? TOKENS * B * 2 : 0);
            if (has_X)
                ask_X<H, B>(a, at, w.tile(turn.number), full, e.input, e.stripes, tile.token0);
        }
        turn.advance(ring.stages);
    });
}

/* The warp that fetches W, as fast as pages are given back: leaves notes and gates, too. */
template <class H, int B, bool GATED>
__device__ __forceinline__ void fetch_W(const walk_of &a, workplace<H, B> &w)
{
    const int lane = lane_id();
    const cluster_place at = place_in(a.cluster);
    const ring_size &ring = a.ring;
    ring_room r = {};
    for_each_step<B>(a, at, [&](const bundle_entry &e, const tile_of &, unsigned last) {
        float gate = 0;
        const unsigned open = open_columns<GATED>(a.gate, e.block, gate);
        const int blocks = __popc(open), s = r.stage;
        make_room(ring, w, r, blocks);
        if (GATED && open >> lane & 1) w.gate[s][lane] = gate;
        if (lane == 0) w.note[s] = open | last;
        __syncwarp(); /* the arrival follows what all lanes have left */
        if (lane == 0) mbarrier_expect(&w.full[s], blocks * B * B * 2);
        ask_W(a, at, w, &w.full[s], e.block, open, r.page);
        if (lane == s) r.blocks = blocks;
        r.page = ring.after(r.page, blocks);
        r.pages += blocks;
        r.stage = s + 1 == ring.stages ? 0 : s + 1;
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
