/*
 * fast_kernel.cuh - the warps of the fast kernel that multiply: each goes through the steps of its
 * block with slots of its own, WARP_STRIPS of them.
 */
#ifndef LAB9_FAST_KERNEL_CUH
#define LAB9_FAST_KERNEL_CUH

#include "fast_decode.cuh"
#include "fast_fetch.cuh"
#include "fast_finish.cuh"

template <int TILES, bool EVEN, class H> struct multiplier {
    const fast_product &p;
    const fast_layout &at;
    unsigned char *shared;
    uint32_t base;  /* address of shared memory */
    uint32_t table; /* the same, by a shuffle: else it is computed anew for each use */
    int block;      /* its number: see fast.cu */
    int worker;     /* the warp's number */
    bank_reader<EVEN> reader[WARP_STRIPS];
    sums_handover<TILES> ways;
    float sum[WARP_STRIPS][TILES][4];

    __device__ multiplier(const fast_product &p, const fast_layout &at, unsigned char *shared,
                          int block, int worker)
        : p(p), at(at), shared(shared), base(shared_address(shared)),
          table(__shfl_sync(FULL_MASK, base, 0)), block(block), worker(worker),
          ways(p, at, shared, worker), sum{}
    {
    }

    /* Where the step at address `stage` has the lane's values. */
    __device__ __forceinline__ void find_values(uint32_t stage, int quads)
    {
        const uint32_t notes = stage + 2 * (WARP_STRIPS * worker * LANES + lane_id());
#pragma unroll
        for (int strip = 0; strip < WARP_STRIPS; strip++) {
            const uint32_t note = load_shared<uint16_t>(notes + 2 * strip * LANES);
            reader[strip].start(stage + value_row(quads) * ROW_BYTES, bank_of(note),
                                above_of(note));
        }
    }

    __device__ __forceinline__ void multiply(uint32_t stage, int quads)
    {
        uint32_t x = stage + at.x + ways.way * x_bytes(TILES) + lane_id() * 16;
        uint32_t masks = stage + mask_row(0, WARP_STRIPS * worker) * ROW_BYTES + lane_id() * 4;
        uint32_t mask[WARP_STRIPS];
        load_masks(masks, mask);
        find_values(stage, quads);
#pragma unroll 1
        for (; quads > 0; quads--) {
            quad_words w[WARP_STRIPS];
#pragma unroll
            for (int strip = 0; strip < WARP_STRIPS; strip++)
                look_at_quad<EVEN>(table, mask[strip], reader[strip], w[strip]);
            masks += SLOTS * ROW_BYTES;
            if (quads > 1) load_masks(masks, mask);
            multiply_quad<TILES, EVEN, H>(x, w, reader, sum);
            x += p.A.shape.ways * x_bytes(TILES);
        }
    }
    static __device__ __forceinline__ void load_masks(uint32_t at, uint32_t (&mask)[WARP_STRIPS])
    {
#pragma unroll
        for (int strip = 0; strip < WARP_STRIPS; strip++)
            mask[strip] = load_shared<uint32_t>(at + strip * ROW_BYTES);
    }

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int strip = 0; strip < WARP_STRIPS; strip++)
#pragma unroll
            for (int n = 0; n < TILES; n++)
                for (int i = 0; i < 4; i++)
                    sum[strip][n][i] = 0;
    }

    __device__ void run()
    {
        stage_turn turn = {0, 0};
        step_cursor share(p.A, block);
#pragma unroll 1
        while (share.left > 0) {
            const int here = share.in_group();
#pragma unroll 1
            for (int left = here; left > 0; left -= share.step) {
                const unsigned stage = at.stages + turn.number * at.stage_bytes;
                mbarrier_wait((mbarrier *)(shared + at.full) + turn.number, turn.parity);
                multiply(base + stage, min(left, share.step));
                __syncwarp();
                if (lane_id() == 0) mbarrier_arrive((mbarrier *)(shared + at.empty) + turn.number);
                turn.advance(p.stages);
            }
            const int strip = WARP_STRIPS * ways.set + ways.way;
            if (ways.ways == 1) {
                finish<H>(p, block, share, strip, sum);
            } else {
                float mine[1][TILES][4];
                ways.bring_together(sum, mine);
                if (ways.receives()) finish<H>(p, block, share, strip, mine);
            }
            clear();
            share.advance(here);
        }
    }
};

#endif
