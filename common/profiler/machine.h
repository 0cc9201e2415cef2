/*
 * machine.h - the GPU that a trace is played to: blocks dealt to SMs, an L1 in each, one L2,
 * memory. A model with stated parameters, not a simulation of time.
 *
 * One launch at a time, from one thread. What it counts is the same in every run.
 */
#ifndef PROFILER_MACHINE_H
#define PROFILER_MACHINE_H

#include "harness/instruments.h"
#include "profiler/gpu_model.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A launch of so many blocks begins. The caches start empty: so they do under ncu, which flushes
 * them before every kernel it measures. */
void machine_launch_begin(const gpu_model *gpu, unsigned block_threads, size_t shared_bytes,
                          uint64_t blocks);

/* Warp `warp` of the block being traced makes a request: `count` distinct sectors (address / 32),
 * in ascending order. Requests of one warp come in its program order; warps may take turns. A
 * sector's number must be the same in every run, so it counts from where device memory begins, not
 * from 0. */
void machine_request(unsigned warp, enum access_kind kind, const uint64_t *sectors, unsigned count,
                     unsigned bytes_per_lane);
/* The same warp does something else that takes a turn: a shared-memory access, a shuffle, a
 * barrier. */
void machine_step(unsigned warp);
/* The block is complete; the next one follows. */
void machine_block_end(void);

/* The blocks so far have only warmed the caches: what is counted begins with the next one. */
void machine_warmed(void);

/* All blocks are complete. Adds to the counters, of the blocks since the caches were warm:
 *
 *   work, l1_hit_sectors, l2_*_bytes, dram_*_bytes
 *           sums; if only some of the launch's blocks were traced they are to be scaled
 *   busiest_sm, longest_l2_waits, longest_dram_waits
 *           for the launch as a whole already: it knows how many blocks that has
 *   longest_warp, longest_block
 *           of those traced; nothing can be said of the others
 *
 * The waits are those of the longest chain of warps, in which each warp starts when another has
 * left its place on the SM: of one very long warp, or of many short ones in turn. */
void machine_launch_end(counters *total);

#ifdef __cplusplus
}
#endif
#endif
