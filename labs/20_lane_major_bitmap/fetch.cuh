/*
 * fetch.cuh - what the kernel is given, how it cuts its shared memory, and how that is filled.
 *
 * One thread of a warp that does nothing else asks for all copies: a step of A for all warps by one bulk
 * copy, and by another the rows of X that the step is multiplied by. It fills a stage again as soon as all
 * other warps are done with it. Two barriers a stage: `full` counts bytes, `empty` warps.
 */
#ifndef LAB20_FETCH_CUH
#define LAB20_FETCH_CUH

#include "device/epilogue.cuh"
#include "device/mbarrier.cuh"
#include "device/pdl.cuh"
#include "formats/lane_major_decode.cuh"
#include "formats/lane_major_operand.cuh"

constexpr int MOST_STAGES = EARLY_STEPS;
/* Slots of a warp. They share what is loaded of X, and while one waits for its words the other has work. */
constexpr int WARP_STRIPS = 2;
constexpr int WORKERS = SLOTS / WARP_STRIPS; /* warps that multiply */

/* The product of one launch: C (rows x N, from `column` on) = A times B. */
struct product {
    lane_major A;
    tca_bme repeated;
    const void *B;
    const uint4 *X; /* B in another order (lane_major_operand.cuh) */
    void *C;
    int N, column;
    int stages;            /* steps that are there or on their way */
    float *posted;         /* sums of strips that several blocks share: see finish.cuh */
    row_epilogue epilogue; /* of each row's sums, when they are complete */
    unsigned *ticket;      /* the CPU backend's, see started_block; 0 after a run that ended */
};

/* Sums of a slot: four a tile and lane. */
__host__ __device__ static inline unsigned slot_sums(int tiles)
{
    return tiles * 4 * LANES;
}

/* Offsets in shared memory, in bytes; x from a stage's begin. A stage has room for LOOK_AHEAD rows behind
 * those of the step: they are copied with it, from the step that follows. So what a lane looks at beyond
 * its last value is never something that somebody else writes. */
struct shared_layout {
    unsigned full, empty, given, taken, sums, stages, x, stage_bytes, total;

    __host__ __device__ shared_layout(const product &p, int tiles)
    {
        full = TABLE_ENTRIES * sizeof(table_entry);
        empty = full + MOST_STAGES * sizeof(mbarrier);
        given = empty + MOST_STAGES * sizeof(mbarrier);
        taken = given + sizeof(mbarrier);
        sums = (taken + (unsigned)sizeof(mbarrier) + 127) / 128 * 128;
        stages = sums + (SLOTS - group_strips(p.A)) * slot_sums(tiles) * (unsigned)sizeof(float);
        x = (p.A.most_rows + LOOK_AHEAD) * ROW_BYTES;
        stage_bytes = x + p.A.shape.step * p.A.shape.ways * x_bytes(tiles);
        total = stages + p.stages * stage_bytes;
    }
};

/* ---- one thread fetches ------------------------------------------------------------------------ */

/* The next step to be fetched, and its stage: at first the block's first one. */
template <int TILES> struct stage_filler {
    const product &p;
    const shared_layout &at;
    unsigned char *shared;
    step_cursor step;
    uint32_t row; /* where the step begins */
    ring_turn turn = {0, 1};

    __device__ unsigned char *stage() const
    {
        return shared + at.stages + turn.number * at.stage_bytes;
    }
    __device__ mbarrier *full() const { return (mbarrier *)(shared + at.full) + turn.number; }
    __device__ mbarrier *empty() const { return (mbarrier *)(shared + at.empty) + turn.number; }

    /* Bytes of X for so many quads of all slots. */
    __device__ unsigned X_bytes(int quads) const { return quads * p.A.shape.ways * x_bytes(TILES); }
    /* Announces all bytes of the step, and asks for its rows of A. */
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

/* Asks for all other copies: those of the first stages, and then for every stage that is left, again.
 * Copies are done in the order in which they are asked for: so the first step's X goes before what later
 * steps need. */
template <int TILES>
static __device__ void keep_fetching(const product &p, const shared_layout &at,
                                     unsigned char *shared, int block)
{
    const uint16_t *const rows = p.A.start[block].rows;
    stage_filler<TILES> ahead = {p, at, shared, step_cursor(p.A, block), p.A.start[block].row};
    int i = 0;
    pdl_wait();
#pragma unroll 1
    for (; i < p.stages && ahead.step.left > 0; ahead.advance(rows[i++])) {
        if (i > 0) ahead.fetch_A(rows[i]);
        ahead.fetch_X();
    }
    const uint32_t *end = p.A.begin + (size_t)block * p.A.steps + i + 1;
    /* Fetches all steps that are left, each as soon as its stage is empty; *end is its last row. */
#pragma unroll 1
    while (ahead.step.left > 0) {
        const uint32_t n = *end++ - ahead.row; /* on its way while the stage is waited for */
        mbarrier_wait(ahead.empty(), ahead.turn.parity);
        ahead.fetch_A(n);
        ahead.fetch_X();
        ahead.advance(n);
    }
}

#endif
