/*
 * fast_fetch.cuh - how the fast kernel's matrix comes into shared memory: a step, for all warps, by one bulk
 * copy. One thread of a warp that does nothing else asks for it, as soon as all others are done with what
 * was in the stage. Two barriers a stage: `full` counts bytes, and the warp that brings X; `empty` counts warps
 * that multiply.
 */
#ifndef LAB9_FAST_FETCH_CUH
#define LAB9_FAST_FETCH_CUH

#include "fast.cuh"

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

/* One thread's. */
struct stage_filler {
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
    __device__ mbarrier *full(int stage) const { return (mbarrier *)(shared + at.full) + stage; }
    __device__ mbarrier *empty(int stage) const { return (mbarrier *)(shared + at.empty) + stage; }

    /* The step, of so many rows; then the next one is next. */
    __device__ void fetch(uint32_t rows)
    {
        const unsigned bytes = (rows + LOOK_AHEAD) * ROW_BYTES;
        mbarrier_expect(full(turn.number), bytes);
        bulk_copy(shared + at.stages + turn.number * at.stage_bytes, p.A.data + (size_t)row * LANES,
                  bytes, full(turn.number));
        row += rows;
        step.advance();
        turn.advance(p.stages);
    }

    /* Makes the barriers and fills all stages. Others may use them once they have synchronised with this
     * thread. */
    __device__ void start()
    {
        const uint16_t *const rows = p.A.start[blockIdx.x].rows;
#pragma unroll 1
        for (int i = 0; i < p.stages; i++) {
            mbarrier_init(full(i), 2);
            mbarrier_init(empty(i), WORKERS);
        }
        mbarrier_publish();
#pragma unroll 1
        for (int i = 0; i < p.stages && step.left > 0; i++)
            fetch(rows[i]);
    }

    /* Fills every stage again, until the block has no step left. */
    __device__ void keep_filling()
    {
        const uint32_t *end = p.A.begin + (size_t)blockIdx.x * p.A.steps + p.stages + 1;
#pragma unroll 1
        while (step.left > 0) {
            const uint32_t n = *end++ - row; /* on its way while the stage is waited for */
            mbarrier_wait(empty(turn.number), turn.parity);
            fetch(n);
        }
    }
};

#endif
