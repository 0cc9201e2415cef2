/*
 * row_walk.cuh - groups of lanes on their way along rows: who has which share and head, which nonzeros come next,
 * and how several groups put together what they know of one row.
 *
 * A group of LANES lanes has one head. `side` groups of a warp take neighbouring heads of the same nonzeros: they are
 * a team. The teams of a warp have a row each, if rows are short; or every so many nonzeros of one row.
 */
#ifndef FORMATS_ROW_WALK_CUH
#define FORMATS_ROW_WALK_CUH

#include "device/cuda_try.h"
#include "device/last_block.cuh"
#include "device/partial_sums.h"
#include "device/warp.cuh"
#include "formats/row_shares.cuh"

#include <stdlib.h>

constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;

/* Facts on the rows that a kernel knows. */
struct row_walk {
    const row_share *__restrict__ share;
    const int *__restrict__ column;
    int segment, count, warps; /* as in row_shares */
    int heads, side;
    float *left;       /* numbers of each segment and head, LANES of each kind */
    unsigned *arrived; /* segments done, of the first segment of each row and each `side` heads */
};

/* A group of lanes on its way. It takes nonzeros in batches, U of them at a time; lane j % LANES holds the column of
 * nonzero j of a batch. */
template <int LANES, int U> struct group_walk {
    static constexpr int BATCH = LANES > U ? LANES : U, HELD = BATCH / LANES;

    const row_walk &rows;
    int team, teams, head;
    bool together; /* all teams of this warp have one row */
    bool exists;
    int index; /* of the share */
    row_share own;
    int length; /* of the share */
    int most;   /* length of the warp's longest share */
    int column[HELD] = {}, next[HELD] = {};

    __device__ __forceinline__ explicit group_walk(const row_walk &walk)
        : rows(walk), team(lane_id() / (LANES * walk.side)), teams(WARP_SIZE / (LANES * walk.side)),
          head(blockIdx.y * walk.side + lane_id() / LANES % walk.side)
    {
        const int warp_blocks = (rows.warps + WARPS - 1) / WARPS;
        const int warp = blockIdx.x * WARPS + (int)threadIdx.x / WARP_SIZE;
        together = (int)blockIdx.x < warp_blocks;
        index = together ? warp : rows.warps + (warp - warp_blocks * WARPS) * teams + team;
        exists = index < (together ? rows.warps : rows.count);
        own = {};
        if (exists) own = share_at(rows.share, index);
        length = share_length(own, rows.segment);
        most = warp_max(length);
        if (most > 0) fetch(0);
    }

    /* Goes to nonzeros first .. end - 1, of a part of the share; for all teams of a warp that has one row. */
    __device__ __forceinline__ void turn_to(int first, int end)
    {
        own.first = first;
        most = length = end - first;
        if (most > 0) fetch(0);
    }

    /* The place in CSR of nonzero j of the batch at `at`. What does not exist is the share's last, or of an empty row
     * some other row's: a load without a condition, of a column that is there. */
    __device__ __forceinline__ int place(int at, int j) const
    {
        return max(0, own.first + min(from(at) + j, length - 1));
    }

    /* Where the team's batch begins in the share, when the first team is at `at`. */
    __device__ __forceinline__ int from(int at) const { return at + (together ? team * BATCH : 0); }
    __device__ __forceinline__ int step() const { return together ? teams * BATCH : BATCH; }
    /* Whether nonzero j of the batch is the group's to add. */
    __device__ __forceinline__ bool has(int at, int j) const { return from(at) + j < length; }

    __device__ __forceinline__ void fetch(int at)
    {
#pragma unroll
        for (int h = 0; h < HELD; h++)
            next[h] = rows.column[place(at, h * LANES + (int)threadIdx.x % LANES)];
    }

    /* Goes on to the batch at `at`, and fetches the columns of the one behind it. */
    __device__ __forceinline__ void advance(int at)
    {
#pragma unroll
        for (int h = 0; h < HELD; h++)
            column[h] = next[h];
        if (at + step() < most) fetch(at + step());
    }

    /* f(first) for the batch at `at`, U nonzeros from number `first` of it on, while any team has some left. */
    template <class F> __device__ __forceinline__ void for_all(int at, const F &f) const
    {
        if constexpr (BATCH == U) {
            f(0);
        } else {
#pragma unroll 1
            for (int first = 0; first < BATCH && at + first < most; first += U)
                f(first);
        }
    }

    /* Returns the number held by the holder of nonzero j of the batch. */
    template <class X> static __device__ __forceinline__ X of(const X (&held)[HELD], int j)
    {
        return __shfl_sync(FULL_MASK, held[HELD == 1 ? 0 : j / LANES], j % LANES, LANES);
    }

    /* Puts together what the groups of a row know, and tells whether this one now has the whole row's. STATE: its
     * COUNT floats, each(f) for every one of them, and take(other). */
    template <class STATE> __device__ __forceinline__ bool finish(STATE &mine) const
    {
        if (!together || !exists) return exists;
        meet(mine);
        const int shares = shares_of_row(own, index, rows.segment);
        if (shares > 1) {
            if (team == 0) leave(mine, index);
            unsigned *const arrived = &rows.arrived[own.first_share * gridDim.y + blockIdx.y];
            if (!warp_comes_last(arrived, shares)) return false;
            mine = STATE();
            for (int s = team; s < shares; s += teams) {
                STATE other;
                collect(other, own.first_share + s);
                mine.take(other);
            }
            __syncwarp(); /* teams may have taken different numbers of them */
            meet(mine);
        }
        return exists && team == 0;
    }

  private:
    /* Every team gets what all teams know. */
    template <class STATE> __device__ __forceinline__ void meet(STATE &mine) const
    {
#pragma unroll 1
        for (int distance = LANES * rows.side; distance < WARP_SIZE; distance *= 2) {
            STATE other = mine;
            other.each([&](float &x) { x = __shfl_xor_sync(FULL_MASK, x, distance); });
            mine.take(other);
        }
    }

    template <class STATE> __device__ __forceinline__ float *left_by(int share) const
    {
        return rows.left + ((size_t)share * rows.heads + head) * STATE::COUNT * LANES +
               threadIdx.x % LANES;
    }

    template <class STATE> __device__ __forceinline__ void leave(STATE &mine, int share) const
    {
        float *to = left_by<STATE>(share);
        mine.each([&](float &x) {
            *to = x;
            to += LANES;
        });
    }

    template <class STATE> __device__ __forceinline__ void collect(STATE &other, int share) const
    {
        const float *from = left_by<STATE>(share);
        other.each([&](float &x) {
            x = __ldcg(from);
            from += LANES;
        });
    }
};

/* ---- on the host ------------------------------------------------------------------------------ */

/* The rows of a pattern, and room for what segments leave. */
struct walk_plan {
    row_shares *shares;
    partial_sums sums;
    size_t left_bytes; /* of `sums` */
    row_walk rows;     /* as kernels get it */
    dim3 grid;
};

/* ... and these: how rows are shared out. */
#define TUNABLE_SIDE                                                        \
    {                                                                       \
        "SIDE", "heads side by side in a warp, at most", {1, 2, 4, 8}, 4, 8 \
    }
#define TUNABLE_SHORT                                                             \
    {                                                                             \
        "SHORT", "nonzeros of a row that a group takes", {16, 32, 64, 128}, 4, 64 \
    }
#define TUNABLE_SEGMENT                                                            \
    {                                                                              \
        "SEGMENT", "nonzeros of a row that a warp takes", {256, 512, 1024}, 3, 512 \
    }
#define TUNABLE_WINDOW                                                      \
    {                                                                       \
        "WINDOW", "rows sorted by length together; 0: all", {0, 1, 4096}, 3 \
    }

struct walk_settings {
    int segment, short_row, window, side;
};

/* Groups of a warp that take neighbouring heads: as many as are wanted, fit, and divide the heads. */
static inline int side_of(int wanted, int heads, int lanes)
{
    int side = 1;
    while (2 * side <= wanted && 2 * side * lanes <= WARP_SIZE && heads % (2 * side) == 0)
        side *= 2;
    return side;
}

/* Bytes of the shares, and of what segments leave. */
static inline size_t walk_plan_bytes(const walk_plan *w)
{
    return row_shares_bytes(w->shares) + w->left_bytes;
}

static inline void walk_plan_free(walk_plan *w)
{
    row_shares_free(w->shares);
    partial_sums_free(&w->sums);
    *w = {};
}

/* Makes *w for groups of `lanes` lanes, each of which leaves `numbers` floats of a segment. On error nothing is left
 * allocated. */
static inline cudaError_t walk_plan_make(const device_csr *A, const walk_settings &s, int heads,
                                         int lanes, int numbers, walk_plan *w)
{
    cudaError_t error;
    *w = {};
    CUDA_TRY(row_shares_build(A, s.segment, s.short_row, s.window, &w->shares));
    const row_shares *r = w->shares;
    const size_t floats = (size_t)r->segments * heads * numbers * lanes;
    const size_t counters = (size_t)r->segments * (heads / s.side);
    w->left_bytes = floats * sizeof(float) + counters * sizeof(unsigned);
    CUDA_TRY_GOTO(error, failed, partial_sums_make(floats, counters, &w->sums));
    {
        const int of_block = WARPS * (WARP_SIZE / (lanes * s.side)), groups = r->count - r->warps;
        w->rows = row_walk{.share = r->d_share,
                           .column = A->d_col_idx,
                           .segment = r->segment,
                           .count = r->count,
                           .warps = r->warps,
                           .heads = heads,
                           .side = s.side,
                           .left = w->sums.d_sums,
                           .arrived = w->sums.d_arrived};
        w->grid = dim3((r->warps + WARPS - 1) / WARPS + (groups + of_block - 1) / of_block,
                       heads / s.side);
    }
    return cudaSuccess;
failed:
    walk_plan_free(w);
    return error;
}

#endif
