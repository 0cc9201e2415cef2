#include "profiler/gpu_model.h"

#include <string.h>

/* Sources, by letter:
 *   M   measured on the GPU itself: report/results/h200/limits.tsv, or the attributes that Nsight
 *       Compute reports of it
 *   G   CUDA C++ Programming Guide, technical specifications per compute capability
 *   T   NVIDIA's Volta, Ampere, Ada and Hopper tuning guides, on the unified L1 and shared memory
 *   W   NVIDIA's architecture white papers and data sheets of the V100, A100, RTX 4090 and H100
 *   C   Jia and Van Sandt, "Dissecting the Ampere GPU Architecture through Microbenchmarking",
 *       GTC 2021 (S33322): an A100 reads through a near partition of L2, which copies from the far
 *       one
 *   J   Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018
 *   L   Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture", 2024
 *       (arXiv 2402.13499), tables IV and V: latencies; bytes of L2 a cycle
 *   A   an assumption, with its reason
 *   *   quoted from memory: the source could not be opened again when this was written
 */
static const gpu_model MODELS[] = {
    {
        .key = "h200",
        .name = "NVIDIA H200",
        .sms = 132,                                                  /* M */
        .clock_mhz = 1980,                                           /* M */
        .schedulers = 4,                                             /* M */
        .max_threads = 2048,                                         /* G */
        .max_blocks = 32,                                            /* G */
        .max_warps = 64,                                             /* G */
        .reserved_shared_bytes = 1024,                               /* G */
        .l1_kb = 256,                                                /* T */
        .carve_out_kb = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}, /* T */
        .l1_bytes_per_cycle = 128,                                   /* W */
        .l2_bytes = 62914560,                                        /* M */
        .l2_partitions = 2,  /* W; that they copy as C says fits all of Nsight Compute's counts */
        .l2_slices = 96,     /* M */
        .l2_gbs = 10432,     /* M: 128-byte rows gathered out of 4 MB */
        .dram_gbs = 4264.8,  /* M: a copy */
        .l2_latency = 263,   /* L*, of an H800 */
        .dram_latency = 540, /* A: L*'s 478.8 at 1755 MHz take as many ns at 1980 MHz */
        .launch_us = 4.9,    /* M, in one start of the machine; 4.35 in another */
    },
    {
        .key = "a100",
        .name = "NVIDIA A100-SXM4-40GB",
        .sms = 108,                                        /* W */
        .clock_mhz = 1410,                                 /* W */
        .schedulers = 4,                                   /* W */
        .max_threads = 2048,                               /* G */
        .max_blocks = 32,                                  /* G */
        .max_warps = 64,                                   /* G */
        .reserved_shared_bytes = 1024,                     /* G */
        .l1_kb = 192,                                      /* T */
        .carve_out_kb = {0, 8, 16, 32, 64, 100, 132, 164}, /* T */
        .l1_bytes_per_cycle = 128,                         /* W */
        .l2_bytes = 40 << 20,                              /* W */
        .l2_partitions = 2,                                /* W, C */
        .l2_slices = 80,                                   /* W: 2 x 40 of 512 KB */
        .l2_gbs = 7219,                                    /* W: 5120 bytes a cycle */
        .dram_gbs = 1555,                                  /* W */
        .l2_latency = 262,                                 /* L* */
        .dram_latency = 466,                               /* L* */
        .launch_us = 4.9,                                  /* A: that of the H200 */
    },
    {
        .key = "v100",
        .name = "Tesla V100-SXM2-16GB",
        .sms = 80,                              /* W */
        .clock_mhz = 1530,                      /* W */
        .schedulers = 4,                        /* W */
        .max_threads = 2048,                    /* G */
        .max_blocks = 32,                       /* G */
        .max_warps = 64,                        /* G */
        .reserved_shared_bytes = 0,             /* G: from compute capability 8.0 on */
        .l1_kb = 128,                           /* T */
        .carve_out_kb = {0, 8, 16, 32, 64, 96}, /* T */
        .l1_bytes_per_cycle = 128,              /* W */
        .l2_bytes = 6 << 20,                    /* W */
        .l2_partitions = 1,                     /* A: J found no near and far part */
        .l2_slices = 64,                        /* A: 2048 bytes a cycle (W), 32 a slice */
        .l2_gbs = 2155,                         /* J* */
        .dram_gbs = 900,                        /* W */
        .l2_latency = 193,                      /* J* */
        .dram_latency = 400,                    /* A: about that */
        .launch_us = 4.9,                       /* A: that of the H200 */
    },
    {
        .key = "rtx4090",
        .name = "NVIDIA GeForce RTX 4090",
        .sms = 128,                              /* W */
        .clock_mhz = 2520,                       /* W */
        .schedulers = 4,                         /* W */
        .max_threads = 1536,                     /* G */
        .max_blocks = 24,                        /* G */
        .max_warps = 48,                         /* G */
        .reserved_shared_bytes = 1024,           /* G */
        .l1_kb = 128,                            /* T */
        .carve_out_kb = {0, 8, 16, 32, 64, 100}, /* T */
        .l1_bytes_per_cycle = 128,               /* W */
        .l2_bytes = 72 << 20,                    /* W */
        .l2_partitions = 1,                      /* A: none is documented */
        .l2_slices = 48,                         /* A: 4 for each of 12 memory controllers */
        .l2_gbs = 4088,                          /* L*: 1622 bytes a cycle */
        .dram_gbs = 1008,                        /* W */
        .l2_latency = 273,                       /* L* */
        .dram_latency = 542,                     /* L* */
        .launch_us = 4.9,                        /* A: that of the H200 */
    },
};

enum { MODEL_COUNT = sizeof MODELS / sizeof MODELS[0] };

const gpu_model *gpu_model_find(const char *key)
{
    for (size_t i = 0; i < MODEL_COUNT; i++)
        if (!strcmp(MODELS[i].key, key)) return &MODELS[i];
    return NULL;
}

const char *const *gpu_model_keys(size_t *count)
{
    static const char *keys[MODEL_COUNT + 1];
    for (size_t i = 0; i < MODEL_COUNT; i++)
        keys[i] = MODELS[i].key;
    *count = MODEL_COUNT;
    return keys;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The smallest carve-out of at least so many bytes, else the largest there is. */
static int64_t carve_out(const gpu_model *gpu, int64_t bytes)
{
    int i = 0;
    while (gpu->carve_out_kb[i] * 1024LL < bytes && i + 1 < MAX_CARVE_OUTS &&
           gpu->carve_out_kb[i + 1])
        i++;
    return gpu->carve_out_kb[i] * 1024LL;
}

gpu_residency gpu_model_residency(const gpu_model *gpu, unsigned block_threads,
                                  size_t block_shared_bytes)
{
    const int64_t warps = ((int64_t)block_threads + 31) / 32;
    const int64_t shared = (int64_t)block_shared_bytes + gpu->reserved_shared_bytes;
    int64_t blocks = least(gpu->max_blocks, gpu->max_warps / warps);
    if (shared) blocks = least(blocks, carve_out(gpu, INT64_MAX) / shared);
    if (blocks < 1) blocks = 1; /* a launch that does not fit is not this function's business */

    /* The driver chooses the carve-out by rules of its own. Where it can be seen it was the
     * smallest one with twice the room that the resident blocks need. On an H200 Nsight Compute shows this in labs 1
     * to 5. It was 32 KB for 16 blocks of 1 KB, and 64 KB for 16 of 2 KB. On an RTX 3090 it was 64 KB for 6 blocks of
     * 5.1 KB (forums.developer.nvidia.com/t/320732). */
    const int64_t shared_bytes = carve_out(gpu, 2 * blocks * shared);
    return (gpu_residency){
        .block_warps = (int)warps,
        .blocks = (int)blocks,
        .shared_bytes = shared_bytes,
        .l1_bytes = gpu->l1_kb * 1024LL - shared_bytes,
    };
}
