/*
 * Lab 6 - ROMA: wide loads of everything, at any alignment.
 *
 * Idea      A warp computes a strip of one row, 1 x 32 V. Nonzeros are loaded four at a time: 16 bytes
 *           of columns, 16 of values. A row that starts off the 16-byte grid is entered at the grid
 *           line before it (reverse-offset memory alignment), up to three places too early. A column
 *           is staged as the byte offset of its row of B (pre-scaling). Places before the row and
 *           past its end are masked, so that one unrolled loop does for the residue as well.
 * Changed   Lab 4 and these four, each with a switch. Rows are whole again, as in lab 4.
 * Run       make lab6 && ./lab6 ddi 256 --vs lab4
 * Watch     A masked place must load nothing and add nothing: 0 * NaN is NaN.
 * Paper     T. Gale, M. Zaharia, C. Young, E. Elsen: Sparse GPU Kernels for Deep Learning, SC 2020.
 */
#include "device/byte_offset.cuh"
#include "device/epilogue.cuh"
#include "device/occupancy.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "models/whole_rows.h"
#include "ops/spmm.h"

constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;
constexpr int A_VECTOR = 4; /* nonzeros of a load: 16 bytes of columns or of values */
constexpr int TILE = WARP_SIZE * A_VECTOR; /* nonzeros staged between two barriers */

/* Positions in spmm_plan.tuning. */
enum { TUNE_VECTORS, TUNE_ROMA, TUNE_PRESCALE, TUNE_RESIDUE };

struct product {
    int rows, nnz, N;
    unsigned stride; /* bytes from a row of B to the next */
    const int *__restrict__ row_order, *__restrict__ row_ptr, *__restrict__ col_idx;
    const float *__restrict__ values, *__restrict__ B;
    float *__restrict__ C;
    row_epilogue epilogue;
};

/* Nonzeros of a row in shared memory. Columns are multiplied by the stride of B if pre-scaled. */
struct __align__(16) nonzeros
{
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
template <bool ROMA, bool PRESCALE>
static __device__ __forceinline__ void stage(const product &p, int at, int start, int end,
                                             nonzeros &tile)
{
    const int lane = threadIdx.x % WARP_SIZE;
    const unsigned scale = PRESCALE ? p.stride : 1, own = p.col_idx[start];
    /* BEGIN STUDENT: load a tile of A: masked vectors from an aligned start (ROMA), or singly */
    if constexpr (ROMA) { /* at and k are multiples of A_VECTOR */
        const int i = lane * A_VECTOR, k = at + i;
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
    } else {
#pragma unroll
        for (int i = lane; i < TILE; i += WARP_SIZE) {
            const bool live = at + i < end;
            tile.col[i] = (live ? p.col_idx[at + i] : own) * scale;
            tile.value[i] = live ? p.values[at + i] : 0;
        }
    }
    /* END STUDENT */
}

/* Adds COUNT staged nonzeros times this lane's columns of B, all loads on their way at once. */
template <int COUNT, bool PRESCALE, int PARTS, int WIDE>
static __device__ __forceinline__ void multiply(const product &p, const nonzeros &tile, int k,
                                                const float *B, float (&sum)[PARTS][WIDE])
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
            load_vector(b[u][i], row + i * WARP_SIZE * WIDE);
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

template <int V, bool ROMA, bool PRESCALE, bool RESIDUE>
static __global__ void __launch_bounds__(BLOCK, shape<V>::BLOCKS)
    spmm_roma_kernel(const __grid_constant__ product p)
{
    constexpr int WIDE = shape<V>::WIDE, PARTS = shape<V>::PARTS, IN_FLIGHT = shape<V>::IN_FLIGHT;
    __shared__ nonzeros tiles[WARPS];
    const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    const int place = blockIdx.x * WARPS + warp;
    if (place >= p.rows) return;
    const int row = p.row_order ? p.row_order[place] : place;
    const int j = (blockIdx.y * WARP_SIZE * PARTS + lane) * WIDE;
    const float *const B =
        p.B + min(j, p.N - WIDE); /* lanes beyond N load what the last one does */
    nonzeros &tile = tiles[warp];
    /* BEGIN STUDENT: align the start, walk the row's tiles and the residue; apply_epilogue, store */
    const int start = p.row_ptr[row], end = p.row_ptr[row + 1];
    float sum[PARTS][WIDE] = {};
    for (int at = ROMA && start < end ? start & -A_VECTOR : start; at < end; at += TILE) {
        stage<ROMA, PRESCALE>(p, at, start, end, tile);
        __syncwarp();
        const int count = min(TILE, end - at);
        int k = 0;
#pragma unroll 1
        for (; k < (RESIDUE ? count : count / IN_FLIGHT * IN_FLIGHT); k += IN_FLIGHT)
            multiply<IN_FLIGHT, PRESCALE>(p, tile, k, B, sum);
        if constexpr (!RESIDUE)
#pragma unroll 1
            for (; k < count; k++)
                multiply<1, PRESCALE>(p, tile, k, B, sum);
        __syncwarp();
    }
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
        apply_epilogue(p.epilogue, row, sum[i]);
        if (j < p.N) store_vector(&p.C[(size_t)row * p.N + j + i * WARP_SIZE * WIDE], sum[i]);
    }
    /* END STUDENT */
}

typedef void spmm_kernel(product);

template <int V> static spmm_kernel *kernel(int roma, int prescale, int residue)
{
    static spmm_kernel *const KERNELS[2][2][2] = {
        {{spmm_roma_kernel<V, 0, 0, 0>, spmm_roma_kernel<V, 0, 0, 1>},
         {spmm_roma_kernel<V, 0, 1, 0>, spmm_roma_kernel<V, 0, 1, 1>}},
        {{spmm_roma_kernel<V, 1, 0, 0>, spmm_roma_kernel<V, 1, 0, 1>},
         {spmm_roma_kernel<V, 1, 1, 0>, spmm_roma_kernel<V, 1, 1, 1>}},
    };
    return KERNELS[roma][prescale][residue];
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    static spmm_kernel *(*const KERNEL[])(int, int, int) = {kernel<1>, kernel<2>, kernel<4>,
                                                            kernel<8>};
    const spmm_matrix &A = plan->A;
    const int *tuning = plan->tuning, v = tuning[TUNE_VECTORS], width = WARP_SIZE * v;
    const product p = {.rows = A.rows,
                       .nnz = A.nnz,
                       .N = plan->N,
                       .stride = (unsigned)(plan->N * sizeof(float)),
                       .row_order = plan->d_row_order,
                       .row_ptr = A.d_row_ptr,
                       .col_idx = A.d_col_idx,
                       .values = A.d_values,
                       .B = B,
                       .C = C,
                       .epilogue = plan->epilogue};
    if (A.rows == 0) return cudaSuccess;
    const dim3 grid((A.rows + WARPS - 1) / WARPS, (plan->N + width - 1) / width);
    spmm_kernel *const spmm_roma =
        KERNEL[v < 8 ? v / 2 : 3](tuning[TUNE_ROMA], tuning[TUNE_PRESCALE], tuning[TUNE_RESIDUE]);
    spmm_roma<<<grid, BLOCK, 0, stream>>>(p);
    return cudaGetLastError();
}

static cudaError_t prepare(spmm_plan *plan)
{
    int &v = plan->tuning[TUNE_VECTORS];
    if (v > 4 && plan->N % (WARP_SIZE * v)) v = 4; /* of two loads a lane, both must have columns */
    while (plan->N % min(v, 4))                    /* a vector must not straddle two rows of B */
        v /= 2;
    if (!byte_offsets_fit(plan->A.cols, plan->N, sizeof(float))) plan->tuning[TUNE_PRESCALE] = 0;
    return cudaSuccess;
}

/* The widest that suit N, unless half as many columns a lane cover it with one warp as well. */
static void choose(const row_stats *stats, int N, int *tuning)
{
    (void)stats;
    int v = N % 2 ? 1 : N % 4 ? 2 : N % (8 * WARP_SIZE) ? 4 : 8;
    while (v > 1 && WARP_SIZE * v / 2 >= N)
        v /= 2;
    tuning[TUNE_VECTORS] = v;
    tuning[TUNE_ROMA] = tuning[TUNE_PRESCALE] = tuning[TUNE_RESIDUE] = 1;
}

static spmm_contender lab6 = {
    .base =
        {
            .lab = 6,
            .after = 4,
            .name = "roma",
            .summary = "wide loads of A, B and C, at any alignment; offsets scaled once",
            .tunables =
                {
                    {"VECTORS", "columns a lane, in loads of up to 16 bytes", {1, 2, 4, 8}, 4, 4},
                    {"ROMA", "1: 16-byte loads of A, from an aligned place", {0, 1}, 2, 1},
                    {"PRESCALE", "1: columns are staged as byte offsets into B", {0, 1}, 2, 1},
                    {"RESIDUE", "1: the residue is padded and unrolled", {0, 1}, 2, 1},
                },
        },
    .choose = choose,
    .estimate = roma_estimate,
    .prepare = prepare,
    .run = run,
    .applies_epilogue = true,
    .update_values = spmm_nested_update_values, /* nothing is nested: it reads A's values */
    .format_bytes = spmm_csr_bytes,
};
SPMM_REGISTER(lab6)
