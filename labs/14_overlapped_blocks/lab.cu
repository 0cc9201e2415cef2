/*
 * Lab 14 - overlapped blocks: the next column block begins while the last blocks of this one run.
 *
 * Idea      A launch ends when its last group ends, and until then ever fewer groups work. With
 *           programmatic dependent launch (PDL) the next column block begins meanwhile.
 * Changed   Lab 13's sum begins at what C holds. Here it begins at zero, and C is added at the end,
 *           when the launch before has most likely ended.
 * Run       make lab14 && ./lab14 arxiv 32 --set BLOCKS=4
 * Watch     No thread may end before all launches before have; what they left in C is read past L1.
 *           Below compute capability 9.0 nothing overlaps: lab 13 takes over.
 * Paper     CUDA C++ Programming Guide: programmatic dependent launch and synchronization
 */
#include "device/pdl.cuh"
#include "formats/binned_rows.cuh"
#include "formats/column_blocks.h"
#include "models/binned_rows.h"
#include "ops/spmm.h"

#include <string.h>

/* The sum of a segment: it begins at zero, and what C holds is added at its end, when the launches
 * before are most likely done. */
struct overlapped_sum : sum_from_zero, sum_kept_in_l2 {
    template <int LANES, int V, int K>
    static __device__ __forceinline__ void finish(const binned_rows_product &p,
                                                  const slice_lanes<LANES, V, K> &at, int row,
                                                  float (&sum)[K][V])
    {
        /* BEGIN STUDENT: add what C holds where the row is marked ADDS, once it may be read */
        if ((row & ADDS) && at.inside) {
            float c[K][V];
            pdl_wait();
#pragma unroll
            for (int k = 0; k < K; k++)
                load_vector_l2(c[k], at.place(p.C, p.N, row & ~ADDS, k));
#pragma unroll
            for (int k = 0; k < K; k++)
#pragma unroll
                for (int v = 0; v < V; v++)
                    sum[k][v] += c[k][v];
        }
        /* END STUDENT */
        store(p, at, row, sum);
    }

    static __device__ __forceinline__ float held(const float *out)
    {
        pdl_wait();
        return __ldcg(out);
    }
};

/* No thread ends before the launch before has ended, whether it has something to add to C or not:
 * so a launch that waits for one has waited for all before it. */
template <int LANES, int V, int K>
static __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM<LANES, K>)
    spmm_overlapped_blocks_kernel(const __grid_constant__ binned_rows_product p)
{
    pdl_launch_dependents();
    work_on_bins<overlapped_sum, LANES, V, K>(p);
    pdl_wait();
}

/* Nests a plan of "column_blocks" with the same settings, where no launch can begin early. */
static cudaError_t nest_blocks_in_turn(spmm_plan *plan)
{
    const spmm_contender *in_turn = spmm_find("column_blocks", plan->contender->base.precision);
    if (!in_turn) return cudaErrorNotSupported;
    CUDA_TRY(spmm_nest(plan, in_turn, plan->tuning, NULL));
    memcpy(plan->tuning, plan->nested->tuning, NUM_COLUMN_BLOCKS_TUNABLES * sizeof *plan->tuning);
    return cudaSuccess;
}

static cudaError_t prepare(spmm_plan *plan)
{
    binned_rows_shape shape;
    bool can_overlap;
    CUDA_TRY(column_blocks_settle(plan, &shape));
    if (shape.blocks == 0) return column_blocks_nest_whole_rows(plan);
    /* Asked only where there are blocks: the driver loads a kernel to answer. */
    CUDA_TRY(compiled_for_90(spmm_overlapped_blocks_kernel<8, 4, 1>, &can_overlap));
    if (!can_overlap) return nest_blocks_in_turn(plan);
    binned_rows *rows;
    const cudaError_t error = column_blocks_build(plan, &shape, &rows);
    plan->state = rows;
    return error;
}

struct overlapped_kernels {
    template <int LANES, int V, int K> static binned_rows_kernel get()
    {
        return spmm_overlapped_blocks_kernel<LANES, V, K>;
    }
};

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    if (plan->nested) return spmm_nested_run(plan, B, C, stream);
    const binned_rows *rows = (const binned_rows *)plan->state;
    const binned_rows_kernel kernel = binned_rows_kernel_of<overlapped_kernels>(rows);
    bool is_first = true;
    for (int block = 0; block < rows->column_blocks; block++) {
        binned_rows_product p = binned_rows_product_of(rows, plan->N, block);
        p.B = B;
        p.C = C;
        if (p.block[NUM_BINS] == 0) continue;
        for (; p.first_slice < p.num_slices; p.first_slice += MAX_SLICES) {
            const dim3 grid(p.block[NUM_BINS], min(MAX_SLICES, p.num_slices - p.first_slice));
            /* BEGIN STUDENT: an ordinary first launch, and later ones that may begin early */
            if (is_first) /* the stream may be making B just now */
                kernel<<<grid, BLOCK, 0, stream>>>(p);
            else
                CUDA_TRY(launch_with_pdl(kernel, grid, BLOCK, 0, stream, p));
            CUDA_TRY(cudaGetLastError());
            is_first = false;
            /* END STUDENT */
        }
    }
    return cudaSuccess;
}

static spmm_contender lab14 = {
    .base = {.lab = 14,
             .after = 13,
             .name = "overlapped_blocks",
             .summary = "a column block begins while the launch before it still runs (PDL)",
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
SPMM_REGISTER(lab14)
