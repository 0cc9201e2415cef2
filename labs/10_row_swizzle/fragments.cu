/*
 * fragments.cu - the product on tensor cores: blocks, how many stages, and how sums come together.
 */
#include "fragments_fetch.cuh"
#include "fragments_sums.cuh"
#include "last_block.cuh"

#include <algorithm>

/* Strips that a warp multiplies by the same B. */
__host__ __device__ constexpr int strips_per_warp(int panel_rows, int width)
{
    return panel_rows == STRIP ? 1 : panel_rows == 128 && width == BAND ? 4 : 2;
}

/* Floats from one row of a block's sums to the next: four rows, two apart, and eight columns are stored at
 * once, to all banks. */
__host__ __device__ constexpr int sums_pitch(int width)
{
    return width + 4;
}

/* Of a stage: rows of B, lines of A in whole rounds, and the map of a later chunk. */
template <class T> static int stage_units(const row_fragments<T> *a)
{
    const int rounds = (a->stage_lines + ROUND_LINES - 1) / ROUND_LINES;
    return tile_units<T>(a->shape.width) + rounds * WARP_SIZE + MAP_UNITS<T>;
}

/* Four at most, and as many as leave an SM room for two blocks; two are needed. */
template <class T> int fragments_stages(const row_fragments<T> *a, size_t shared_limit)
{
    constexpr size_t SYSTEM = 1024; /* bytes of each block that are not its own */
    const size_t half = (shared_limit + SYSTEM) / 2 - SYSTEM;
    return (int)std::clamp<size_t>(half / (sizeof(float4) * stage_units(a)), 2, 4);
}

template <class T> size_t fragments_shared_bytes(const row_fragments<T> *a)
{
    const size_t stages = a->stages * sizeof(float4) * (size_t)stage_units(a);
    const size_t parts = sizeof(float) * WARPS *
                         strips_per_warp(a->shape.panel_rows, a->shape.width) * STRIP *
                         sums_pitch(a->shape.width); /* in the end */
    return std::max(stages, parts);
}

/* One block: a panel of rows, or a share of its chunks, times WIDTH columns of B. S strips a warp. */
template <int S, int WIDTH, int V, class T>
static __device__ __forceinline__ void multiply_panel(const fragment_product<T> &p, float4 *stages)
{
    constexpr int BANDS = WIDTH / BAND;
    const int ahead = p.a.stages - 1; /* chunks on their way */
    const int panel = blockIdx.x / p.slices, column = blockIdx.x % p.slices * WIDTH;
    const int ways = WARPS * STRIP * S / p.a.shape.panel_rows; /* warps that share their strips */
    const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    const int way = warp % ways, first_strip = warp / ways * S;
    /* This warp's fragments of a chunk: so many, from this one on. They are in one mask word. */
    const int fragments = CHUNK_FRAGMENTS / ways, first = way * fragments;
    float sum[BANDS][S][TILES][HALVES][4] = {};

    /* This block's share, which may be empty. */
    const int splits = p.a.shape.splits, split = blockIdx.y;
    const int begin = p.a.d_panel_chunk[panel], chunks = p.a.d_panel_chunk[panel + 1] - begin;
    const int end = begin + chunks * (split + 1) / splits;
    int chunk = begin + chunks * split / splits;
    for (int i = 0; i < ahead; i++) {
        float4 *const stage = stages + i * p.stage;
        if (chunk + i < end) fetch<WIDTH, V>(p, column, &p.a.d_map[chunk + i], stage);
        fetch_map(p, min(chunk + i + ahead, end), stage);
        async_commit();
    }
    for (int current = 0; chunk < end; chunk++) {
        wait_for_stage(ahead);
        __syncthreads(); /* this stage has arrived, and nobody works on the one before any more */
        float4 *const stage = stages + current * p.stage;
        float4 *const free = stages + (current ? current - 1 : ahead) * p.stage;
        if (chunk + ahead < end) fetch<WIDTH, V>(p, column, map_of(p, stage), free);
        fetch_map(p, min(chunk + 2 * ahead, end), free);
        async_commit();
        current = current < ahead ? current + 1 : 0;

        multiply_chunk<T, S, WIDTH>(stage, first_strip, first, fragments, sum);
    }

    /* The warps of a strip meet in shared memory: [way][row of the panel][column]. Element e of lane
     * (g, t): row 2 t + e % 2 of the half; two elements apart are two columns of it. */
    constexpr int ROW = sums_pitch(WIDTH);
    float *const parts = reinterpret_cast<float *>(stages);
    float *const own =
        &parts[(way * p.a.shape.panel_rows + first_strip * STRIP + lane % 4 * 2) * ROW];
    async_wait<0>();
    __syncthreads(); /* nobody needs the stages any more */
#pragma unroll
    for (int band = 0; band < BANDS; band++)
#pragma unroll
        for (int s = 0; s < S; s++)
#pragma unroll
            for (int j = 0; j < TILES; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const float x[2] = {sum[band][s][j][e / 2][e % 2],
                                        sum[band][s][j][e / 2][2 + e % 2]};
                    operands<T>::store_sums(
                        &own[(s * STRIP + e / 2 * 8 + e % 2) * ROW + band * BAND + 16 * j], lane,
                        x);
                }
    __syncthreads();
    const int fours = p.a.shape.panel_rows * (WIDTH / 4);
    float4 *const partial =
        reinterpret_cast<float4 *>(p.a.d_partial) + (size_t)blockIdx.x * splits * fours;
    for (int i = threadIdx.x; i < fours; i += BLOCK) {
        const int row = i / (WIDTH / 4), c = i % (WIDTH / 4) * 4;
        float total[4] = {};
#pragma unroll 1 /* eight at most, and once: unrolling would only make the code longer */
        for (int w = 0; w < ways; w++) {
            float x[4];
            load_vector_plain(x, &parts[(w * p.a.shape.panel_rows + row) * ROW + c]);
            for (int k = 0; k < 4; k++)
                total[k] += x[k];
        }
        if (splits == 1)
            store_four<WIDTH, V>(p, panel, column, i, total);
        else
            partial[split * fours + i] = make_float4(total[0], total[1], total[2], total[3]);
    }
    if (splits > 1 && comes_last(&p.a.d_arrived[blockIdx.x], splits))
        add_splits<WIDTH, V>(p, panel, column, partial);
}

/* A warp for a row with fewer than SHORT_ROW nonzeros. */
template <class T>
static __device__ __forceinline__ void multiply_short_row(const fragment_product<T> &p,
                                                          int position)
{
    if (position >= p.rows) return;
    const int row = p.a.d_order[position];
    const int begin = p.row_ptr[row], end = p.row_ptr[row + 1];
    for (int j = threadIdx.x % WARP_SIZE; j < p.N; j += WARP_SIZE) {
        float sum = 0;
        for (int k = begin; k < end; k++)
            sum += widen(p.values[k]) * widen(p.B[(size_t)p.col_idx[k] * p.N + j]);
        p.C[(size_t)row * p.N + j] = narrow<T>(sum);
    }
}

template <int S, int WIDTH, int V, class T>
static __global__ void __launch_bounds__(BLOCK, S == 1 ? 3 : 2)
    spmm_fragments_kernel(const __grid_constant__ fragment_product<T> p)
{
    extern __shared__ float4 stages[];
    const int short_block = (int)blockIdx.x - p.a.panels * p.slices;
    if (SHORT_ROW<T> == 0 || short_block < 0) {
        multiply_panel<S, WIDTH, V>(p, stages);
    } else {
        const int before = (short_block * p.a.shape.splits + blockIdx.y) * WARPS; /* short rows */
        multiply_short_row(p, p.a.long_rows + before + (int)threadIdx.x / WARP_SIZE);
    }
}

template <class T> using fragments_kernel = void(fragment_product<T>);

/* V: neighbours of a row of B that are copied at once. */
template <int V, class T> static fragments_kernel<T> *pick(const row_fragments<T> *a)
{
    const int strips = strips_per_warp(a->shape.panel_rows, a->shape.width);
    if (a->shape.width == 2 * BAND) return spmm_fragments_kernel<2, 2 * BAND, V, T>;
    return strips == 1   ? spmm_fragments_kernel<1, BAND, V, T>
           : strips == 2 ? spmm_fragments_kernel<2, BAND, V, T>
                         : spmm_fragments_kernel<4, BAND, V, T>;
}

template <class T> static fragments_kernel<T> *pick(const row_fragments<T> *a, int N)
{
    constexpr int MOST = 16 / sizeof(T), LEAST = PER_WORD<T>;
    return N % MOST ? pick<LEAST>(a) : pick<MOST>(a);
}

template <class T>
cudaError_t fragments_allow_shared(const row_fragments<T> *fragments, int N, size_t bytes)
{
    return cudaFuncSetAttribute(pick(fragments, N), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)bytes);
}

template <class T>
cudaError_t fragments_run(const row_fragments<T> *fragments, const spmm_plan *plan, const T *B,
                          T *C, cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    if (A.rows == 0) return cudaSuccess;
    const fragment_product<T> p = {.N = plan->N,
                                   .slices = (plan->N + fragments->shape.width - 1) /
                                             fragments->shape.width,
                                   .rows = A.rows,
                                   .row_bytes = plan->N * (unsigned)sizeof(T),
                                   .stage = stage_units(fragments),
                                   .a = *fragments,
                                   .row_ptr = A.d_row_ptr,
                                   .col_idx = A.d_col_idx,
                                   .values = values_of<T>(A),
                                   .B = B,
                                   .C = C};
    const int splits = fragments->shape.splits, short_rows = A.rows - fragments->long_rows;
    const int short_blocks = (short_rows + WARPS * splits - 1) / (WARPS * splits);
    const dim3 grid(fragments->panels * p.slices + short_blocks, splits);
    fragments_kernel<T> *const kernel = pick(fragments, p.N);
    kernel<<<grid, BLOCK, fragments_shared_bytes(fragments), stream>>>(p);
    return cudaGetLastError();
}

#define INSTANTIATE(T)                                                                            \
    template int fragments_stages<T>(const row_fragments<T> *, size_t);                           \
    template size_t fragments_shared_bytes<T>(const row_fragments<T> *);                          \
    template cudaError_t fragments_allow_shared<T>(const row_fragments<T> *, int, size_t);        \
    template cudaError_t fragments_run<T>(const row_fragments<T> *, const spmm_plan *, const T *, \
                                          T *, cudaStream_t);
INSTANTIATE(float)
INSTANTIATE(__half)
INSTANTIATE(__nv_bfloat16)
