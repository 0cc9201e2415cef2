/*
 * warpgroup.cuh - a square on Hopper: the copy engine brings X and dY, and warpgroups multiply both where they lie.
 *
 * A product sums over tokens, and a token is a row of both tiles. wgmma takes rows of its B as they are, and rows of 16 bits
 * as columns of its A: so nothing is transposed, and no number comes to a register before it is a sum.
 *
 * A stripe is 64 features here. A stage of the ring has a box for each stripe that an open block reads. Boxes lie side by
 * side, those of X first. The ring has as many stages as there is room for. So sparse squares have more tokens on their way.
 *
 * Two warpgroups have 64 input features each, and ask for each cell of 64 x 64 whether an open block lies in it. The rest
 * of a cell is multiplied, too, and its sums are left out at the end.
 */
#ifndef GRADIENTS_TENSOR_CORE_WARPGROUP_CUH
#define GRADIENTS_TENSOR_CORE_WARPGROUP_CUH

#include "square.cuh"

#include "device/mbarrier.cuh"
#include "device/tensor_map.cuh"
#include "device/wgmma.cuh"

/* Tokens of a step, and numbers of a box: those of one stripe. */
constexpr int STEP = 64, BOX = STEP * CELL, BOX_BYTES = BOX * 2;

/* Boxes of a ring: it fills shared memory alone, or as one of two thread blocks of a multiprocessor. */
__host__ __device__ constexpr int boxes_of(int columns)
{
    return columns == SQUARE ? 13 : 26;
}

struct gradient_together {
    tensor_map X, dY; /* boxes of STEP tokens of a stripe */
    gradient_of of;
};

/* Contents of shared memory. Sums take the ring's place at the end. */
template <class H, int B, int COLUMNS> struct workplace {
    static constexpr int BOXES = boxes_of(COLUMNS), STAGES = BOXES / 2; /* stages: at most */
    H ring[BOXES * BOX];
    mbarrier full[STAGES];
    square_of<B, COLUMNS> square;
};

/* Contents of a stage: a bit for each stripe of X and of dY that lies in it, and their number. */
struct stage_contents {
    unsigned X, dY;
    int boxes;
};

template <int ACROSS> __device__ __forceinline__ stage_contents contents_of(unsigned cells)
{
    constexpr unsigned ROW = (1u << ACROSS) - 1;
    const unsigned dY = (cells | cells >> ACROSS) & ROW;
    const unsigned X = ((cells & ROW) != 0) | ((cells >> ACROSS) != 0) << 1;
    return {X, dY, __popc(X) + __popc(dY)};
}

/* The box that a lane brings in each step: lanes 0 and 1 stripes of X, those from 2 on stripes of dY. */
struct lane_box {
    const tensor_map *map; /* NULL: none */
    int column;            /* the first feature */
    int number;            /* in the stage */
};

__device__ __forceinline__ lane_box box_of(const gradient_together &g, const stage_contents &has,
                                           int2 corner)
{
    const int lane = lane_id(), j = lane < 2 ? lane : lane - 2;
    const unsigned used = lane < 2 ? has.X : has.dY;
    const int before = __popc(used & ((1u << j) - 1));
    if (!(used >> j & 1)) return {NULL, 0, 0};
    return lane < 2 ? lane_box{&g.X, corner.x + j * CELL, before}
                    : lane_box{&g.dY, corner.y + j * CELL, __popc(has.X) + before};
}

/* Where a thread block is: its square, what a stage has of it, and its piece of the steps. */
struct way_of {
    unsigned cells;
    stage_contents has;
    lane_box box; /* of this lane */
    int first, end, stages;
};

template <class H, int B, int COLUMNS>
__device__ __forceinline__ way_of find_way(const gradient_together &g,
                                           const workplace<H, B, COLUMNS> &w)
{
    const gradient_of &a = g.of;
    way_of way;
    /* One value for the warp, and the compiler is told: else it lets each product wait for the one before. */
    way.cells = __shfl_sync(FULL_MASK, w.square.cells, 0);
    way.has = contents_of<COLUMNS / CELL>(way.cells);
    way.box = box_of(g, way.has, w.square.corner(a.place[a.first[blockIdx.x]]));
    const int64_t steps = (a.tokens + STEP - 1) / STEP;
    way.first = (int)(steps * blockIdx.y / gridDim.y);
    way.end = way.cells ? (int)(steps * (blockIdx.y + 1) / gridDim.y) : way.first;
    way.stages = way.cells ? w.BOXES / way.has.boxes : 1;
    return way;
}

/* Starts the copies of a step to a stage, unless it lies behind the end. All lanes of one warp call. */
template <class H, int B, int COLUMNS>
__device__ __forceinline__ void fetch_step(const way_of &way, int step, int stage,
                                           workplace<H, B, COLUMNS> &w)
{
    if (step >= way.end) return;
    H *const to = w.ring + (stage * way.has.boxes + way.box.number) * BOX;
    if (lane_id() == 0) mbarrier_expect(&w.full[stage], way.has.boxes * BOX_BYTES);
    __syncwarp(); /* copies follow what announces them */
    if (way.box.map) tensor_copy(to, way.box.map, step * STEP, way.box.column, &w.full[stage]);
}

/* Starts sum += X^T dY of one step, for a warpgroup's 64 input features: for all output features of the square, as one group
 * of products, or for cells that are open, a group each. Bit j of `open`: the cell of stripe j. X: the warpgroup's box; dY:
 * the first box of those that are there. A group that ended behind the condition would make nvcc 13.0 let each product wait
 * for the one before. */
template <class H, bool ALL, int ACROSS>
__device__ __forceinline__ void start_step(const H *X, const H *dY, unsigned open, unsigned there,
                                           float (&sum)[ACROSS][8][4])
{
    int next = 0; /* from one product's tokens to the next one's, in pieces of 16 bytes */
    /* BEGIN STUDENT: the next 16 tokens lie 16 rows of a box further on */
    next = 16 * CELL * 2 / 16;
    /* END STUDENT */
    const uint64_t x = wgmma_operand(X), y = wgmma_operand(dY, BOX_BYTES);
    if constexpr (ALL) { /* X is read once for all */
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < STEP / 16; k++)
            wgmma_k16_shared<H>(reinterpret_cast<float(&)[8 * ACROSS][4]>(sum), x + k * next,
                                y + k * next);
        wgmma_commit();
    } else {
#pragma unroll
        for (int j = 0; j < ACROSS; j++) {
            if (!(open >> j & 1)) continue;
            const uint64_t stripe = y + __popc(there & ((1u << j) - 1)) * (BOX_BYTES / 16);
            wgmma_fence();
#pragma unroll
            for (int k = 0; k < STEP / 16; k++)
                wgmma_k16_shared<H>(sum[j], x + k * next, stripe + k * next);
            wgmma_commit();
        }
    }
}

/* Multiplies all steps, and stores. ALL: whether all cells of the square are open. */
template <bool ALL, class H, int B, int COLUMNS>
__device__ __forceinline__ void multiply_steps(const gradient_of &a, const way_of &way,
                                               workplace<H, B, COLUMNS> &w)
{
    constexpr int ACROSS = COLUMNS / CELL;
    const stage_contents &has = way.has;
    const int group = __shfl_sync(FULL_MASK, warp_id() / 4, 0);
    const unsigned open = way.cells >> group * ACROSS & ((1u << ACROSS) - 1);
    const int x = group ? (has.X & 1) * BOX : 0, y = __popc(has.X) * BOX;
    float sum[ACROSS][8][4] = {};
    float(&all)[8 * ACROSS][4] = reinterpret_cast<float(&)[8 * ACROSS][4]>(sum);
    ring_turn turn = {0, 0};
    for (int step = way.first, before = 0; step < way.end; step++) {
        const H *const stage = w.ring + turn.number * has.boxes * BOX;
        mbarrier_wait(&w.full[turn.number], turn.parity);
        start_step<H, ALL>(stage + x, stage + y, open, has.dY, sum);
        wgmma_wait_but<1>(); /* one of this step: those of the step before are done, */
        __syncthreads();     /* for both warpgroups */
        if (warp_id() == 0 && step > way.first) fetch_step(way, step - 1 + way.stages, before, w);
        before = turn.number;
        turn.advance(way.stages);
    }
    wgmma_wait(all);
    __syncthreads(); /* the ring is free for sums */
    if (gridDim.y > 1 && !add_pieces(a, all)) return;
    float *const sums = reinterpret_cast<float *>(w.ring);
    lay_out<COLUMNS>(sums, warp_id() * 16, 0, all);
    __syncthreads();
    store_square<H>(a, w.square, sums);
}

/* A thread block: a square, and piece blockIdx.y of gridDim.y of the steps. */
template <class H, int B, int COLUMNS>
__device__ __forceinline__ void multiply_square(const gradient_together &g,
                                                workplace<H, B, COLUMNS> &w)
{
    if (threadIdx.x == 0) {
        for (int i = 0; i < w.STAGES; i++)
            mbarrier_init(&w.full[i], 1);
        mbarrier_publish();
    }
    look_up(g.of, w.square);
    const way_of way = find_way(g, w);
    if (warp_id() == 0)
        for (int i = 0; i < way.stages; i++)
            fetch_step(way, way.first + i, i, w);
    if (way.cells == (1u << 2 * COLUMNS / CELL) - 1)
        multiply_steps<true>(g.of, way, w);
    else
        multiply_steps<false>(g.of, way, w);
}

#endif
