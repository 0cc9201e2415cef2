/*
 * product_mma.cu - products of rows by mma.sync: 128 x 128 numbers a thread block, three steps of asynchronous copies in flight.
 */
#include "tiles.cuh"

#include "device/async_copy.cuh"
#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/mma.cuh"

constexpr int ROWS = 128, PARTS = TILE_ROWS / ROWS, COLUMNS = 128, THREADS = 256, STAGES = 3;
constexpr int STAGE = (ROWS + COLUMNS) * DEEP; /* numbers */
constexpr int BYTES = STAGES * STAGE * 2, PITCH = COLUMNS + 8;
static_assert(ROWS * PITCH <= STAGES * STAGE, "the result takes the ring's place");

/* Arguments of the kernel. */
struct work {
    product p;
    int stripes;
};

/* Starts the copies of step `s`: 64 numbers of each row, then two squares of W, columns 0 to 63 and the others. What lies
 * outside becomes 0. */
static __device__ __forceinline__ void fetch(const product &p, const job &j, int s, __half *stage)
{
    const __half *const rows = (const __half *)p.rows + (size_t)j.rows.row * p.deep + s * DEEP;
    const __half *const W =
        (const __half *)p.W + ((size_t)j.rows.expert * p.deep + s * DEEP) * p.outs;
    for (int i = threadIdx.x; i < ROWS * DEEP / 8; i += THREADS) {
        const int r = i / 8, c = i % 8;
        const bool is_there = r < j.rows.rows;
        async_copy_zfill<16>(stage + place(r, c),
                             rows + (size_t)(is_there ? r : 0) * p.deep + 8 * c, is_there ? 16 : 0);
    }
    stage += ROWS * DEEP;
    for (int i = threadIdx.x; i < DEEP * COLUMNS / 8; i += THREADS) {
        const int r = i / (COLUMNS / 8), c = i % (COLUMNS / 8), column = j.column + 8 * c;
        const bool is_there = column < p.outs;
        async_copy_zfill<16>(stage + c / 8 * DEEP * DEEP + place(r, c % 8),
                             W + (size_t)r * p.outs + (is_there ? column : 0), is_there ? 16 : 0);
    }
}

/* sum += one step's product, for the warp's 64 rows and 32 columns. */
static __device__ __forceinline__ void multiply_add(const __half *stage, int row, int column,
                                                    float (&sum)[4][4][4])
{
    const int lane = lane_id();
    const __half *const W = stage + ROWS * DEEP + column / 64 * DEEP * DEEP;
#pragma unroll
    for (int k = 0; k < DEEP / 16; k++) {
        uint32_t x[4][4];
#pragma unroll
        for (int m = 0; m < 4; m++)
            ldmatrix_x4(x[m], stage + place(row + 16 * m + lane % 16, 2 * k + lane / 16));
#pragma unroll
        for (int n = 0; n < 2; n++) {
            uint32_t w[4]; /* depths 0 to 7 and 8 to 15 of 8 columns, then of the next 8 */
            ldmatrix_x4_trans(w,
                              W + place(16 * k + lane % 16, column % 64 / 8 + 2 * n + lane / 16));
#pragma unroll
            for (int m = 0; m < 4; m++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const uint32_t b[2] = {w[2 * h], w[2 * h + 1]};
                    mma_m16n8k16<__half>(sum[m][2 * n + h], x[m], b);
                }
        }
    }
}

/* Stores a tile, through shared memory, so that 16 lanes write 256 bytes of a row. */
static __device__ __forceinline__ void store(const product &p, const job &j, __half *tile, int row,
                                             int column, const float (&sum)[4][4][4])
{
    const int r0 = row + lane_id() / 4, c0 = column + lane_id() % 4 * 2;
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float *const s = &sum[m][n][2 * h];
                const __half x[2] = {finish(s[0], p.relu), finish(s[1], p.relu)};
                store_vector(tile + (r0 + 16 * m + 8 * h) * PITCH + c0 + 8 * n, x);
            }
    __syncthreads();
    for (int i = threadIdx.x; i < ROWS * COLUMNS / 8; i += THREADS) {
        const int r = i / (COLUMNS / 8), c = i % (COLUMNS / 8) * 8;
        __half x[8];
        if (r >= j.rows.rows || j.column + c >= p.outs) continue;
        load_vector_plain(x, tile + r * PITCH + c);
        store_vector((__half *)p.out + (size_t)(j.rows.row + r) * p.outs + j.column + c, x);
    }
}

static __global__ void __launch_bounds__(THREADS, 2) product_mma_kernel(const work w)
{
    extern __shared__ __align__(16) unsigned char shared[];
    __half *const stages = (__half *)shared;
    const int row = warp_id() % 2 * 64, column = warp_id() / 2 * 32;
    const int jobs = *w.p.tiles * w.stripes * PARTS, steps = w.p.deep / DEEP;
    for (int i = blockIdx.x; i < jobs; i += gridDim.x) {
        job j = job_at(w.p.tile, w.stripes, COLUMNS, i / PARTS);
        j.rows.row += i % PARTS * ROWS;
        j.rows.rows = min(j.rows.rows - i % PARTS * ROWS, ROWS);
        if (j.rows.rows <= 0) continue;
        float sum[4][4][4] = {};
        for (int s = 0; s < STAGES - 1; s++) {
            if (s < steps) fetch(w.p, j, s, stages + s * STAGE);
            async_commit(); /* an empty group keeps the count right */
        }
        for (int s = 0; s < steps; s++) {
            async_wait<STAGES - 2>();
            __syncthreads();
            const int ahead = s + STAGES - 1;
            if (ahead < steps) fetch(w.p, j, ahead, stages + ahead % STAGES * STAGE);
            async_commit();
            /* Rows of the upper half may all be another expert's. */
            if (row < j.rows.rows) multiply_add(stages + s % STAGES * STAGE, row, column, sum);
        }
        async_wait<0>();
        __syncthreads(); /* the ring is free for the result */
        store(w.p, j, stages, row, column, sum);
        __syncthreads(); /* and for the next job */
    }
}

cudaError_t product_run_mma(const product *p, cudaStream_t stream)
{
    const device_facts *const f = device_facts_get();
    const int beside = f->sm_shared_bytes / (BYTES + 1024); /* 1024: the system's share */
    const int64_t stripes = (p->outs + COLUMNS - 1) / COLUMNS;
    const work w = {*p, (int)stripes};
    CUDA_TRY(cudaFuncSetAttribute((const void *)product_mma_kernel,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES));
    product_mma_kernel<<<f->sms *(beside < 1 ? 1 : min(beside, 2)), THREADS, BYTES, stream>>>(w);
    return cudaGetLastError();
}

bool product_runs_here(enum product_kernel which)
{
    const int capability = device_facts_get()->compute_capability;
    return which == PRODUCT_MMA ? capability >= 80 : capability == 90 && product_wgmma_is_built();
}

cudaError_t product_run(enum product_kernel which, const product *p, cudaStream_t stream)
{
    return which == PRODUCT_MMA ? product_run_mma(p, stream) : product_run_wgmma(p, stream);
}
