/*
 * ring.cuh - what lies in shared memory, and the threads that fill it: steps of tiles of X and blocks of W, brought by the
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
#include "device/tensor_map.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "formats/block_walk.cuh"

/* Tokens and features of a thread block; its warpgroups that multiply, 64 tokens each, and one that fetches. */
constexpr int TOKENS = 128, FEATURES = 256, WARPS = TOKENS / 16, THREADS = TOKENS * 2 + 128;

/* Tiles of tokens of a cluster, and stripes of features. */
constexpr int tiles_of(int cluster)
{
    return cluster > 1 ? 2 : 1;
}
constexpr int stripes_of(int cluster)
{
    return cluster / tiles_of(cluster);
}

/* A thread block's place among them: ranks count tiles first. */
template <int CLUSTER> struct cluster_of {
    static constexpr int SIZE = CLUSTER, TILES = tiles_of(CLUSTER), STRIPES = stripes_of(CLUSTER);
    static __device__ int tile() { return cluster_rank() % TILES; }
    static __device__ int stripe() { return cluster_rank() / TILES; }
};

/* Arguments of the kernel. entry, start: formats/block_walk.h, in bundles. */
struct walk_of {
    tensor_map X, W; /* boxes: shares of a tile of X, and of a block */
    const int *entry, *start;
    const float *gate;
    void *out;
    int N, outs;       /* tokens; features out */
    int stages, pages; /* of the ring */
    int across, jobs;  /* clusters side by side along the tokens; in all */
};

constexpr unsigned LAST_STEP = 1u << 31;

/* Contents of shared memory. The ring has `stages` tiles of X, one a step, then `pages` blocks of W: a step takes as many
 * pages as it has blocks. So sparse layouts have more steps on their way, which hides the latency of L2. */
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
    __device__ H *page(const walk_of &a, int number)
    {
        return ring + a.stages * TILE + number * PAGE;
    }
};

/* The page after that one. */
__device__ __forceinline__ int next_page(const walk_of &a, int page)
{
    return page + 1 == a.pages ? 0 : page + 1;
}

/* A tile of the output: a group of features of a bundle, and tokens from token0 on. Clusters take every so many jobs. */
struct tile_of {
    int bundle, group, token0;
};
template <int CLUSTER> __device__ __forceinline__ tile_of tile_at(const walk_of &a, int job)
{
    typedef cluster_of<CLUSTER> C;
    const int bundle = job / a.across;
    return {bundle, bundle * C::STRIPES + C::stripe(),
            (job % a.across * C::TILES + C::tile()) * TOKENS};
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

/* Brings a box to the thread blocks `ranks` of the cluster, at the same place of each. */
template <class H>
__device__ __forceinline__ void send(H *box, const tensor_map *map, int row, int column,
                                     mbarrier *full, unsigned ranks)
{
    if (ranks == 1u << cluster_rank())
        tensor_copy(box, map, row, column, full);
    else
        tensor_copy_multicast(box, map, row, column, full, ranks);
}

/* Asks for a step's share of X. A tile is cut into STRIPES boxes; the thread blocks that need it, `stripes`, take turns in
 * sending one to all of them. */
template <class H, int B, int CLUSTER>
__device__ __forceinline__ void ask_X(const walk_of &a, H *stage, mbarrier *full, int input,
                                      unsigned stripes, int token0)
{
    typedef cluster_of<CLUSTER> C;
    unsigned ranks = 0;
#pragma unroll
    for (int p = 0; p < C::STRIPES; p++)
        ranks |= (stripes >> p & 1) << (p * C::TILES + C::tile());
    const int each = TOKENS / C::STRIPES;
    for (int i = __popc(stripes & ((1u << C::stripe()) - 1)); i < C::STRIPES; i += __popc(stripes))
        send(stage + i * each * B, &a.X, token0 + i * each, input * B, full, ranks);
}

/* Asks for a step's share of W: of open blocks, for all tiles of tokens. They take the pages from `page` on, and the one
 * after them is returned. */
template <class H, int B, int CLUSTER>
__device__ __forceinline__ int ask_W(const walk_of &a, workplace<H, B> &w, mbarrier *full,
                                     const int *block, unsigned open, int page)
{
    typedef cluster_of<CLUSTER> C;
    const int share = B / C::TILES, first = C::tile() * share;
    const unsigned ranks = ((1u << C::TILES) - 1) << (C::stripe() * C::TILES);
#pragma unroll
    for (int j = 0; j < FEATURES / B; j++) {
        if (!(open >> j & 1)) continue;
        send(w.page(a, page) + first * B, &a.W, block[j] * B + first, 0, full, ranks);
        page = next_page(a, page);
    }
    return page;
}

/* The ring, as the thread that fetches W sees it: the next step, the oldest one that may still be read, and what lies between
 * them. */
struct ring_room {
    ring_turn oldest;
    int stage, steps, page, pages; /* the next step's first ones; in use */
};

/* Waits until there is room for a step of so many blocks. */
template <class H, int B>
__device__ __forceinline__ void make_room(const walk_of &a, workplace<H, B> &w, ring_room &r,
                                          int blocks)
{
    while (r.steps == a.stages || r.pages + blocks > a.pages) {
        mbarrier_wait(&w.empty[r.oldest.number], r.oldest.parity);
        r.pages -= __popc(w.note[r.oldest.number] & ~LAST_STEP);
        r.steps--;
        r.oldest.advance(a.stages);
    }
}

/* Calls `bring` with each step's entry, its tile, and LAST_STEP or 0: all steps of all tiles of this thread block. A tile
 * without blocks is one step of nothing. The next step's entry is on its way from L2 while this one waits for room. */
template <int B, int CLUSTER, class F>
__device__ __forceinline__ void for_each_step(const walk_of &a, F bring)
{
    typedef cluster_of<CLUSTER> C;
    typedef bundle_entry<FEATURES / B> entry;
    for (int job = blockIdx.x / CLUSTER; job < a.jobs; job += gridDim.x / CLUSTER) {
        const tile_of tile = tile_at<CLUSTER>(a, job);
        const int end = a.start[tile.bundle + 1];
        int step = a.start[tile.bundle];
        entry now = entry::at(a.entry, step, end, C::STRIPES, C::stripe());
        do {
            const entry next = entry::at(a.entry, step + 1, end, C::STRIPES, C::stripe());
            bring(now, tile, step + 1 >= end ? LAST_STEP : 0);
            now = next;
        } while (++step < end);
    }
}

/* The thread that fetches X, as fast as stages are given back: announces the bytes, and asks for the copies. */
template <class H, int B, int CLUSTER, bool GATED>
__device__ __forceinline__ void fetch_X(const walk_of &a, workplace<H, B> &w)
{
    const unsigned mine = 1u << cluster_of<CLUSTER>::stripe();
    ring_turn turn = {0, 1};
    for_each_step<B, CLUSTER>(a, [&](const bundle_entry<FEATURES / B> &e, const tile_of &tile,
                                     unsigned) {
        mbarrier *const full = &w.full[turn.number];
        bool has_X = e.input >= 0;
        if (GATED && e.stripes() == mine) { /* others do not know of this one's gates */
            float gate[FEATURES / B];
            has_X = e.template open<GATED>(a.gate, gate) != 0;
        }
        mbarrier_wait(&w.empty[turn.number], turn.parity);
        mbarrier_expect(full, has_X ? TOKENS * B * 2 : 0);
        if (has_X)
            ask_X<H, B, CLUSTER>(a, w.tile(turn.number), full, e.input, e.stripes(), tile.token0);
        turn.advance(a.stages);
    });
}

/* The thread that fetches W, as fast as pages are given back: leaves notes and gates, too. */
template <class H, int B, int CLUSTER, bool GATED>
__device__ __forceinline__ void fetch_W(const walk_of &a, workplace<H, B> &w)
{
    ring_room r = {};
    for_each_step<B, CLUSTER>(
        a, [&](const bundle_entry<FEATURES / B> &e, const tile_of &, unsigned last) {
            float gate[FEATURES / B];
            const unsigned open = e.template open<GATED>(a.gate, gate);
            const int blocks = __popc(open), s = r.stage;
            make_room(a, w, r, blocks);
            w.note[s] = open | last;
#pragma unroll
            for (int j = 0; j < FEATURES / B; j++)
                if (GATED && open >> j & 1) w.gate[s][j] = gate[j];
            mbarrier_expect(&w.full[s], blocks * B * B * 2);
            r.page = ask_W<H, B, CLUSTER>(a, w, &w.full[s], e.block, open, r.page);
            r.stage = s + 1 == a.stages ? 0 : s + 1;
            r.steps++;
            r.pages += blocks;
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
