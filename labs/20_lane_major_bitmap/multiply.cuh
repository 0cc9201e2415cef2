/*
 * multiply.cuh - the warps that multiply: each goes through the steps of its block with WARP_STRIPS slots
 * of its own, decodes their fragments of A, and multiplies them by X.
 */
#ifndef LAB20_MULTIPLY_CUH
#define LAB20_MULTIPLY_CUH

#include "device/mma.cuh"
#include "device/sums_exchange.cuh"
#include "fetch.cuh"
#include "finish.cuh"

static_assert(WARP_STRIPS == EXCHANGED_STRIPS);

/* Sets of warps with the same strips: numbers of warps are those of way 0, then of way 1, ... */
__host__ __device__ static inline int sets_of(const product &p)
{
    return WORKERS / p.A.shape.ways;
}

/* Makes all barriers. One thread. */
static __device__ void make_barriers(const product &p, const shared_layout &at,
                                     unsigned char *shared)
{
    const int receiving_warps = sets_of(p) * min(p.A.shape.ways, WARP_STRIPS);
    mbarrier_init_ring((mbarrier *)(shared + at.full), p.stages, 1, (mbarrier *)(shared + at.empty),
                       WORKERS);
    mbarrier_init((mbarrier *)(shared + at.given), WARP_SIZE * WORKERS);
    mbarrier_init((mbarrier *)(shared + at.taken), WARP_SIZE * receiving_warps);
    mbarrier_publish();
}

/* Multiplies a quad of the warp's strips by the 64 rows of X at `x`, which are loaded once for all. */
template <int TILES, bool EVEN, class H>
static __device__ __forceinline__ void multiply_quad(uint32_t x, const quad_words (&w)[WARP_STRIPS],
                                                     bank_reader<EVEN> (&reader)[WARP_STRIPS],
                                                     float (&sum)[WARP_STRIPS][TILES][4])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        uint4 b[TILES];
#pragma unroll
        for (int n = 0; n < TILES; n++)
            b[n] = load_shared<uint4>(x + (half * TILES + n) * 512);
#pragma unroll
        for (int second = 0; second < 2; second++) {
            /* BEGIN STUDENT: fragment 2 half + second of each strip: decode it, times half of b[n] */
#pragma unroll
            for (int strip = 0; strip < WARP_STRIPS; strip++) {
                uint32_t a[4];
                decode<EVEN>(w[strip], 2 * half + second, reader[strip], a);
#pragma unroll
                for (int n = 0; n < TILES; n++)
                    mma_m16n8k16<H>(sum[strip][n], a,
                                    {second ? b[n].z : b[n].x, second ? b[n].w : b[n].y});
            }
            /* END STUDENT */
        }
    }
}

template <int TILES, bool EVEN, class H> struct multiplier {
    const product &p;
    const shared_layout &at;
    unsigned char *shared;
    int block;  /* its number: see started_block */
    int worker; /* the warp's number */
    uint32_t base = shared_address(shared);
    uint32_t table = __shfl_sync(FULL_MASK, base, 0); /* else it is computed anew for each use */
    sums_exchange<TILES> exchange = {(mbarrier *)(shared + at.given),
                                     (mbarrier *)(shared + at.taken),
                                     (float4 *)(shared + at.sums),
                                     worker % sets_of(p),
                                     worker / sets_of(p),
                                     p.A.shape.ways};
    bank_reader<EVEN> reader[WARP_STRIPS] = {};
    float sum[WARP_STRIPS][TILES][4] = {};

    /* Multiplies the step at address `stage`. */
    __device__ __forceinline__ void multiply(uint32_t stage, int quads)
    {
        uint32_t x = stage + at.x + exchange.way * x_bytes(TILES) + lane_id() * 16;
        uint32_t masks = stage + mask_row(0, WARP_STRIPS * worker) * ROW_BYTES + lane_id() * 4;
        uint32_t mask[WARP_STRIPS];
        load_masks(masks, mask);
        start_readers(stage, WARP_STRIPS * worker, quads, reader);
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

    /* Goes through the block's quads: steps of a group one after the other, then the group's sums. */
    __device__ void run()
    {
        ring_turn turn = {0, 0};
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
            const int strip = WARP_STRIPS * exchange.set + exchange.way;
            if (exchange.ways == 1) {
                finish<H>(p, block, share, strip, sum);
            } else {
                float mine[1][TILES][4];
                exchange.bring_together(sum, mine);
                if (exchange.receives()) finish<H>(p, block, share, strip, mine);
            }
#pragma unroll
            for (int i = 0; i < WARP_STRIPS * TILES * 4; i++)
                sum[i / 4 / TILES][i / 4 % TILES][i % 4] = 0;
            share.advance(here);
        }
    }
};

#endif
