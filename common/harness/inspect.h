/*
 * inspect.h - one contender's run under the instruments: what they counted, estimated and found.
 */
#ifndef HARNESS_INSPECT_H
#define HARNESS_INSPECT_H

#include "harness/instruments.h"
#include "harness/options.h"

typedef struct inspection {
    int which;      /* INSTRUMENT_* that were on */
    bool counted;   /* there are counters: asked for, and the result was not wrong */
    bool predicted; /* there is an estimate: the same */
    double sample;  /* the share of the blocks asked for */
    const char *model, *model_text; /* whose caches: the instruments' strings */
    /* One for each kernel and phase, in order of first launch; without `counted`, names and launches
     * alone mean something. */
    kernel_profile *kernels;
    size_t num_kernels;
    counters run;        /* of the kernels of run together */
    size_t run_kernels;  /* how many they are */
    int64_t run_sectors; /* of global memory */
    prediction prediction;
    finding *findings;
    size_t num_findings;
    recording *recordings; /* one for each kernel, with INSTRUMENT_TRACE */
    size_t num_recordings;
} inspection;

/* Copies what the instruments have gathered since their last reset. The caller frees it. NULL if
 * there is no memory. */
inspection *inspection_take(const instruments *from, const options *o);
void inspection_free(inspection *i); /* NULL is fine */

/* Takes the counters and the estimate away: those of a wrong result mean nothing. */
void inspection_void(inspection *i);

/* "memcheck", "racecheck" or "memcheck, racecheck": the checks among INSTRUMENT_*. */
const char *checks_text(int which);

/* ---- figures made of counters: NAN where there is nothing to divide by ------------------------ */

bool is_shared(enum access_kind kind);

/* Bytes that lanes asked for over the bytes of the sectors moved for them. Above 1 where lanes share:
 * each one's bytes count, even where all read the same. */
double coalescing(const access_counters *n);
double per_request(int64_t amount, const access_counters *n);
double share_of(int64_t part, int64_t whole);
double simt_efficiency(int64_t lanes, int64_t steps);
/* The most loaded one's work over the mean of `count`. */
double imbalance(int64_t most, int64_t work, int64_t count);
/* Wavefronts of accesses to shared memory beyond the least. */
int64_t bank_conflicts(const access_counters *n);
/* Sectors of global memory, atomics included. */
int64_t global_sectors(const counters *n);

#endif
