#include "harness/instruments.h"

#include <stdlib.h>

const char *const RESOURCE_NAMES[RESOURCES] = {
    [LIMIT_DRAM] = "DRAM",     [LIMIT_L2] = "L2",           [LIMIT_L1] = "L1",
    [LIMIT_ISSUE] = "issue",   [LIMIT_ATOMICS] = "atomics", [LIMIT_LONGEST_WARP] = "longest warp",
    [LIMIT_LAUNCH] = "launch",
};

static const instruments *installed;

const instruments *instruments_here(void)
{
    return installed;
}

void instruments_install(const instruments *all)
{
    installed = all;
}

void recordings_free(recording *all, size_t count)
{
    for (size_t i = 0; all && i < count; i++) {
        free(all[i].steps);
        free(all[i].lines);
        free(all[i].arrays);
        free(all[i].findings);
    }
    free(all);
}

void access_counters_add(access_counters *to, const access_counters *from)
{
    to->requests += from->requests;
    to->lanes += from->lanes;
    to->bytes += from->bytes;
    to->cost += from->cost;
    to->ideal += from->ideal;
    to->serial += from->serial;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Launches follow each other, so what the busiest SM of each does adds up, as do the waits; the
 * longest warp of all is the longest of any of them. */
void counters_add(counters *to, const counters *from)
{
    to->launches += from->launches;
    to->blocks += from->blocks;
    to->warps += from->warps;
    to->threads += from->threads;
    for (int k = 0; k < ACCESS_KINDS; k++)
        access_counters_add(&to->access[k], &from->access[k]);
    for (int k = 0; k < WARP_OPERATIONS; k++)
        to->operations[k] += from->operations[k];
    to->steps += from->steps;
    to->lane_steps += from->lane_steps;
    to->memory_steps += from->memory_steps;
    to->memory_lanes += from->memory_lanes;
    to->work += from->work;
    to->longest_warp = larger(to->longest_warp, from->longest_warp);
    to->longest_block = larger(to->longest_block, from->longest_block);
    to->busiest_sm += from->busiest_sm;
    to->sms = (int)larger(to->sms, from->sms);
    to->l1_hit_sectors += from->l1_hit_sectors;
    to->l2_read_bytes += from->l2_read_bytes;
    to->l2_write_bytes += from->l2_write_bytes;
    to->dram_read_bytes += from->dram_read_bytes;
    to->dram_write_bytes += from->dram_write_bytes;
    to->longest_l2_waits += from->longest_l2_waits;
    to->longest_dram_waits += from->longest_dram_waits;
}
