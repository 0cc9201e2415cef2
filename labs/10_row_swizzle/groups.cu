/*
 * groups.cu - the product with row groups.
 */
#include "groups.h"

#include "device/async_copy.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "groups_layout.h"

/* What the kernel is given. */
struct group_product {
    int rows, cols, N, slices, tile_rows, ways;
    int stage; /* what a tile of B and the lists that go with it take at most */
    const int *__restrict__ panel_visit;
    const int2 *__restrict__ visit;
    const float4 *__restrict__ lists;
    const int *__restrict__ row_order;
    const float *__restrict__ B;
    float *__restrict__ C;
};

/* Starts bringing a tile of B, `width` columns from `column` on, and the lists that begin at `at.y`
 * and end at `end` into shared memory. FLOATS: 4, or 1 where N is no multiple of 4. */
template <int WIDTH, int FLOATS>
static __device__ __forceinline__ void fetch(const group_product &p, int column, int2 at, int end,
                                             float4 *stage)
{
    constexpr int PIECES = WIDTH / FLOATS; /* of a row */
    const int first = at.x * p.tile_rows, count = min(p.tile_rows, p.cols - first);
    const int piece = threadIdx.x % PIECES, j = column + piece * FLOATS;
    const bool inside = j < p.N; /* columns beyond N become zero */
    const float *from = p.B + (inside ? (size_t)first * p.N + j : 0);
    float *const tile = reinterpret_cast<float *>(stage);
    const int step = blockDim.x / PIECES;
    for (int k = threadIdx.x / PIECES; k < count; k += step)
        async_copy_zfill<4 * FLOATS>(&tile[k * WIDTH + piece * FLOATS],
                                     inside ? from + (size_t)k * p.N : p.B,
                                     inside ? 4 * FLOATS : 0);
    float4 *const lists = stage + p.tile_rows * (WIDTH / 4);
    for (int i = at.y + threadIdx.x; i < end; i += blockDim.x)
        async_copy<16>(&lists[i - at.y], &p.lists[i]);
}

/* Adds up what the shares of a warp have, so that each has all of it. */
template <int LANES, int G, int R, int C>
static __device__ __forceinline__ void add_shares(float (&sum)[G][R][C], bool flip)
{
#pragma unroll
    for (int g = 0; g < G; g++)
#pragma unroll
        for (int r = 0; r < R; r++)
#pragma unroll
            for (int c = 0; c < C; c++) {
                if (LANES == 4 && c % 8 == 0)
#pragma unroll
                    for (int k = c; k < c + 4; k++) {
                        const float low = sum[g][r][k], high = sum[g][r][k + 4];
                        sum[g][r][k] = flip ? high : low;
                        sum[g][r][k + 4] = flip ? low : high;
                    }
#pragma unroll
                for (int distance = LANES; distance < WARP_SIZE; distance *= 2)
                    sum[g][r][c] += __shfl_xor_sync(FULL_MASK, sum[g][r][c], distance);
            }
}

/* Columns j .. j+3 of the row at this position of the order, as far as there are such. */
template <int FLOATS>
static __device__ __forceinline__ void store(const group_product &p, int position, int j,
                                             const float *x)
{
    if (position >= p.rows || j >= p.N) return;
    const int row = p.row_order ? p.row_order[position] : position;
    float *const out = p.C + (size_t)row * p.N + j;
    if constexpr (FLOATS == 4) {
        store_vector_streaming(out, reinterpret_cast<const float(&)[4]>(*x));
    } else {
        for (int c = 0; c < 4; c++)
            if (j + c < p.N) out[c] = x[c];
    }
}

/* One block: a panel of rows times WIDTH columns of B. LANES lanes with C columns each cover the
 * width. The 32 / LANES shares of a warp, and the `ways` warps of a group, take its columns in
 * turns. */
template <int R, int LANES, int C, int FLOATS>
static __global__ void __launch_bounds__(MAX_WARPS *WARP_SIZE, resident_blocks(R, C))
    spmm_groups_kernel(const __grid_constant__ group_product p)
{
    constexpr int WIDTH = LANES * C, SHARES = WARP_SIZE / LANES, G = groups_per_warp(R);
    constexpr int QUADS = C / 4, V = R < 4 ? R : 4;
    extern __shared__ float4 stages[];
    const int panel = blockIdx.x / p.slices, column = blockIdx.x % p.slices * WIDTH;
    const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % LANES;
    const int share = threadIdx.x % WARP_SIZE / LANES;
    const int unit = warp / p.ways, way = warp % p.ways; /* whose groups, and which part of them */
    const int groups = blockDim.x / WARP_SIZE / p.ways * G;
    /* Eight lanes are served in one pass. Where they are two shares, which read two rows of the
     * tile, one takes its quads of 16 banks in the other order. */
    const int flip = LANES == 4 ? share % 2 : 0;
    const int step = SHARES * p.ways;
    float sum[G][R][C] = {};

    int visit = p.panel_visit[panel];
    const int end = p.panel_visit[panel + 1];
    if (visit < end) fetch<WIDTH, FLOATS>(p, column, p.visit[visit], p.visit[visit + 1].y, stages);
    async_commit();
    /* Descriptors are read a visit before they are needed. */
    int2 next = p.visit[min(visit + 1, end)], after = p.visit[min(visit + 2, end)];
    for (int buffer = 0; visit < end; visit++, buffer ^= 1) {
        async_wait<0>();
        __syncthreads(); /* this stage has arrived, and nobody works on the other one any more */
        if (visit + 1 < end)
            fetch<WIDTH, FLOATS>(p, column, next, after.y, stages + (buffer ^ 1) * p.stage);
        async_commit();
        next = after;
        after = p.visit[min(visit + 3, end)];

        const float4 *const stage = stages + buffer * p.stage;
        const float4 *const lists = stage + p.tile_rows * (WIDTH / 4);
        const char *const tile = reinterpret_cast<const char *>(stage + lane);
        const int *const heads = reinterpret_cast<const int *>(lists);
        const int *const places = heads + 4 * head_units(groups);
        const float *const values =
            reinterpret_cast<const float *>(lists + value_units(groups, heads[groups]));
#pragma unroll
        for (int g = 0; g < G; g++) {
            const int last = heads[unit * G + g + 1];
#pragma unroll 2
            for (int i = heads[unit * G + g] + way * SHARES + share; i < last; i += step) {
                const char *const from = tile + places[i];
                float b[QUADS][4], value[R];
#pragma unroll
                for (int q = 0; q < QUADS; q++)
                    load_vector_plain(b[q], reinterpret_cast<const float *>(
                                                from + (q ^ flip) * LANES * sizeof(float4)));
#pragma unroll
                for (int r = 0; r < R; r += V)
                    load_vector_plain(reinterpret_cast<float(&)[V]>(value[r]), values + i * R + r);
#pragma unroll
                for (int r = 0; r < R; r++)
#pragma unroll
                    for (int c = 0; c < C; c++)
                        sum[g][r][c] += value[r] * b[c / 4][c % 4];
            }
        }
    }

    add_shares<LANES>(sum, flip);
    const int first_row = unit * G * R;
    if (p.ways == 1) {
#pragma unroll
        for (int row = 0; row < G * R; row++)
            if (row % SHARES == share)
#pragma unroll
                for (int q = 0; q < QUADS; q++)
                    store<FLOATS>(p, panel * groups * R + first_row + row,
                                  column + (q * LANES + lane) * 4, &sum[row / R][row % R][4 * q]);
        return;
    }
    /* The warps of a group meet in shared memory: [row of the panel][way][column]. */
    float *const parts = reinterpret_cast<float *>(stages);
    __syncthreads(); /* nobody needs the stages any more */
#pragma unroll
    for (int row = 0; row < G * R; row++)
        if (row % SHARES == share)
#pragma unroll
            for (int q = 0; q < QUADS; q++)
                store_vector(
                    &parts[((first_row + row) * p.ways + way) * WIDTH + (q * LANES + lane) * 4],
                    reinterpret_cast<float(&)[4]>(sum[row / R][row % R][4 * q]));
    __syncthreads();
    for (int i = threadIdx.x; i < groups * R * (WIDTH / 4); i += blockDim.x) {
        const int row = i / (WIDTH / 4), j = i % (WIDTH / 4) * 4;
        float total[4] = {};
#pragma unroll 1 /* four at most, and once: unrolling would only make the code longer */
        for (int w = 0; w < p.ways; w++) {
            float part[4];
            load_vector_plain(part, &parts[(row * p.ways + w) * WIDTH + j]);
            for (int c = 0; c < 4; c++)
                total[c] += part[c];
        }
        store<FLOATS>(p, panel * groups * R + row, column + j, total);
    }
}

typedef void groups_kernel(group_product);

template <int R, int LANES, int C> static groups_kernel *pick(int N)
{
    if constexpr (C == 8)
        if (N % 4) return spmm_groups_kernel<R, LANES, C, 1>;
    return spmm_groups_kernel<R, LANES, C, 4>;
}

template <int R> static groups_kernel *pick(const groups_shape &s, int N)
{
    if constexpr (R < 8) { /* more than 64 sums a lane leave no room for anything else */
        if (s.C == 16 && s.width == 64) return pick<R, 4, 16>(N);
        if (s.C == 16 && s.width == 128) return pick<R, 8, 16>(N);
    }
    if (s.width == 32) return pick<R, 4, 8>(N);
    if (s.width == 64) return pick<R, 8, 8>(N);
    return pick<R, 16, 8>(N);
}

static groups_kernel *pick(const groups_shape &s, int N)
{
    return s.R == 2 ? pick<2>(s, N) : s.R == 4 ? pick<4>(s, N) : pick<8>(s, N);
}

cudaError_t groups_run(const row_groups *groups, const spmm_plan *plan, const float *B, float *C,
                       cudaStream_t stream)
{
    const spmm_matrix &A = plan->A;
    const groups_shape &shape = groups->shape;
    if (A.rows == 0) return cudaSuccess;
    const group_product p = {.rows = A.rows,
                             .cols = A.cols,
                             .N = plan->N,
                             .slices = (plan->N + shape.width - 1) / shape.width,
                             .tile_rows = shape.tile_rows,
                             .ways = shape.ways,
                             .stage = groups->stage,
                             .panel_visit = groups->d_panel_visit,
                             .visit = groups->d_visit,
                             .lists = groups->d_lists,
                             .row_order = plan->d_row_order,
                             .B = B,
                             .C = C};
    groups_kernel *const kernel = pick(shape, p.N);
    kernel<<<groups->panels * p.slices, shape.warps * WARP_SIZE,
             groups_shared_bytes(groups->shape, groups->stage), stream>>>(p);
    return cudaGetLastError();
}

cudaError_t groups_allow_shared(const groups_shape *shape, int N, int bytes)
{
    return cudaFuncSetAttribute(pick(*shape, N), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                bytes);
}
