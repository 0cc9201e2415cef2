/*
 * limits.cu - measures what this GPU can do at best: copying and reading memory, reading L2, gathering
 * rows, arithmetic on CUDA cores and tensor cores, and an empty launch. The bound of every row and its
 * gather share are relative to these figures (results/bound.h).
 *
 * Run: make limits
 */
#ifdef __CUDACC__
#include "baselines/cublas_peak.h"
#endif
#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/mma.cuh"
#include "device/vec.cuh"
#include "device/warp.cuh"
#include "harness/device.h"
#include "results/limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int THREADS = 256, REPEATS = 15;
constexpr size_t MB = 1 << 20;

/* ---- timing ---------------------------------------------------------------------------------- */

/* The least time of REPEATS calls of `enqueue`, in ms: a limit is what can be reached. */
template <class Enqueue> static cudaError_t least_ms(Enqueue enqueue, double *ms)
{
    cudaEvent_t start = NULL, stop = NULL;
    *ms = INFINITY;
    CUDA_TRY(cudaEventCreate(&start));
    CUDA_TRY(cudaEventCreate(&stop));
    for (int i = 0; i < REPEATS; i++) {
        float elapsed;
        CUDA_TRY(cudaEventRecord(start, 0));
        enqueue();
        CUDA_TRY(cudaGetLastError());
        CUDA_TRY(cudaEventRecord(stop, 0));
        CUDA_TRY(cudaEventSynchronize(stop));
        CUDA_TRY(cudaEventElapsedTime(&elapsed, start, stop));
        if (elapsed < *ms) *ms = elapsed;
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return cudaSuccess;
}

/* ---- kernels --------------------------------------------------------------------------------- */

__global__ void empty_kernel() {}

__global__ void fill_kernel(float4 *data, size_t count)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        data[i] = make_float4(1, 2, 3, (float)i);
}

/* Every thread reads `reads` vectors, past L1, eight in flight. The eight of a block lie side by side, 32
 * KB in all, so that a page of memory that is open serves many; the next 32 KB lie behind those of all
 * other blocks. Reading begins again at the end of the `count` vectors, a power of two. */
__global__ void read_kernel(const float4 *data, size_t count, int reads, float *sink)
{
    constexpr int IN_FLIGHT = 8;
    const size_t stride = (size_t)gridDim.x * blockDim.x * IN_FLIGHT, last = count - 1;
    size_t at = (size_t)blockIdx.x * blockDim.x * IN_FLIGHT + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < reads; i += IN_FLIGHT, at += stride) {
        float got[IN_FLIGHT][4];
#pragma unroll
        for (int u = 0; u < IN_FLIGHT; u++)
            load_vector_l2(got[u], (const float *)&data[(at + u * blockDim.x) & last]);
#pragma unroll
        for (int u = 0; u < IN_FLIGHT; u++)
            sum += got[u][0] + got[u][1] + got[u][2] + got[u][3];
    }
    if (sum == 0.12345f) *sink = sum; /* never true: keeps the loads */
}

/* Each group of LANES lanes fetches pseudo-random rows of `vectors` float4, IN_FLIGHT at a time: of each row
 * its LANES float4 from `first` on. Rows come from a multiplicative generator in registers, so that nothing
 * but the rows is read. */
template <int LANES, int IN_FLIGHT>
__global__ void gather_kernel(const float4 *__restrict__ rows, unsigned num_rows, int vectors,
                              int first, int fetches, float *sink)
{
    const unsigned group = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    const unsigned lane = first + threadIdx.x % LANES;
    unsigned state = group * 2654435761u + 12345u;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int i = 0; i < fetches; i += IN_FLIGHT) {
        float4 got[IN_FLIGHT];
#pragma unroll
        for (int u = 0; u < IN_FLIGHT; u++) {
            state = state * 1664525u + 1013904223u;
            const unsigned row = __umulhi(state, num_rows);
            got[u] = __ldg(&rows[(size_t)row * vectors + lane]);
        }
#pragma unroll
        for (int u = 0; u < IN_FLIGHT; u++) {
            sum.x += got[u].x;
            sum.y += got[u].y;
            sum.z += got[u].z;
            sum.w += got[u].w;
        }
    }
    if (sum.x + sum.y + sum.z + sum.w == 0.12345f) *sink = sum.x; /* never true: keeps the loads */
}

/* 16 independent chains of fused multiply-adds a thread: enough to fill the pipelines. */
__global__ void fma_kernel(int rounds, float factor, float *sink)
{
    constexpr int CHAINS = 16;
    float x[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        x[c] = threadIdx.x + c;
    for (int i = 0; i < rounds; i++)
#pragma unroll
        for (int c = 0; c < CHAINS; c++)
            x[c] = fmaf(x[c], factor, 1.0f);
    float sum = 0;
    for (int c = 0; c < CHAINS; c++)
        sum += x[c];
    if (sum == 0.12345f) *sink = sum;
}

/* The shapes of a warp's product, m16n8k8 and m16n8k16, by their numbers. */
enum tensor_product { FP16_K8, FP16_K16, BF16_K16, TF32_K8 };

/* Eight independent chains of products a warp, all operands in registers. */
template <enum tensor_product P> __global__ void mma_kernel(int rounds, float *sink)
{
    constexpr int CHAINS = 8;
    uint32_t a[4] = {0, 0, 0, 0}, b[2] = {0, 0};
    uint32_t half_a[2] = {0, 0}, half_b[1] = {0};
    float sum[CHAINS][4] = {};
    for (int i = 0; i < rounds; i++)
#pragma unroll
        for (int c = 0; c < CHAINS; c++) {
            if constexpr (P == FP16_K8) mma_m16n8k8_f16(sum[c], half_a, half_b, sum[c]);
            if constexpr (P == FP16_K16) mma_m16n8k16_f16(sum[c], a, b, sum[c]);
            if constexpr (P == BF16_K16) mma_m16n8k16_bf16(sum[c], a, b, sum[c]);
            if constexpr (P == TF32_K8) mma_m16n8k8_tf32(sum[c], a, b, sum[c]);
        }
    float all = 0;
    for (int c = 0; c < CHAINS; c++)
        all += sum[c][0] + sum[c][1] + sum[c][2] + sum[c][3];
    if (all == 0.12345f) *sink = all;
}

/* ---- measurements ---------------------------------------------------------------------------- */

/* Where rows lie, and how fast they were gathered at best so far. */
typedef struct gather_trial {
    const float4 *d_data;
    size_t span; /* bytes */
    int vectors; /* float4 of a row */
    double gbs;
} gather_trial;

/* Gathers the rows in slices of LANES float4: the same part of all rows before the next part. */
template <int LANES, int IN_FLIGHT> static cudaError_t try_gather(gather_trial *t, float *d_sink)
{
    const int blocks = device_facts_get()->sms * 16, fetches = 512;
    const unsigned num_rows = (unsigned)(t->span / (t->vectors * sizeof(float4)));
    double ms;
    CUDA_TRY(least_ms(
        [&] {
            for (int first = 0; first < t->vectors; first += LANES)
                gather_kernel<LANES, IN_FLIGHT>
                    <<<blocks, THREADS>>>(t->d_data, num_rows, t->vectors, first, fetches, d_sink);
        },
        &ms));
    const int slices = t->vectors / LANES;
    const double bytes = (double)slices * blocks * THREADS * fetches * sizeof(float4);
    t->gbs = fmax(t->gbs, bytes / ms * 1e-6);
    return cudaSuccess;
}

/* More rows in flight hide more of the latency, and fewer leave room for more warps. */
template <int LANES> static cudaError_t try_depths(gather_trial *t, float *d_sink)
{
    CUDA_TRY((try_gather<LANES, 4>(t, d_sink)));
    CUDA_TRY((try_gather<LANES, 8>(t, d_sink)));
    return try_gather<LANES, 16>(t, d_sink);
}

/* Rows of LANES float4 out of spans from 4 MB to `largest`, in the fastest of several ways. L2 holds what of a row
 * is needed for a while: of whole rows as much as of lines, however long the rows are, but of slices more
 * rows. Kernels of the suite go over their columns so. A slice is a line of 128 bytes or more, for L2 holds
 * lines. Out of the largest span rows come whole: its rate tells what memory delivers (limits_memory_gbs). */
template <int LANES>
static cudaError_t measure_gather(const float4 *d_data, size_t largest, float *d_sink,
                                  machine_limits *l)
{
    static const int SPANS_MB[] = {4, 16, 32, 48, 64, 96, 128, 256, 512, 1024, 2048};
    for (int span_mb : SPANS_MB) {
        gather_trial t = {d_data, span_mb * MB, LANES, 0};
        if (t.span > largest || l->num_gather == MAX_GATHER_POINTS) break;
        CUDA_TRY(try_depths<LANES>(&t, d_sink));
        if (LANES > 16 && t.span < largest) CUDA_TRY(try_depths<16>(&t, d_sink));
        if (LANES > 8 && t.span < largest) CUDA_TRY(try_depths<8>(&t, d_sink));
        l->gather[l->num_gather++] = {LANES * (double)sizeof(float4), (double)t.span, t.gbs};
    }
    return cudaSuccess;
}

/* GB/s of reading `span` bytes, a power of two, over and over. */
static cudaError_t measure_read(const float4 *d_data, size_t span, float *d_sink, double *gbs)
{
    const int blocks = device_facts_get()->sms * 8, reads = 512;
    double ms;
    CUDA_TRY(least_ms(
        [&] { read_kernel<<<blocks, THREADS>>>(d_data, span / sizeof *d_data, reads, d_sink); },
        &ms));
    *gbs = (double)blocks * THREADS * reads * sizeof *d_data / ms * 1e-6;
    return cudaSuccess;
}

/* The best of several sizes that stay in L2. */
static cudaError_t measure_l2(const float4 *d_data, float *d_sink, machine_limits *l)
{
    for (size_t span = 2 * MB; 2 * span <= l->l2_bytes; span *= 2) {
        double gbs;
        CUDA_TRY(measure_read(d_data, span, d_sink, &gbs));
        l->l2_read_gbs = fmax(l->l2_read_gbs, gbs);
    }
    return cudaSuccess;
}

/* Products of 16 x 8 sums and a depth of `depth` by all warps. */
template <enum tensor_product P>
static cudaError_t measure_mma(int depth, float *d_sink, double *gflops)
{
    constexpr int CHAINS = 8;
    const int blocks = device_facts_get()->sms * 8, rounds = 4096;
    double ms;
    CUDA_TRY(least_ms([&] { mma_kernel<P><<<blocks, THREADS>>>(rounds, d_sink); }, &ms));
    const double products = (double)blocks * (THREADS / 32) * rounds * CHAINS;
    *gflops = fmax(*gflops, 2.0 * 16 * 8 * depth * products / ms * 1e-6);
    return cudaSuccess;
}

/* Takes the better rate of the warp's products and of cuBLAS: a bound needs the higher one. A kernel of
 * the suite can reach the warp's. cuBLAS has instructions of its own (wgmma on sm_90). */
static cudaError_t measure_tensor_cores(int compute_capability, float *d_sink, machine_limits *l)
{
    if (compute_capability >= 80) {
        CUDA_TRY(measure_mma<FP16_K16>(16, d_sink, &l->fp16_gflops));
        CUDA_TRY(measure_mma<BF16_K16>(16, d_sink, &l->bf16_gflops));
        CUDA_TRY(measure_mma<TF32_K8>(8, d_sink, &l->tf32_gflops));
    } else if (compute_capability >= 75)
        CUDA_TRY(measure_mma<FP16_K8>(8, d_sink, &l->fp16_gflops));
#ifdef __CUDACC__
    double *const peaks[] = {&l->tf32_gflops, &l->fp16_gflops, &l->bf16_gflops};
    for (int p = 0; p < NUM_PRECISIONS; p++) {
        double gflops = 0;
        if (!*peaks[p]) continue;
        CUDA_TRY(cublas_tensor_gflops((enum precision)p, &gflops));
        *peaks[p] = fmax(*peaks[p], gflops);
    }
#endif
    return cudaSuccess;
}

static cudaError_t measure(const device_info *device, machine_limits *l)
{
    size_t room, total;
    double ms;
    float4 *d_from, *d_to;
    CUDA_TRY(cudaMemGetInfo(&room, &total));
    /* A span far beyond the cache, and twice as much in all. */
    size_t bytes = 2048 * MB;
    while (2 * bytes > room * 3 / 4)
        bytes /= 2;
    CUDA_TRY(cudaMalloc((void **)&d_from, bytes));
    CUDA_TRY(cudaMalloc((void **)&d_to, bytes));
    fill_kernel<<<1024, THREADS>>>(d_from, bytes / sizeof *d_from);
    CUDA_TRY(cudaGetLastError());

    snprintf(l->device, sizeof l->device, "%s", device->name);
    CUDA_TRY(least_ms([&] { empty_kernel<<<1, 32>>>(); }, &ms));
    l->launch_us = ms * 1e3;
    CUDA_TRY(
        least_ms([&] { cudaMemcpyAsync(d_to, d_from, bytes, cudaMemcpyDeviceToDevice, 0); }, &ms));
    l->copy_gbs = 2.0 * bytes / ms * 1e-6;
    l->l2_bytes = (double)device->l2_bytes;
    CUDA_TRY(measure_read(d_from, bytes, (float *)d_to, &l->read_gbs));
    CUDA_TRY(measure_l2(d_from, (float *)d_to, l));
    CUDA_TRY(measure_gather<4>(d_from, bytes, (float *)d_to, l));
    CUDA_TRY(measure_gather<8>(d_from, bytes, (float *)d_to, l));
    CUDA_TRY(measure_gather<32>(d_from, bytes, (float *)d_to, l));

    const int blocks = device_facts_get()->sms * 32, rounds = 4096;
    CUDA_TRY(
        least_ms([&] { fma_kernel<<<blocks, THREADS>>>(rounds, 0.999f, (float *)d_to); }, &ms));
    l->fp32_gflops = 2.0 * 16 * rounds * blocks * THREADS / ms * 1e-6;
    CUDA_TRY(measure_tensor_cores(device->compute_capability, (float *)d_to, l));
    cudaFree(d_from);
    cudaFree(d_to);
    return cudaSuccess;
}

int main(void)
{
    device_info device;
    error_text error;
    static machine_limits limits;
    char path[4096];
    enum status status = device_open(0, &device, &error);
    if (status == STATUS_OK && !device_keeps_time())
        status = fail(&error, STATUS_SKIPPED, "the CPU backend keeps no time: this needs a GPU");
    if (status == STATUS_OK) {
        const cudaError_t e = measure(&device, &limits);
        if (e != cudaSuccess) status = device_fail(e, "measuring", &error);
    }
    if (status == STATUS_OK) status = limits_save(&limits, path, sizeof path, &error);
    if (status != STATUS_OK) {
        fprintf(stderr, "limits: %s\n", error.text);
        return status;
    }
    printf("%s\n  copy    %8.0f GB/s (read + written)\n  read    %8.0f GB/s\n"
           "  L2      %8.0f GB/s (read; it holds %.0f MB)\n  fp32    %8.0f GFLOP/s\n",
           limits.device, limits.copy_gbs, limits.read_gbs, limits.l2_read_gbs,
           limits.l2_bytes / MB, limits.fp32_gflops);
    if (limits.fp16_gflops) printf("  fp16    %8.0f GFLOP/s (tensor cores)\n", limits.fp16_gflops);
    if (limits.bf16_gflops) printf("  bf16    %8.0f GFLOP/s (tensor cores)\n", limits.bf16_gflops);
    if (limits.tf32_gflops) printf("  tf32    %8.0f GFLOP/s (tensor cores)\n", limits.tf32_gflops);
    printf("  launch  %8.2f us\n", limits.launch_us);
    for (int i = 0; i < limits.num_gather; i++)
        printf("  gather  %8.0f GB/s  (%.0f-byte rows out of %.0f MB)\n", limits.gather[i].gbs,
               limits.gather[i].row_bytes, limits.gather[i].span_bytes / MB);
    printf("kept in %s\n", path);
    return STATUS_OK;
}
