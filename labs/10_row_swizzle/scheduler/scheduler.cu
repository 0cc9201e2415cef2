/*
 * scheduler.cu - who runs where, and what the order of the rows is worth.
 *
 *     make scheduler                              the SM of every block of the first wave, beside the
 *                                                 formula
 *     make scheduler ARGS="balance DATASET..."    the share of balanced throughput of each, by order
 *                                                 of the rows (simulated)
 *
 * Both write CSV to standard output, and what it comes to on standard error.
 */
#include "labs/10_row_swizzle/scheduler/simulate.h"

#include "device/cuda_try.h"
#include "device/facts.h"
#include "device/warp.cuh"
#include "matrix/dataset.h"
#include "matrix/random.h"
#include "matrix/stats.h"

#include <algorithm>
#include <numeric>
#include <stdio.h>
#include <string.h>
#include <vector>

constexpr int BLOCK = 1024;
constexpr long long STAY_NS = 1000 * 1000; /* until all blocks of the first wave have started */

/* Every block says where it is, and stays, so that the next one must go elsewhere. */
static __global__ void where_am_i_kernel(int *sm)
{
    if (threadIdx.x > 0) return;
    sm[blockIdx.x] = sm_id();
    const long long start = global_nanoseconds();
    while (global_nanoseconds() - start < STAY_NS) {
    }
}

static cudaError_t probe(void)
{
    int device, sms, threads;
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
    CUDA_TRY(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
    const int blocks = sms * (threads / BLOCK);
    std::vector<int> sm(blocks);
    int *d_sm, agree = 0;
    CUDA_TRY(cudaMalloc((void **)&d_sm, blocks * sizeof(int)));
    where_am_i_kernel<<<blocks, BLOCK>>>(d_sm);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpy(sm.data(), d_sm, blocks * sizeof(int), cudaMemcpyDeviceToHost));
    CUDA_TRY(cudaFree(d_sm));
    printf("block,sm,formula\n");
    for (int b = 0; b < blocks; b++) {
        printf("%d,%d,%d\n", b, sm[b], first_wave_sm(b, sms));
        agree += sm[b] == first_wave_sm(b, sms);
    }
    std::vector<int> on_sm(sms);
    for (int s : sm)
        on_sm[s]++;
    fprintf(stderr,
            "%d SMs, first wave of %d blocks of %d threads: the formula names the SM of %d "
            "(%.0f %%); blocks an SM: %d to %d\n",
            sms, blocks, BLOCK, agree, 100.0 * agree / blocks,
            *std::min_element(on_sm.begin(), on_sm.end()),
            *std::max_element(on_sm.begin(), on_sm.end()));
    return cudaSuccess;
}

/* This device (the CPU backend: an H200), and lab 7's kernel at N = 128: blocks of one warp, four rows side by side in strips of 32
 * columns, all rows of the first strip before those of the second. 32 such blocks fit an SM, a
 * quarter of them keeps it busy, and a row costs as much as four nonzeros before its first. */
static scheduler_model model_of_device(void)
{
    return {.sms = std::max(device_facts_get()->sms, 1),
            .blocks_per_sm = 32,
            .saturation = 8,
            .rows_per_block = 4,
            .row_cost = 4};
}
constexpr int STRIPS = 4;

static double share_in_order(const std::vector<int64_t> &length, const std::vector<int> &order)
{
    const scheduler_model model = model_of_device();
    std::vector<int> strips;
    for (int i = 0; i < STRIPS; i++)
        strips.insert(strips.end(), order.begin(), order.end());
    return balanced_share(&model, length.data(), strips.data(), (int64_t)strips.size());
}

static enum status balance(const char *spec, error_text *error)
{
    dataset data;
    row_stats stats;
    enum status status = dataset_open(spec, NULL, &data, error);
    if (status != STATUS_OK) return status;
    status = row_stats_compute(&data.matrix, &stats, error);
    if (status != STATUS_OK) {
        dataset_close(&data);
        return status;
    }
    const int64_t rows = data.matrix.rows;
    std::vector<int64_t> length(rows);
    for (int64_t i = 0; i < rows; i++)
        length[i] = data.matrix.row_ptr[i + 1] - data.matrix.row_ptr[i];
    std::vector<int> order(rows);
    std::iota(order.begin(), order.end(), 0);
    const double as_they_come = share_in_order(length, order);
    for (int64_t i = rows - 1; i > 0; i--)
        std::swap(order[i], order[random_below(1, (uint64_t)i, (uint64_t)i + 1)]);
    const double at_random = share_in_order(length, order);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return length[a] > length[b]; });
    const double swizzled = share_in_order(length, order);
    printf("\"%s\",%lld,%.4f,%.3f,%.4f,%.4f,%.4f\n", data.name, (long long)rows, stats.mean,
           stats.cov, as_they_come, at_random, swizzled);
    dataset_close(&data);
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    error_text error;
    if (argc == 2 && !strcmp(argv[1], "probe")) {
        const cudaError_t e = probe();
        if (e == cudaSuccess) return STATUS_OK;
        fprintf(stderr, "scheduler: %s\n", cuda_failure_text(e));
        return STATUS_RUNTIME;
    }
    if (argc < 3 || strcmp(argv[1], "balance")) {
        fprintf(stderr, "usage: scheduler probe | scheduler balance DATASET...\n");
        return STATUS_USAGE;
    }
    printf("dataset,rows,mean_row,cov_row,as_they_come,random,swizzled\n");
    for (int i = 2; i < argc; i++) {
        const enum status status = balance(argv[i], &error);
        if (status == STATUS_OK) continue;
        fprintf(stderr, "scheduler: %s\n", error.text);
        return status;
    }
    return STATUS_OK;
}
