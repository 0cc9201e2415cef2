/*
 * sums.cu - what is added up over warps, blocks and launches, what a sample stands for, and that
 * all of it is the same every time.
 */
#include "tests/counters/expect.h"

#include "device/warp.cuh"
#include <unistd.h>

/* Warp w of the grid makes `times[w]` loads, one more for `times` itself, a store and, between
 * them, a barrier of its block: times[w] + 3 units of work. */
__global__ void uneven_kernel(const int *times, const float *x, float *y)
{
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, n = times[warp];
    float a = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        a += x[i * 32 + threadIdx.x % 32];
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = a;
}

/* One straight line: a load, a store, for all lanes. */
__global__ void even_kernel(const float *x, float *y)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = x[t];
}

/* A little of everything, in lanes that go different ways, on more data than L1 holds. */
__global__ void mixed_kernel(const int *times, const float *x, float *y, int *cells)
{
    __shared__ float tile[128];
    const int t = blockIdx.x * 128 + threadIdx.x;
    float a = 0;
    for (int i = 0; i < times[t % 96]; i++)
        a += x[(t * 7919u + i * 104729u) % 131072];
    tile[threadIdx.x] = a;
    __syncthreads();
    if (t % 3) a += tile[threadIdx.x * 5 % 128];
    a = warp_sum(a);
    if (t % 7 == 0) atomicAdd(&cells[t % 11], 1);
    y[t] = a;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* 4 blocks of 2 warps. */
static const int TIMES[8] = {3, 5, 40, 1, 0, 60, 7, 7};

static void imbalance(void)
{
    int *times = to_device(TIMES, 8);
    float *x = device_zeros<float>(64 * 32), *y = device_zeros<float>(256);
    counting_begins();
    uneven_kernel<<<4, 64>>>(times, x, y);
    counting_ends();
    const kernel_profile *p = only_profile("uneven_kernel");
    if (!p) return;
    const counters &n = p->total;
    check(n.work == 123 + 8 * 3, "work: %lld loads, reads of the counts, stores and barriers",
          (long long)n.work);
    check(n.longest_warp == 60 + 3, "the longest warp: %lld", (long long)n.longest_warp);
    check(n.longest_block == 60 + 2 * 3, "the longest block: %lld", (long long)n.longest_block);
    check(n.sms == 132 && n.busiest_sm == 66, "each block has an SM of %d for itself: %lld", n.sms,
          (long long)n.busiest_sm);
    check(p->grid[0] == 4 && p->grid[1] == 1 && p->block[0] == 64 && p->block[2] == 1 &&
              p->dynamic_shared_bytes == 0 && p->sampled == 1 && !p->in_prepare,
          "the launch is noted");

    /* Again, differently: sums double, the longest stay the longest. */
    instruments_here()->begin(false, NULL);
    uneven_kernel<<<2, 64>>>(times, x, y);
    counting_ends();
    p = only_profile("uneven_kernel");
    if (!p) return;
    check(n.launches == 2 && n.blocks == 6 && n.warps == 12 && n.threads == 384,
          "two launches add up: %lld blocks, %lld warps, %lld threads", (long long)n.blocks,
          (long long)n.warps, (long long)n.threads);
    /* The first two blocks once more: 3 + 5 + 40 + 1 = 49 loads. */
    check(n.access[GLOBAL_LOAD].requests == 123 + 8 + 49 + 4 && n.operations[OP_BARRIER] == 12 &&
              n.work == 123 + 24 + 49 + 12,
          "so do requests, barriers and work");
    check(n.longest_warp == 63 && n.longest_block == 66 && n.busiest_sm == 66 + 47,
          "the longest are those of the first, the busiest SM is that of each: %lld",
          (long long)n.busiest_sm);

    /* More blocks than SMs. All alike: 3 rounds on some SM. */
    float *large = device_zeros<float>(300 * 2048);
    counting_begins();
    even_kernel<<<300, 1024>>>(large, large);
    counting_ends();
    p = only_profile("even_kernel");
    if (!p) return;
    check(p->total.work == 300 * 32 * 2 && p->total.longest_block == 64 &&
              p->total.busiest_sm == 3 * 64,
          "300 blocks on 132 SMs: 3 for the busiest");
    check(p->total.lane_steps == 32 * p->total.steps, "every lane takes every step");
    for (void *q : {(void *)times, (void *)x, (void *)y, (void *)large})
        CUDA(cudaFree(q));
}

/* Launches of prepare and of run are kept apart; what lies outside counts for neither. */
static void phases(void)
{
    const instruments *i = instruments_here();
    float *x = device_zeros<float>(1024);
    i->reset();
    even_kernel<<<7, 32>>>(x, x);
    i->begin(true, NULL);
    even_kernel<<<2, 32>>>(x, x);
    i->end();
    even_kernel<<<5, 32>>>(x, x);
    i->begin(false, NULL);
    even_kernel<<<3, 32>>>(x, x);
    even_kernel<<<3, 32>>>(x, x);
    counting_ends();
    const kernel_profile *all;
    const size_t count = i->profiles(&all);
    check(count == 2 && all[0].in_prepare && !all[1].in_prepare &&
              all[0].total.access[GLOBAL_LOAD].requests == 2 &&
              all[1].total.access[GLOBAL_LOAD].requests == 6 && all[1].total.launches == 2,
          "prepare and run are counted apart, and nothing else");
    i->reset();
    check(i->profiles(&all) == 0, "reset forgets");
    CUDA(cudaFree(x));
}

/* ---- the same every time --------------------------------------------------------------------- */

static void print_accesses(FILE *out, const access_counters &a)
{
    fprintf(out, " %lld %lld %lld %lld %lld %lld", (long long)a.requests, (long long)a.lanes,
            (long long)a.bytes, (long long)a.cost, (long long)a.ideal, (long long)a.serial);
}

/* Every number there is. */
static void print_profile(FILE *out, const kernel_profile &p)
{
    const counters &n = p.total;
    fprintf(out, "%s %d %g", p.name, p.in_prepare, p.sampled);
    for (const int64_t x : {n.launches,
                            n.blocks,
                            n.warps,
                            n.threads,
                            n.steps,
                            n.lane_steps,
                            n.memory_steps,
                            n.memory_lanes,
                            n.work,
                            n.longest_warp,
                            n.longest_block,
                            n.busiest_sm,
                            (int64_t)n.sms,
                            n.l1_hit_sectors,
                            n.l2_read_bytes,
                            n.l2_write_bytes,
                            n.dram_read_bytes,
                            n.dram_write_bytes,
                            n.longest_l2_waits,
                            n.longest_dram_waits})
        fprintf(out, " %lld", (long long)x);
    for (const access_counters &a : n.access)
        print_accesses(out, a);
    for (const int64_t x : n.operations)
        fprintf(out, " %lld", (long long)x);
    fprintf(out, "\n");
    for (size_t i = 0; i < p.num_lines; i++) {
        fprintf(out, "%s %d %d", p.lines[i].where, (int)p.lines[i].kind, p.lines[i].size);
        print_accesses(out, p.lines[i].n);
        fprintf(out, "\n");
    }
}

/* Two kernels' profiles, in a string to be freed; on the same arrays each time, since the sectors
 * that share a place in a cache depend on where they lie. */
static char *mixed_profiles(void)
{
    static int times[96], *t, *cells;
    static float *x, *y;
    for (int i = 0; i < 96; i++)
        times[i] = i * i % 23 * 3;
    if (!t) {
        t = to_device(times, 96);
        cells = device_zeros<int>(11);
        x = device_zeros<float>(131072);
        y = device_zeros<float>(200 * 128);
    }
    counting_begins();
    mixed_kernel<<<200, 128>>>(t, x, y, cells);
    even_kernel<<<50, 128>>>(x, y);
    counting_ends();
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const kernel_profile *all;
    const size_t count = instruments_here()->profiles(&all);
    for (size_t i = 0; i < count; i++)
        print_profile(out, all[i]);
    fclose(out);
    return text;
}

int print_profiles(void)
{
    char *text = mixed_profiles();
    fputs(text, stdout);
    free(text);
    return 0;
}

/* The output of this program started with these settings and argument. */
static char *output_of(const char *settings, const char *program, const char *task)
{
    char command[512], *text = NULL;
    size_t size = 0, count;
    snprintf(command, sizeof command, "%s '%s' %s", settings, program, task);
    FILE *from = popen(command, "r"), *to = open_memstream(&text, &size);
    char part[4096];
    while (from && (count = fread(part, 1, sizeof part, from)) > 0)
        fwrite(part, 1, count, to);
    fclose(to);
    if (from && pclose(from) != 0) *text = 0;
    return text;
}

/* And the lines that differ. */
static void same_text(const char *a, const char *b, const char *when)
{
    if (check(a[0] && !strcmp(a, b), "the same counts: %s", when)) return;
    for (; *a && *b; a += strcspn(a, "\n") + 1, b += strcspn(b, "\n") + 1) {
        const int length_a = (int)strcspn(a, "\n"), length_b = (int)strcspn(b, "\n");
        if (length_a != length_b || strncmp(a, b, (size_t)length_a))
            note("%.*s\n#    is not %.*s", length_a, a, length_b, b);
        if (!a[length_a] || !b[length_b]) break;
    }
}

void same_every_time(char **argv)
{
    char *first = mixed_profiles(), *second = mixed_profiles();
    same_text(first, second, "from one launch to the next");
    free(first);
    free(second);
    first = output_of("", argv[0], "profiles");
    for (const char *settings : {"SIMT_THREADS=1", "SIMT_THREADS=8", "SIMT_ORDER=reverse",
                                 "SIMT_THREADS=8 SIMT_ORDER=reverse"}) {
        second = output_of(settings, argv[0], "profiles");
        same_text(first, second, settings);
        free(second);
    }
    free(first);

    /* 64 blocks alike, 16 of which are looked at. */
    second = output_of("", argv[0], "sample");
    check(!strcmp(second, "prepare 1: 64 256\nrun 0.25: 64 256\n"),
          "a quarter of the blocks stands for all of them");
    free(second);
}

int print_sample(void)
{
    const instruments *i = instruments_here();
    float *x = device_zeros<float>(64 * 32);
    i->begin(true, NULL);
    even_kernel<<<64, 32>>>(x, x);
    i->end();
    i->begin(false, NULL);
    even_kernel<<<64, 32>>>(x, x);
    counting_ends();
    const kernel_profile *all;
    const size_t count = i->profiles(&all);
    for (size_t k = 0; k < count; k++) {
        const access_counters &a = all[k].total.access[GLOBAL_LOAD];
        printf("%s %g: %lld %lld\n", all[k].in_prepare ? "prepare" : "run", all[k].sampled,
               (long long)a.requests, (long long)a.cost);
    }
    return 0;
}

void sums(void)
{
    imbalance();
    phases();
}
