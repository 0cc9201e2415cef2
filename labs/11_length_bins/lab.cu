/*
 * Lab 11 - length bins: each row gets the lanes that its length deserves.
 *
 * Idea      Rows alike in length lie together, so a block knows the kind of all its rows: chunks of
 *           a long one, a warp each, a group of lanes each, or packed into slots of known place.
 * Changed   Lab 10 sorts rows for kernels that stay as they are. Here every length has a worker of
 *           its own, all in one launch, and A is copied in the order in which it is read.
 * Run       make lab11 && ./lab11 arxiv 32       ./lab11 arxiv 32 --set PACK=0
 * Watch     No atomics on floats: the block that comes last adds up all chunks of a long row. Loads
 *           of B without conditions go off together.
 * Paper     T. Gale, M. Zaharia, C. Young, E. Elsen: Sparse GPU Kernels for Deep Learning, SC 2020
 */
#include "formats/binned_rows.cuh"
#include "models/binned_rows.h"
#include "ops/spmm.h"

enum { TUNE_HOST = NUM_BINNED_TUNABLES };

/* The sum of a whole row: it begins at zero, and C is written once. C had better make room in
 * L2. */
struct whole_row_sum : sum_from_zero {
    template <int LANES, int V, int K>
    static __device__ __forceinline__ void finish(const binned_rows_product &p,
                                                  const slice_lanes<LANES, V, K> &at, int row,
                                                  const float (&sum)[K][V])
    {
        store(p, at, row, sum);
    }

    template <int LANES, int V, int K>
    static __device__ __forceinline__ void store(const binned_rows_product &p,
                                                 const slice_lanes<LANES, V, K> &at, int row,
                                                 const float (&sum)[K][V])
    {
        /* BEGIN STUDENT: store this lane's vectors of the row, if C has these columns; apply_epilogue before */
        if (!at.inside) return;
#pragma unroll
        for (int k = 0; k < K; k++) {
            float c[V];
#pragma unroll
            for (int v = 0; v < V; v++)
                c[v] = sum[k][v];
            apply_epilogue(p.epilogue, row & ~ADDS, c);
            store_vector_streaming(at.place(p.C, p.N, row & ~ADDS, k), c);
        }
        /* END STUDENT */
    }

    /* For rows that already have a sum in C: a whole row has none. */
    static __device__ __forceinline__ float held(const float *out)
    {
        return *out;
    }
};

/* A block takes the bin that its number falls into. Bins come in this order in the grid, so that
 * the longest pieces of work start first. */
template <int LANES, int V, int K>
static __global__ void __launch_bounds__(BLOCK, BLOCKS_PER_SM<LANES, K>)
    spmm_length_bins_kernel(const __grid_constant__ binned_rows_product p)
{
    using SUM = whole_row_sum;
    const int block = blockIdx.x;
    /* BEGIN STUDENT: give the block to the worker of its bin (formats/binned_rows.cuh) */
    if (block < p.block[MEDIUM])
        long_segment<SUM, LANES, V, K>(p);
    else if (block < p.block[SHORT])
        medium_segment<SUM, LANES, V, K>(p);
    else if (block < p.block[PACK_16])
        short_segment<SUM, LANES, V, K>(p);
    else if (block < p.block[PACK_8])
        packed_rows<PACK_16, SUM, LANES, V, K>(p);
    else if (block < p.block[PACK_4])
        packed_rows<PACK_8, SUM, LANES, V, K>(p);
    else if (block < p.block[PACK_2])
        packed_rows<PACK_4, SUM, LANES, V, K>(p);
    else if (block < p.block[PACK_1])
        packed_rows<PACK_2, SUM, LANES, V, K>(p);
    else if (block < p.block[EMPTY])
        packed_rows<PACK_1, SUM, LANES, V, K>(p);
    else
        empty_rows<SUM, LANES, V, K>(p);
    /* END STUDENT */
}

static cudaError_t prepare(spmm_plan *plan)
{
    const binned_rows_shape shape = binned_rows_settle(plan);
    const exec_space where = plan->tuning[TUNE_HOST] ? ON_HOST : ON_DEVICE;
    binned_rows *rows;
    const cudaError_t error = binned_rows_build(where, plan, &shape, &rows);
    plan->state = rows;
    return error;
}

struct bin_kernels {
    template <int LANES, int V, int K> static binned_rows_kernel get()
    {
        return spmm_length_bins_kernel<LANES, V, K>;
    }
};

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const binned_rows *rows = (const binned_rows *)plan->state;
    const binned_rows_kernel kernel = binned_rows_kernel_of<bin_kernels>(rows);
    binned_rows_product p = binned_rows_product_of(rows, plan->N, 0);
    p.B = B;
    p.C = C;
    p.epilogue = plan->epilogue;
    if (p.block[NUM_BINS] == 0) return cudaSuccess;
    for (; p.first_slice < p.num_slices; p.first_slice += MAX_SLICES) {
        const dim3 grid(p.block[NUM_BINS], min(MAX_SLICES, p.num_slices - p.first_slice));
        kernel<<<grid, BLOCK, 0, stream>>>(p);
        CUDA_TRY(cudaGetLastError());
    }
    return cudaSuccess;
}

static cudaError_t update_values(spmm_plan *plan)
{
    return binned_rows_update_values(&plan->A, (binned_rows *)plan->state);
}

static cudaError_t value_slots(const spmm_plan *plan, int *d_slot, float **d_copies)
{
    return binned_rows_value_slots(&plan->A, (const binned_rows *)plan->state, d_slot, d_copies);
}

static void release(spmm_plan *plan)
{
    binned_rows_free((binned_rows *)plan->state);
}

/* Settings that --tune tries: those that won on one kind of graph. */
static const int SHORTLIST[][MAX_TUNABLES] = {
    /* WIDTH SERIAL PACK WINDOW ORDER */
    {64, 64, 16, 4096, AS_THEY_COME},
    {64, 64, 16, 4096, BY_LAST_COLUMN},
    {64, 128, 0, 4096, AS_THEY_COME},
};

static spmm_contender lab11 = {
    .base = {.lab = 11,
             .after = 10,
             .name = "length_bins",
             .summary = "bins by length: each row gets the lanes it deserves, short rows packed",
             .tunables = {BINNED_WIDTH, BINNED_SERIAL, BINNED_PACK, BINNED_WINDOW, BINNED_ORDER,
                          BINNED_HOST},
             .shortlist = SHORTLIST,
             .num_shortlisted = sizeof SHORTLIST / sizeof *SHORTLIST},
    .choose = binned_rows_choose,
    .estimate = length_bins_estimate,
    .prepare = prepare,
    .run = run,
    .applies_epilogue = true,
    .update_values = update_values,
    .value_slots = value_slots,
    .format_bytes = binned_rows_format_bytes,
    .release = release,
};
SPMM_REGISTER(lab11)
