/*
 * fast.cuh - what the fast kernel is given, and how it cuts its shared memory.
 */
#ifndef LAB9_FAST_CUH
#define LAB9_FAST_CUH

#include "device/mbarrier.cuh"
#include "fast_decode.cuh"

constexpr int MOST_STAGES = EARLY_STEPS;

/* C (rows x N, from `column` on) = the matrix times B. */
struct fast_product {
    lane_major A;
    tca_bme repeated;
    const void *B;
    const uint4 *X; /* B in another order (fast_X.cuh) */
    void *C;
    int N, column;
    int stages;       /* steps that are there or on their way */
    float *parts;     /* sums of strips that several blocks share: see fast_finish.cuh */
    unsigned *ticket; /* the CPU backend's, see block_number; 0 after a run that ended */
};

/* X's share of a quad of the matrix: 64 rows of 8 * tiles columns. */
__host__ __device__ static inline unsigned x_bytes(int tiles)
{
    return QUAD_COLUMNS * 8 * tiles * 2;
}

/* How many sums a slot has: four a tile and lane. */
__host__ __device__ static inline unsigned slot_sums(int tiles)
{
    return tiles * 4 * LANES;
}

/* Bytes of shared memory, from its beginning; x from a stage's. Behind the rows of a step a stage has room
 * for those that are looked at beyond its last value: they are copied with it, from the step that
 * follows, so that they are never something that somebody else writes. */
struct fast_layout {
    unsigned full, empty, given, taken, sums, stages, x, stage_bytes, total;

    __host__ __device__ fast_layout(const fast_product &p, int tiles)
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

#endif
