/*
 * Lab 7 - subwarps: several rows a warp.
 *
 * Idea      16-byte loads want 8 lanes for the 32 columns of N = 32, not 32. A warp is cut into
 *           subwarps of WIDTH lanes, each with a row, a tile and barriers of its own: their rows end
 *           at different times. Bundling puts rows of like length side by side, so that the lanes of
 *           a warp finish together; it changes the order of the rows, not where they are stored.
 * Changed   Lab 6 is WIDTH = 32, BUNDLE = 0 (its ROMA stays on). 32 becomes WIDTH, FULL_MASK a mask.
 * Run       make lab7 && ./lab7 collab 32 --vs lab6
 * Watch     The longest row is still walked by one subwarp, from end to end: lab 11 repairs that.
 * Paper     T. Gale, M. Zaharia, C. Young, E. Elsen: Sparse GPU Kernels for Deep Learning, SC 2020.
 */
#include "bundle.h"
#include "device/byte_offset.cuh"
#include "device/epilogue.cuh"
#include "device/facts.h"
#include "device/occupancy.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "models/whole_rows.h"
#include "ops/spmm.h"

constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;
constexpr int A_VECTOR = 4;     /* nonzeros of a load: 16 bytes of columns or of values */
constexpr int WARPS_PER_SM = 6; /* that a run should have, at least */

/* Positions in spmm_plan.tuning. */
enum { TUNE_WIDTH, TUNE_VECTORS, TUNE_PRESCALE, TUNE_RESIDUE, TUNE_BUNDLE };

struct product {
    int rows, nnz, N;
    unsigned stride; /* bytes from a row of B to the next */
    const int *__restrict__ row_order, *__restrict__ row_ptr, *__restrict__ col_idx;
    const float *__restrict__ values, *__restrict__ B;
    float *__restrict__ C;
    row_epilogue epilogue;
};

/* Nonzeros of a row in shared memory. Columns are multiplied by the stride of B if pre-scaled. */
template <int WIDTH> struct __align__(16) nonzeros
{
    static constexpr int TILE = WIDTH * A_VECTOR; /* staged between two barriers */
    unsigned col[TILE];
    float value[TILE];
};

/* A lane computes V columns, PARTS vectors of WIDE, and has IN_FLIGHT nonzeros on their way. */
template <int V> struct shape {
    static constexpr int WIDE = V < 4 ? V : 4, PARTS = V / WIDE, IN_FLIGHT = V < 4 ? 8 : 4;
    /* 48 resident warps, 40 registers a thread; 32 and 64 for the 8 sums and 32 floats of V = 8. */
    static constexpr int BLOCKS = THREADS_PER_SM / BLOCK * (V > 4 ? 2 : 3) / 4;
};

/* Stages nonzeros at .. at+TILE-1 of the row start .. end-1. Places outside it are masked: value 0,
 * and the row's own first column, so that they read nothing which the row does not read anyway. */
template <bool PRESCALE, int WIDTH>
static __device__ __forceinline__ void stage(const product &p, int at, int start, int end,
                                             nonzeros<WIDTH> &tile)
{
    const int lane = threadIdx.x % WIDTH;
    const unsigned scale = PRESCALE ? p.stride : 1, own = p.col_idx[start];
    /* BEGIN STUDENT: load a tile of A for this subwarp: vectors from an aligned start, masked */
    const int i = lane * A_VECTOR, k = at + i; /* multiples of A_VECTOR, both */
    unsigned col[A_VECTOR] = {};
    float value[A_VECTOR] = {};
    if (k + A_VECTOR > p.nnz) { /* the arrays end within this vector, or before it */
        for (int u = 0; u < A_VECTOR; u++)
            if (k + u < end) col[u] = p.col_idx[k + u], value[u] = p.values[k + u];
    } else if (k < end) {
        load_vector(col, (const unsigned *)&p.col_idx[k]);
        load_vector(value, &p.values[k]);
    }
#pragma unroll
    for (int u = 0; u < A_VECTOR; u++) {
        const bool live = start <= k + u && k + u < end;
        col[u] = (live ? col[u] : own) * scale;
        value[u] = live ? value[u] : 0;
    }
    store_vector(&tile.col[i], col);
    store_vector(&tile.value[i], value);
    /* END STUDENT */
}

/* Adds COUNT staged nonzeros times this lane's columns of B, all loads on their way at once. */
template <int COUNT, bool PRESCALE, int WIDTH, int PARTS, int WIDE>
static __device__ __forceinline__ void multiply(const product &p, const nonzeros<WIDTH> &tile,
                                                int k, const float *B, float (&sum)[PARTS][WIDE])
{
    constexpr int READ = COUNT < 4 ? COUNT : 4; /* places of a tile that one load brings */
    unsigned col[COUNT / READ][READ];
    float value[COUNT / READ][READ], b[COUNT][PARTS][WIDE];
    /* BEGIN STUDENT: issue all loads of B of this batch, then multiply and add */
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        if (u % READ == 0) load_vector_plain(col[u / READ], &tile.col[k + u]);
        const unsigned c = col[u / READ][u % READ];
        const float *const row = byte_offset(B, PRESCALE ? c : (size_t)c * p.stride);
#pragma unroll
        for (int i = 0; i < PARTS; i++)
            load_vector(b[u][i], row + i * WIDTH * WIDE);
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        if (u % READ == 0) load_vector_plain(value[u / READ], &tile.value[k + u]);
#pragma unroll
        for (int i = 0; i < PARTS; i++)
#pragma unroll
            for (int c = 0; c < WIDE; c++)
                sum[i][c] += value[u / READ][u % READ] * b[u][i][c];
    }
    /* END STUDENT */
}

template <int WIDTH, int V, bool PRESCALE, bool RESIDUE>
static __global__ void __launch_bounds__(BLOCK, shape<V>::BLOCKS)
    spmm_subwarp_kernel(const __grid_constant__ product p)
{
    constexpr int WIDE = shape<V>::WIDE, PARTS = shape<V>::PARTS, IN_FLIGHT = shape<V>::IN_FLIGHT;
    constexpr int SUBWARPS = BLOCK / WIDTH;
    __shared__ nonzeros<WIDTH> tiles[SUBWARPS];
    const int subwarp = threadIdx.x / WIDTH, lane = threadIdx.x % WIDTH;
    const int place = blockIdx.x * SUBWARPS + subwarp;
    const unsigned mask = subwarp_mask<WIDTH>();
    if (place >= p.rows) return;
    const int row = p.row_order ? p.row_order[place] : place;
    const int j = (blockIdx.y * WIDTH * PARTS + lane) * WIDE;
    const float *const B =
        p.B + min(j, p.N - WIDE); /* lanes beyond N load what the last one does */
    nonzeros<WIDTH> &tile = tiles[subwarp];
    /* BEGIN STUDENT: walk the row's tiles with this subwarp's mask; apply_epilogue, store */
    const int start = p.row_ptr[row], end = p.row_ptr[row + 1];
    float sum[PARTS][WIDE] = {};
    for (int at = start < end ? start & -A_VECTOR : start; at < end; at += tile.TILE) {
        stage<PRESCALE>(p, at, start, end, tile);
        __syncwarp(mask);
        const int count = min(tile.TILE, end - at);
        int k = 0;
#pragma unroll 1
        for (; k < (RESIDUE ? count : count / IN_FLIGHT * IN_FLIGHT); k += IN_FLIGHT)
            multiply<IN_FLIGHT, PRESCALE>(p, tile, k, B, sum);
        if constexpr (!RESIDUE)
#pragma unroll 1
            for (; k < count; k++)
                multiply<1, PRESCALE>(p, tile, k, B, sum);
        __syncwarp(mask);
    }
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
        apply_epilogue(p.epilogue, row, sum[i]);
        if (j < p.N) store_vector(&p.C[(size_t)row * p.N + j + i * WIDTH * WIDE], sum[i]);
    }
    /* END STUDENT */
}

typedef void spmm_kernel(product);

template <int WIDTH, int V> static spmm_kernel *kernel(int prescale, int residue)
{
    static spmm_kernel *const KERNELS[2][2] = {
        {spmm_subwarp_kernel<WIDTH, V, 0, 0>, spmm_subwarp_kernel<WIDTH, V, 0, 1>},
        {spmm_subwarp_kernel<WIDTH, V, 1, 0>, spmm_subwarp_kernel<WIDTH, V, 1, 1>},
    };
    return KERNELS[prescale][residue];
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    static spmm_kernel *(*const KERNEL[3][4])(int, int) = {
        {kernel<8, 1>, kernel<8, 2>, kernel<8, 4>, kernel<8, 8>},
        {kernel<16, 1>, kernel<16, 2>, kernel<16, 4>, kernel<16, 8>},
        {kernel<32, 1>, kernel<32, 2>, kernel<32, 4>, kernel<32, 8>},
    };
    const spmm_matrix &A = plan->A;
    const int *tuning = plan->tuning, width = tuning[TUNE_WIDTH], v = tuning[TUNE_VECTORS];
    const int subwarps = BLOCK / width, strip = width * v;
    const product p = {.rows = A.rows,
                       .nnz = A.nnz,
                       .N = plan->N,
                       .stride = (unsigned)(plan->N * sizeof(float)),
                       .row_order = plan->d_row_order ? plan->d_row_order : (int *)plan->state,
                       .row_ptr = A.d_row_ptr,
                       .col_idx = A.d_col_idx,
                       .values = A.d_values,
                       .B = B,
                       .C = C,
                       .epilogue = plan->epilogue};
    if (A.rows == 0) return cudaSuccess;
    const dim3 grid((A.rows + subwarps - 1) / subwarps, (plan->N + strip - 1) / strip);
    spmm_kernel *const spmm_subwarp =
        KERNEL[width / 16][v < 8 ? v / 2 : 3](tuning[TUNE_PRESCALE], tuning[TUNE_RESIDUE]);
    spmm_subwarp<<<grid, BLOCK, 0, stream>>>(p);
    return cudaGetLastError();
}

static cudaError_t prepare(spmm_plan *plan)
{
    const spmm_matrix &A = plan->A;
    int &v = plan->tuning[TUNE_VECTORS];
    const int N = plan->N, width = plan->tuning[TUNE_WIDTH];
    if (v > 4 && N % (width * v)) v = 4; /* of two loads a lane, both must have columns */
    while (N % min(v, 4))                /* a vector must not straddle two rows of B */
        v /= 2;
    if (!byte_offsets_fit(A.cols, N, sizeof(float))) plan->tuning[TUNE_PRESCALE] = 0;
    if (plan->d_row_order || A.rows == 0) plan->tuning[TUNE_BUNDLE] = 0; /* there is an order */
    return plan->tuning[TUNE_BUNDLE] ? bundle_rows(&A, (int **)&plan->state) : cudaSuccess;
}

static void release(spmm_plan *plan)
{
    cudaFree(plan->state);
}

/* The rule (LOG.md, "Choosing"): strips of up to 64 columns, in the widest loads that suit N. */
static void choose(const row_stats *stats, int N, int *tuning)
{
    const int64_t warps_wanted = WARPS_PER_SM * device_facts_get()->sms;
    int width = 8, v = N % 2 ? 1 : N % 4 ? 2 : N % 64 ? 4 : 8;
    while (v > 1 && width * v / 2 >= N) /* half as wide ones cover N as well */
        v /= 2;
    while (v > 1 && stats->rows * N / (WARP_SIZE * v) < warps_wanted)
        v /= 2;
    while (width < WARP_SIZE && width * v < min(N, 64))
        width *= 2;
    tuning[TUNE_WIDTH] = width;
    tuning[TUNE_VECTORS] = v;
    tuning[TUNE_PRESCALE] = tuning[TUNE_RESIDUE] = 1;
    tuning[TUNE_BUNDLE] = width < WARP_SIZE && stats->cov > 0.2;
}

static spmm_contender lab7 = {
    .base =
        {
            .lab = 7,
            .after = 6,
            .name = "subwarp",
            .summary = "several rows a warp, bundled by length",
            .tunables =
                {
                    {"WIDTH", "lanes of a subwarp, which computes one row", {8, 16, 32}, 3, 8},
                    {"VECTORS", "columns a lane, in loads of up to 16 bytes", {1, 2, 4, 8}, 4, 4},
                    {"PRESCALE", "1: columns are staged as byte offsets into B", {0, 1}, 2, 1},
                    {"RESIDUE", "1: the residue is padded and unrolled", {0, 1}, 2, 1},
                    {"BUNDLE", "1: rows of like length share a warp", {0, 1}, 2, 1},
                },
        },
    .choose = choose,
    .estimate = subwarp_estimate,
    .prepare = prepare,
    .run = run,
    .applies_epilogue = true,
    .update_values = spmm_nested_update_values, /* nothing is nested: it reads A's values */
    .format_bytes = spmm_csr_bytes,
    .release = release,
};
SPMM_REGISTER(lab7)
