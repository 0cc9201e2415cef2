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
#include "device/occupancy.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "ops/spmm.h"

constexpr int WARPS = 4, BLOCK = WARPS * WARP_SIZE;
constexpr int A_VECTOR = 4;                /* nonzeros of a load: 16 bytes of columns or of values */
constexpr int TILE = WARP_SIZE * A_VECTOR; /* nonzeros staged between two barriers */
constexpr int MAX_STRIPS = 65535;          /* blocks a grid may have in y */

/* Positions in spmm_plan.tuning. */
enum { TUNE_VECTORS, TUNE_ROMA, TUNE_PRESCALE, TUNE_RESIDUE };

struct product {
    int rows, nnz, N;
    bool roma, residue;
    const int *__restrict__ row_order, *__restrict__ row_ptr, *__restrict__ col_idx;
    const float *__restrict__ values, *__restrict__ B;
    float *__restrict__ C;
};

/* A lane computes V columns, PARTS vectors of WIDE, and has IN_FLIGHT nonzeros on their way. */
template <int V> struct shape {
    static constexpr int WIDE = V < 4 ? V : 4, PARTS = V / WIDE, IN_FLIGHT = V < 4 ? 8 : 4;
    /* 48 resident warps, 40 registers a thread; 32 and 64 for the 8 sums and 32 floats of V = 8. */
    static constexpr int BLOCKS = THREADS_PER_SM / BLOCK * (V > 4 ? 2 : 3) / 4;
};

/* Stages nonzeros at .. at+TILE-1; those outside start .. end-1 as NO_OFFSET. */
template <bool PRESCALE>
static __device__ void stage(const product &p, int at, int start, int end, unsigned *tile_col,
                             float *tile_value)
{
    const int lane = threadIdx.x % WARP_SIZE;
    const unsigned scale = PRESCALE ? p.N * sizeof(float) : 1;
    /* BEGIN STUDENT */
    if (p.roma) {
        const int i = lane * A_VECTOR, k = at + i; /* k is a multiple of A_VECTOR */
        int col[A_VECTOR] = {};
        unsigned offset[A_VECTOR];
        float value[A_VECTOR] = {};
        if (k < end && k + A_VECTOR <= p.nnz) {
            load_vector(col, &p.col_idx[k]);
            load_vector(value, &p.values[k]);
        } else { /* nothing, or the end of the arrays, where there may be no whole vector */
            for (int u = 0; u < A_VECTOR; u++)
                if (k + u < end) col[u] = p.col_idx[k + u], value[u] = p.values[k + u];
        }
#pragma unroll
        for (int u = 0; u < A_VECTOR; u++)
            offset[u] = start <= k + u && k + u < end ? col[u] * scale : NO_OFFSET;
        store_vector(&tile_col[i], offset);
        store_vector(&tile_value[i], value);
    } else {
#pragma unroll
        for (int i = lane; i < TILE; i += WARP_SIZE) {
            const bool live = at + i < end;
            tile_col[i] = live ? p.col_idx[at + i] * scale : NO_OFFSET;
            tile_value[i] = live ? p.values[at + i] : 0;
        }
    }
    /* END STUDENT */
}

/* Adds COUNT staged nonzeros times this lane's columns of B, all loads on their way at once. */
template <int COUNT, bool PRESCALE, int PARTS, int WIDE>
static __device__ void multiply(const product &p, const unsigned *tile_col, const float *tile_value,
                                const unsigned (&column)[PARTS], float (&sum)[PARTS][WIDE])
{
    constexpr int READ = COUNT < 4 ? COUNT : 4; /* places of a tile that one load brings */
    unsigned col[COUNT / READ][READ];
    float value[COUNT / READ][READ], b[COUNT][PARTS][WIDE];
    /* BEGIN STUDENT */
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        if (u % READ == 0) load_vector_plain(col[u / READ], &tile_col[u]);
        const unsigned c = col[u / READ][u % READ];
        if (c == NO_OFFSET) continue;
#pragma unroll
        for (int i = 0; i < PARTS; i++)
            load_vector(b[u][i],
                        PRESCALE ? byte_offset(p.B, c + column[i] * (unsigned)sizeof(float))
                                 : &p.B[(size_t)c * p.N + column[i]]);
    }
#pragma unroll
    for (int u = 0; u < COUNT; u++) {
        if (u % READ == 0) load_vector_plain(value[u / READ], &tile_value[u]);
        if (col[u / READ][u % READ] == NO_OFFSET) continue; /* it loaded nothing: skip, not * 0 */
#pragma unroll
        for (int i = 0; i < PARTS; i++)
#pragma unroll
            for (int c = 0; c < WIDE; c++)
                sum[i][c] += value[u / READ][u % READ] * b[u][i][c];
    }
    /* END STUDENT */
}

template <int V, bool PRESCALE>
static __global__ void __launch_bounds__(BLOCK, shape<V>::BLOCKS)
    spmm_roma_kernel(const __grid_constant__ product p, int first_strip)
{
    constexpr int WIDE = shape<V>::WIDE, PARTS = shape<V>::PARTS, IN_FLIGHT = shape<V>::IN_FLIGHT;
    __shared__ __align__(16) unsigned tile_cols[WARPS][TILE];
    __shared__ __align__(16) float tile_values[WARPS][TILE];
    const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    const int place = blockIdx.x * WARPS + warp;
    const int j = ((first_strip + blockIdx.y) * WARP_SIZE * PARTS + lane) * WIDE;
    unsigned *const tile_col = tile_cols[warp];
    float *const tile_value = tile_values[warp];
    if (place >= p.rows) return;
    const int row = p.row_order ? p.row_order[place] : place;
    const int start = p.row_ptr[row], end = p.row_ptr[row + 1];
    /* BEGIN STUDENT */
    unsigned column[PARTS]; /* lanes beyond N load what the last one does */
#pragma unroll
    for (int i = 0; i < PARTS; i++)
        column[i] = min(j + i * WARP_SIZE * WIDE, p.N - WIDE);
    float sum[PARTS][WIDE] = {};
    const int aligned = start < end && p.roma ? start & -A_VECTOR : start;
    for (int at = aligned; at < end; at += TILE) {
        const int count = min(TILE, end - at), more = p.residue ? IN_FLIGHT - 1 : 0;
        const int unrolled = (count + more) / IN_FLIGHT * IN_FLIGHT;
        stage<PRESCALE>(p, at, start, end, tile_col, tile_value);
        __syncwarp();
        int k = 0;
#pragma unroll 1
        for (; k < unrolled; k += IN_FLIGHT)
            multiply<IN_FLIGHT, PRESCALE>(p, tile_col + k, tile_value + k, column, sum);
#pragma unroll 1
        for (; k < count; k++) /* the residue one by one, where it is not unrolled */
            multiply<1, PRESCALE>(p, tile_col + k, tile_value + k, column, sum);
        __syncwarp();
    }
#pragma unroll
    for (int i = 0; i < PARTS; i++)
        if (j + i * WARP_SIZE * WIDE < p.N)
            store_vector(&p.C[(size_t)row * p.N + j + i * WARP_SIZE * WIDE], sum[i]);
    /* END STUDENT */
}

typedef void spmm_kernel(product, int);

static spmm_kernel *kernel(int vectors, int prescale)
{
    static spmm_kernel *const KERNELS[4][2] = {
        {spmm_roma_kernel<1, false>, spmm_roma_kernel<1, true>},
        {spmm_roma_kernel<2, false>, spmm_roma_kernel<2, true>},
        {spmm_roma_kernel<4, false>, spmm_roma_kernel<4, true>},
        {spmm_roma_kernel<8, false>, spmm_roma_kernel<8, true>},
    };
    return KERNELS[vectors < 8 ? vectors / 2 : 3][prescale];
}

static cudaError_t run(const spmm_plan *plan, const float *B, float *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const int *tuning = plan->tuning, width = WARP_SIZE * tuning[TUNE_VECTORS];
    const int strips = (plan->N + width - 1) / width;
    const product p = {.rows = A.rows,
                       .nnz = A.nnz,
                       .N = plan->N,
                       .roma = tuning[TUNE_ROMA] != 0,
                       .residue = tuning[TUNE_RESIDUE] != 0,
                       .row_order = plan->d_row_order,
                       .row_ptr = A.d_row_ptr,
                       .col_idx = A.d_col_idx,
                       .values = A.d_values,
                       .B = B,
                       .C = C};
    if (A.rows == 0) return cudaSuccess;
    for (int first = 0; first < strips; first += MAX_STRIPS) {
        const dim3 grid((A.rows + WARPS - 1) / WARPS, min(strips - first, MAX_STRIPS));
        spmm_kernel *const spmm_roma = kernel(tuning[TUNE_VECTORS], tuning[TUNE_PRESCALE]);
        spmm_roma<<<grid, BLOCK, 0, stream>>>(p, first);
    }
    return cudaGetLastError();
}

static cudaError_t prepare(spmm_plan *plan)
{
    int &v = plan->tuning[TUNE_VECTORS];
    while (plan->N % min(v, 4)) /* a vector must not straddle two rows of B */
        v /= 2;
    if (!byte_offsets_fit(plan->A.cols, plan->N, sizeof(float))) plan->tuning[TUNE_PRESCALE] = 0;
    return cudaSuccess;
}

/* The widest vectors that divide N, unless half as wide ones cover it with one warp as well. */
static void choose(const row_stats *stats, int N, int *tuning)
{
    (void)stats;
    int v = N % 2 ? 1 : N % 4 ? 2 : 8;
    while (v > 1 && WARP_SIZE * v / 2 >= N)
        v /= 2;
    tuning[TUNE_VECTORS] = v;
    tuning[TUNE_ROMA] = tuning[TUNE_PRESCALE] = tuning[TUNE_RESIDUE] = 1;
}

static spmm_contender lab6 = {
    .base =
        {
            .lab = 6,
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
    .prepare = prepare,
    .run = run,
};
SPMM_REGISTER(lab6)
