/*
 * fast_fetch.cuh - how the fast kernel's data come into shared memory: a step of the matrix, for all
 * warps, by one bulk copy, and the rows of X that it is multiplied by by another. One thread of a warp
 * that does nothing else asks for both, as soon as all others are done with what was in the stage. Two
 * barriers a stage: `full` counts bytes, `empty` warps.
 */
#ifndef LAB9_FAST_FETCH_CUH
#define LAB9_FAST_FETCH_CUH

#include "device/overlap.cuh"
#include "fast_ways.cuh"

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

    __device__ stage_filler(const fast_product &p, const fast_layout &at, unsigned char *shared,
                            int block)
        : p(p), at(at), shared(shared), step(p.A, block), row(p.A.start[block].row), turn{0, 1}
    {
    }
    __device__ bool is_done() const { return step.left == 0; }
    __device__ unsigned char *stage() const
    {
        return shared + at.stages + turn.number * at.stage_bytes;
    }
    __device__ mbarrier *full() const { return (mbarrier *)(shared + at.full) + turn.number; }
    __device__ mbarrier *empty() const { return (mbarrier *)(shared + at.empty) + turn.number; }

    /* X's part of so many quads of all slots. */
    __device__ unsigned X_bytes(int quads) const { return quads * p.A.shape.ways * x_bytes(TILES); }
    /* The step's rows, and word of all that is to come. */
    __device__ void fetch_A(uint32_t rows) const
    {
        const unsigned bytes = (rows + LOOK_AHEAD) * ROW_BYTES;
        mbarrier_expect(full(), bytes + X_bytes(step.count()));
        bulk_copy(stage(), p.A.data + (size_t)row * LANES, bytes, full());
    }
    __device__ void fetch_X() const
    {
        bulk_copy(stage() + at.x, (const char *)p.X + X_bytes(step.place), X_bytes(step.count()),
                  full());
    }
    __device__ void advance(uint32_t rows)
    {
        row += rows;
        step.advance();
        turn.advance(p.stages);
    }
};

/* One thread. */
static __device__ void make_barriers(const fast_product &p, const fast_layout &at,
                                     unsigned char *shared)
{
#pragma unroll 1
    for (int i = 0; i < p.stages; i++) {
        mbarrier_init((mbarrier *)(shared + at.full) + i, 1);
        mbarrier_init((mbarrier *)(shared + at.empty) + i, WORKERS);
    }
    mbarrier_init((mbarrier *)(shared + at.given), WARP_SIZE * WORKERS);
    mbarrier_init((mbarrier *)(shared + at.taken), WARP_SIZE * receiving_warps(p));
    mbarrier_publish();
}

/* Asks for the matrix's part of the first step, which comes from memory; X may still be in the making. One thread. */
template <int TILES>
static __device__ void start_fetching(const fast_product &p, const fast_layout &at,
                                      unsigned char *shared, int block)
{
    stage_filler<TILES>(p, at, shared, block).fetch_A(p.A.start[block].rows[0]);
}

/* All other copies: those of the first stages, and then every stage that is left is filled again. Copies are
 * done in the order in which they are asked for: so the first step's X goes before what later steps need. One
 * thread. */
template <int TILES>
static __device__ void keep_fetching(const fast_product &p, const fast_layout &at,
                                     unsigned char *shared, int block)
{
    const uint16_t *const rows = p.A.start[block].rows;
    stage_filler<TILES> ahead(p, at, shared, block);
    int i = 0;
    wait_for_kernel_before();
#pragma unroll 1
    for (; i < p.stages && !ahead.is_done(); ahead.advance(rows[i++])) {
        if (i > 0) ahead.fetch_A(rows[i]);
        ahead.fetch_X();
    }
    const uint32_t *end = p.A.begin + (size_t)block * p.A.steps + i + 1;
#pragma unroll 1
    while (!ahead.is_done()) {
        const uint32_t n = *end++ - ahead.row; /* on its way while the stage is waited for */
        mbarrier_wait(ahead.empty(), ahead.turn.parity);
        ahead.fetch_A(n);
        ahead.fetch_X();
        ahead.advance(n);
    }
}

#endif
