/*
 * Lab 13 - column blocks: a launch for each block of columns, whose rows of B stay near.
 *
 * Idea      Rows of B from L2 come no faster than L2 delivers them. So cut the columns into blocks:
 *           while all SMs work on one block, their loads go to few rows of B, and L1 has many.
 * Changed   Lab 11's bins hold segments of rows, a set of bins a column block. A sum begins at what
 *           the launches before left in C: no atomics, one order of the sum.
 * Run       make lab13 && ./lab13 arxiv 32 --set BLOCKS=4
 * Watch     A segment reads and writes its row of C: one shorter than SHORTEST costs more than it
 *           saves, and stays in column block 0, the rest.
 * Paper     E.-J. Im, K. Yelick, R. Vuduc: Sparsity (cache blocking), IJHPCA 2004
 */
#include "formats/binned_rows.cuh"
#include "formats/column_blocks.h"
#include "models/binned_rows.h"
#include "ops/spmm.h"

/* The sum of a segment: it begins at what C holds if the row had a segment before. That load goes
 * off together with the first pairs, and needs no registers of its own, because it is the sum's
 * first value. C is read again by later launches, and had better stay in L2. */
struct sum_in_turn : sum_kept_in_l2 {
    template <int LANES, int V, int K>
    static __device__ __forceinline__ void begin(const binned_rows_product &p,
                                                 const slice_lanes<LANES, V, K> &at, int row,
                                                 float (&sum)[K][V])
    {
        set_zero(sum);
        /* BEGIN STUDENT: begin at what C holds, where the row is marked ADDS */
        if ((row & ADDS) && at.inside)
#pragma unroll
            for (int k = 0; k < K; k++)
                load_vector_plain(sum[k], at.place(p.C, p.N, row & ~ADDS, k));
        /* END STUDENT */
    }

    template <int LANES, int V, int K>
    static __device__ __forceinline__ void finish(const binned_rows_product &p,
                                                  const slice_lanes<LANES, V, K> &at, int row,
                                                  const float (&sum)[K][V])
    {
        store(p, at, row, sum);
    }

    static __device__ __forceinline__ float held(const float *out)
    {
        return *out;
    }
};

template <int LANES, int V, int K>
static __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM<LANES, K>)
    spmm_column_blocks_kernel(const __grid_constant__ binned_rows_product p)
{
    work_on_bins<sum_in_turn, LANES, V, K>(p);
}

static cudaError_t prepare(spmm_plan *plan)
{
    binned_rows_shape shape;
    CUDA_TRY(column_blocks_settle(plan, &shape));
    if (shape.blocks == 0) return column_blocks_nest_whole_rows(plan);
    binned_rows *rows;
    const cudaError_t error = column_blocks_build(plan, &shape, &rows);
    plan->state = rows;
    return error;
}

struct block_kernels {
    template <int LANES, int V, int K> static binned_rows_kernel get()
    {
        return spmm_column_blocks_kernel<LANES, V, K>;
    }
};

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    if (plan->nested) return spmm_nested_run(plan, B, C, stream);
    const binned_rows *rows = (const binned_rows *)plan->state;
    const binned_rows_kernel kernel = binned_rows_kernel_of<block_kernels>(rows);
    /* BEGIN STUDENT: launch the kernel for each column block, a grid's slices at a time */
    for (int block = 0; block < rows->column_blocks; block++) {
        binned_rows_product p = binned_rows_product_of(rows, plan->N, block);
        p.B = B;
        p.C = C;
        if (p.block[NUM_BINS] == 0) continue;
        for (; p.first_slice < p.num_slices; p.first_slice += MAX_SLICES) {
            const dim3 grid(p.block[NUM_BINS], min(MAX_SLICES, p.num_slices - p.first_slice));
            kernel<<<grid, BLOCK, 0, stream>>>(p);
            CUDA_TRY(cudaGetLastError());
        }
    }
    /* END STUDENT */
    return cudaSuccess;
}

static spmm_contender lab13 = {
    .base = {.lab = 13,
             .after = 11,
             .name = "column_blocks",
             .summary = "a launch for each block of columns, whose rows of B stay in L1 and L2",
             .tunables = {BINNED_WIDTH, BINNED_SERIAL, BINNED_PACK, BINNED_WINDOW, BINNED_ORDER,
                          COLUMN_BLOCKS, COLUMN_BLOCKS_SHORTEST, BINNED_HOST},
             .shortlist = COLUMN_BLOCKS_SHORTLIST,
             .num_shortlisted = sizeof COLUMN_BLOCKS_SHORTLIST / sizeof *COLUMN_BLOCKS_SHORTLIST},
    .choose = column_blocks_choose_settings,
    .estimate = length_bins_estimate,
    .prepare = prepare,
    .run = run,
    .update_values = column_blocks_update_values,
    .value_slots = column_blocks_value_slots,
    .format_bytes = binned_rows_format_bytes,
    .release = column_blocks_release,
};
SPMM_REGISTER(lab13)
