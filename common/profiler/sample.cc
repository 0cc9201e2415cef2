#include "profiler/sample.h"

#include <algorithm>
#include <math.h>

/* A wave of an H200 has some 2000 blocks: a run of 256 is what a few SMs do at a time. Small grids
 * have smaller runs, so that there are eight of them at least. */
static const uint64_t LONGEST_RUN = 256, LEAST_RUNS = 8, WARMING_SHARE = 2;

/* The middle run of every period is traced. */
static uint64_t place(const block_sample *s)
{
    return std::min(s->period / 2, (s->blocks - 1) / s->run);
}

bool sample_holds(const block_sample *s, uint64_t block)
{
    return block / s->run % s->period == place(s);
}

block_sample sample_blocks(uint64_t blocks, double share)
{
    block_sample s = {.blocks = blocks, .run = 1, .period = 1, .traced = blocks, .warming = 0};
    if (share >= 1) return s;
    s.period = std::max<uint64_t>(1, (uint64_t)llround(1 / share));
    s.run = std::clamp<uint64_t>(blocks / (LEAST_RUNS * s.period), 1, LONGEST_RUN);
    const uint64_t cycle = s.run * s.period, begin = place(&s) * s.run, rest = blocks % cycle;
    s.traced = blocks / cycle * s.run + (rest > begin ? std::min(rest - begin, s.run) : 0);
    s.warming = s.period > 1 ? s.traced / WARMING_SHARE : 0;
    return s;
}

static int64_t scaled(int64_t n, double factor)
{
    return llround((double)n * factor);
}

void sample_scale_accesses(access_counters *n, double factor)
{
    for (int64_t *p : {&n->requests, &n->lanes, &n->bytes, &n->cost, &n->ideal, &n->serial})
        *p = scaled(*p, factor);
}

void sample_scale(counters *n, double factor)
{
    for (access_counters &a : n->access)
        sample_scale_accesses(&a, factor);
    for (int64_t &operation : n->operations)
        operation = scaled(operation, factor);
    for (int64_t *p : {&n->steps, &n->lane_steps, &n->memory_steps, &n->memory_lanes, &n->work,
                       &n->l1_hit_sectors, &n->l2_read_bytes, &n->l2_write_bytes,
                       &n->dram_read_bytes, &n->dram_write_bytes})
        *p = scaled(*p, factor);
}
