/*
 * gpu_model.h - the GPUs that instruments can model: what the cache model and the estimate of time
 * need to know about each, with the source of every number in gpu_model.c.
 */
#ifndef PROFILER_GPU_MODEL_H
#define PROFILER_GPU_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MAX_CARVE_OUTS = 12 };

typedef struct gpu_model {
    const char *key;  /* "h200": what a user types */
    const char *name; /* "NVIDIA H200": as cudaGetDeviceProperties spells it */

    /* Streaming multiprocessors, and what one of them holds. */
    int sms;
    double clock_mhz; /* boost */
    int schedulers;   /* warp instructions an SM can issue in a cycle */
    int max_threads, max_blocks, max_warps;
    int reserved_shared_bytes; /* a block's, taken by the system beside its own */

    /* One store on each SM serves as L1 and as shared memory. How much is shared memory, in KB, can
     * be one of these; ascending, the first is 0, unused places at the end are 0 too. */
    int l1_kb;
    int carve_out_kb[MAX_CARVE_OUTS];
    int l1_bytes_per_cycle; /* for L1 and shared memory together */

    /* L2, all of it. Where it has two partitions an SM reads through the one on its side, which
     * then keeps a copy of what belongs to the other. */
    int64_t l2_bytes;
    int l2_partitions;
    int l2_slices; /* all that work side by side, each on addresses of its own */
    double l2_gbs;

    double dram_gbs; /* reached by a copy, where measured; else the data sheet's */

    /* Cycles from a load to the use of its result. */
    int l2_latency, dram_latency;
    double launch_us; /* an empty kernel between two events */
} gpu_model;

/* NULL if there is none of that key. */
const gpu_model *gpu_model_find(const char *key);

/* The keys, NULL-terminated, in the form nearest_name() takes them. */
const char *const *gpu_model_keys(size_t *count);

/* Blocks of one kernel that an SM holds at once, as far as it is known without registers. */
typedef struct gpu_residency {
    int block_warps;
    int blocks;
    int64_t shared_bytes, l1_bytes; /* how its store is divided then */
} gpu_residency;
gpu_residency gpu_model_residency(const gpu_model *gpu, unsigned block_threads,
                                  size_t block_shared_bytes);

#ifdef __cplusplus
}
#endif
#endif
