/*
 * fast_fetch.cuh - how the fast kernel's data come into shared memory: a step of the matrix, for all
 * warps, by one bulk copy, and the rows of X that it is multiplied by by another. One thread of a warp
 * that does nothing else asks for both, as soon as all others are done with what was in the stage; what
 * the first step needs of X the other warps may make themselves. Two barriers a stage: `full` counts
 * bytes, `empty` warps.
 */
#ifndef LAB9_FAST_FETCH_CUH
#define LAB9_FAST_FETCH_CUH

#include "device/overlap.cuh"
#include "fast.cuh"
#include "fast_X.cuh"

/* Goes round the stages. */
struct stage_turn {
    int number;
    unsigned parity; /* of the rounds */
    __device__ void advance(int stages)
    {
        if (++number < stages) return;
        number = 0;
        parity ^= 1;
    }
};

template <int TILES> struct stage_filler {
    const fast_product &p;
    const fast_layout &at;
    unsigned char *shared;
    step_cursor step;
    uint32_t row; /* where the step begins */
    stage_turn turn;

    __device__ stage_filler(const fast_product &p, const fast_layout &at, unsigned char *shared)
        : p(p), at(at), shared(shared), step(p.A, blockIdx.x),
          row(p.A.start[blockIdx.x].row), turn{0, 1}
    {
    }
    __device__ bool is_done() const { return step.left == 0; }
    __device__ unsigned char *stage() const
    {
        return shared + at.stages + turn.number * at.stage_bytes;
    }
    __device__ mbarrier *full() const { return (mbarrier *)(shared + at.full) + turn.number; }
    __device__ mbarrier *empty() const { return (mbarrier *)(shared + at.empty) + turn.number; }

    /* The step's rows, and word of all that is to come, of X or not. */
    __device__ void fetch_A(uint32_t rows, bool x_comes) const
    {
        const unsigned bytes = (rows + LOOK_AHEAD) * ROW_BYTES;
        mbarrier_expect(full(), bytes + (x_comes ? step.count() * x_bytes(TILES) : 0));
        bulk_copy(stage(), p.A.data + (size_t)row * LANES, bytes, full());
    }
    __device__ void fetch_X() const
    {
        bulk_copy(stage() + at.x, (const char *)p.X + (size_t)step.place * x_bytes(TILES),
                  step.count() * x_bytes(TILES), full());
    }
    __device__ void advance(uint32_t rows)
    {
        row += rows;
        step.advance();
        turn.advance(p.stages);
    }
};

/* Steps whose part of X the block makes itself: so it need not wait until another kernel has made X, and
 * ended, and a copy has come. For more than 16 columns that takes as long. */
template <int TILES> constexpr int OWN_X_STEPS = TILES <= 2 ? 1 : 0;

/* The first step's part of X, by the warps that multiply, which have nothing else to do. */
template <int TILES, class H>
static __device__ __forceinline__ void make_first_X(const fast_product &p, const fast_layout &at,
                                                    unsigned char *shared, int worker)
{
    const x_source<H> from = {(const H *)p.B, p.used, p.A.cols, p.N, p.column};
    const step_cursor step(p.A, blockIdx.x);
    uint4 *const X = (uint4 *)(shared + at.stages + at.x);
    for (int i = worker; i < step.count() * 2 * TILES; i += WORKERS) {
        H x[8];
        order_X(from, step.place * 2 + i / TILES, i % TILES, lane_id(), x);
        store_vector((H *)&X[i * WARP_SIZE + lane_id()], x);
    }
    stores_before_bulk_copies(); /* of later steps, to the same place */
}

/* Makes the barriers and asks for the first steps, which come from memory; X may still be in the
 * making. One thread. */
template <int TILES>
static __device__ void start_stages(const fast_product &p, const fast_layout &at,
                                    unsigned char *shared)
{
    const uint16_t *const rows = p.A.start[blockIdx.x].rows;
#pragma unroll 1
    for (int i = 0; i < p.stages; i++) {
        mbarrier_init((mbarrier *)(shared + at.full) + i, 1);
        mbarrier_init((mbarrier *)(shared + at.empty) + i, WORKERS);
    }
    mbarrier_publish();
    stage_filler<TILES> first(p, at, shared);
#pragma unroll 1
    for (int i = 0; i < p.stages && !first.is_done(); first.advance(rows[i++]))
        first.fetch_A(rows[i], i >= OWN_X_STEPS<TILES>);
}

/* X for the first stages; and then every stage that is left is filled again. One thread. */
template <int TILES>
static __device__ void keep_fetching(const fast_product &p, const fast_layout &at,
                                     unsigned char *shared)
{
    const uint16_t *const rows = p.A.start[blockIdx.x].rows;
    stage_filler<TILES> ahead(p, at, shared);
    int i = 0;
    wait_for_kernel_before();
#pragma unroll 1
    for (; i < p.stages && !ahead.is_done(); ahead.advance(rows[i++]))
        if (i >= OWN_X_STEPS<TILES>) ahead.fetch_X();
    const uint32_t *end = p.A.begin + (size_t)blockIdx.x * p.A.steps + i + 1;
#pragma unroll 1
    while (!ahead.is_done()) {
        const uint32_t n = *end++ - ahead.row; /* on its way while the stage is waited for */
        mbarrier_wait(ahead.empty(), ahead.turn.parity);
        ahead.fetch_A(n, true);
        ahead.fetch_X();
        ahead.advance(n);
    }
}

#endif
