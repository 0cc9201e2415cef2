/*
 * predict.c - a roofline: the time that each resource needs for its part if nothing else holds the
 * kernel up, the longest of these, and launches. Good for saying which of two kernels is faster and
 * what to look at; it is no measurement.
 *
 * Against 74 medians of report/results/h200/spmm.csv (labs 1 to 5 on nine graphs, N = 32 and 256):
 * rank correlation 0.98; 95 % of all pairs in the right order, and 91 % of the pairs on one graph
 * and N that lie more than 10 % apart. Estimates are 20 % short of the measured time in the mean;
 * what is missing most is the spilling of registers (lab 4, N = 256) and queues before busy memory.
 */
#include "profiler/predict.h"

/* Constants that counters do not say. Each holds for all kernels alike. */

/* Instructions of a warp for each of its memory accesses, shuffles and barriers, itself included:
 * addresses, loops, arithmetic. Nsight Compute counted 4 to 9 in labs 1 to 5, 6.1 on average. */
static const double INSTRUCTIONS_PER_STEP = 6;
/* Cycles from an instruction to the next one of its warp that uses the result (Jia et al.,
 * 2018). */
static const double INSTRUCTION_LATENCY = 4;
/* Loads that a warp has on their way at a time: nvcc unrolls a loop of unknown length four
 * times. */
static const double LOADS_IN_FLIGHT = 4;
/* fp32 additions that a slice of L2 carries out in a cycle. Measured on the H200: 658e9 a second,
 * to addresses all over 22 MB; / 96 slices / 1.98 GHz. */
static const double ATOMICS_PER_SLICE = 3.5;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Counts cycles of the SM with most to do: L1 and shared memory are one store, with one data path. */
static double l1_cycles(const gpu_model *gpu, const counters *k)
{
    double bytes = 0;
    for (int kind = GLOBAL_LOAD; kind <= GLOBAL_ATOMIC; kind++)
        bytes += 32 * (double)k->access[kind].cost;
    for (int kind = SHARED_LOAD; kind <= SHARED_STORE; kind++)
        bytes += 128 * (double)k->access[kind].cost;
    /* Lanes that add to one word of shared memory take turns. */
    const access_counters *atomic = &k->access[SHARED_ATOMIC];
    bytes += 128 * larger((double)atomic->cost, (double)atomic->serial);
    const double share = k->work > 0 ? (double)k->busiest_sm / (double)k->work : 1.0 / gpu->sms;
    return bytes * share / gpu->l1_bytes_per_cycle;
}

/* All slices work at a time, but lanes that add to one address take turns in one slice. */
static double atomic_cycles(const gpu_model *gpu, const counters *k)
{
    const access_counters *atomic = &k->access[GLOBAL_ATOMIC];
    return larger((double)atomic->lanes / ATOMICS_PER_SLICE, (double)atomic->serial) /
           gpu->l2_slices;
}

/* Adds up the waits of the longest chain of warps, one warp starting when another has left its place. */
static double wait_cycles(const gpu_model *gpu, const counters *k)
{
    return ((double)k->longest_l2_waits * gpu->l2_latency +
            (double)k->longest_dram_waits * gpu->dram_latency) /
           LOADS_IN_FLIGHT;
}

/* The resource with the largest time. */
static enum resource limit_of(const double *ms)
{
    enum resource limit = LIMIT_DRAM;
    for (int r = 0; r < RESOURCES; r++)
        if (ms[r] > ms[limit]) limit = (enum resource)r;
    return limit;
}

void predict_kernel(const gpu_model *gpu, const counters *k, prediction *p)
{
    const double cycles = gpu->clock_mhz * 1e3, bytes = 1e6; /* in a ms; times GB/s */
    const double waits = wait_cycles(gpu, k) / cycles;
    *p = (prediction){0};
    double *ms = p->resource_ms;
    ms[LIMIT_DRAM] = (double)(k->dram_read_bytes + k->dram_write_bytes) / (gpu->dram_gbs * bytes);
    ms[LIMIT_L2] = (double)(k->l2_read_bytes + k->l2_write_bytes) / (gpu->l2_gbs * bytes);
    ms[LIMIT_L1] = l1_cycles(gpu, k) / cycles;
    ms[LIMIT_ISSUE] = (double)k->busiest_sm * INSTRUCTIONS_PER_STEP / gpu->schedulers / cycles;
    ms[LIMIT_ATOMICS] = atomic_cycles(gpu, k) / cycles;
    ms[LIMIT_LONGEST_WARP] =
        waits + (double)k->longest_warp * INSTRUCTIONS_PER_STEP * INSTRUCTION_LATENCY / cycles;
    for (int r = 0; r < LIMIT_LAUNCH; r++)
        p->ms = larger(p->ms, ms[r]);
    /* While a warp waits for memory it issues nothing, so on a full SM these two add up. */
    p->ms = larger(p->ms, waits + ms[LIMIT_ISSUE]);
    ms[LIMIT_LAUNCH] = (double)k->launches * gpu->launch_us * 1e-3;
    p->ms += ms[LIMIT_LAUNCH];
    p->limit = limit_of(ms);
}

void predict_add(prediction *run, const prediction *kernel)
{
    run->ms += kernel->ms;
    for (int r = 0; r < RESOURCES; r++)
        run->resource_ms[r] += kernel->resource_ms[r];
    run->limit = limit_of(run->resource_ms);
}
