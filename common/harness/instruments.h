/*
 * instruments.h - what a program can find out about its kernels while they run on the CPU backend:
 * counters, memory errors, races. The harness calls these functions; common/profiler provides them,
 * in the traced twin of each program alone. A normal program has none: instruments() is NULL there.
 */
#ifndef HARNESS_INSTRUMENTS_H
#define HARNESS_INSTRUMENTS_H

#include "matrix/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is counted ------------------------------------------------------------------------- */

/* Accesses of one kind. A request is one instruction of a warp, whatever the number of its lanes
 * that take part. */
typedef struct access_counters {
    int64_t requests;
    int64_t lanes; /* that took part, over all requests */
    int64_t bytes; /* the lanes asked for, each lane's counted */
    /* Global memory: 32-byte sectors touched. Shared memory: wavefronts, that is passes through the
     * 32 banks. */
    int64_t cost;
    /* The least cost of requests of this size: sectors or wavefronts if the lanes' bytes lay side by
     * side. */
    int64_t ideal;
    /* Atomics: how many lanes of each request went to its most wanted address, summed: they take
     * turns. */
    int64_t serial;
} access_counters;

enum access_kind {
    GLOBAL_LOAD,
    GLOBAL_STORE,
    GLOBAL_ATOMIC,
    SHARED_LOAD, /* ldmatrix, too */
    SHARED_STORE,
    SHARED_ATOMIC,
    ACCESS_KINDS
};

/* Warp-wide operations other than plain accesses. */
enum warp_operation {
    OP_BARRIER, /* __syncthreads, once a warp */
    OP_SYNCWARP,
    OP_SHUFFLE,
    OP_VOTE, /* votes, matches and reductions */
    OP_MMA,
    OP_LDMATRIX,
    OP_ASYNC_COPY,
    WARP_OPERATIONS
};

/* Everything counted about the launches of one kernel, or about several kernels together. */
typedef struct counters {
    int64_t launches, blocks, warps, threads;
    access_counters access[ACCESS_KINDS];
    int64_t operations[WARP_OPERATIONS];
    /* Steps of warps: memory accesses, the operations above, and basic blocks of the code; and the
     * lanes active in them. lane_steps / (32 * steps) is the SIMT efficiency. */
    int64_t steps, lane_steps;
    /* The same over memory accesses alone: it does not depend on how a compiler cuts basic blocks. */
    int64_t memory_steps, memory_lanes;
    /* Work is counted in memory accesses and warp operations of a warp. The longest warp's; and the
     * sums behind the imbalances, each the most loaded one's share over the mean. */
    int64_t work, longest_warp, longest_block, busiest_sm;
    int sms;
    /* The cache model: sectors that loads found in L1; bytes between L1 and L2, and between L2 and
     * memory. */
    int64_t l1_hit_sectors;
    int64_t l2_read_bytes, l2_write_bytes, dram_read_bytes, dram_write_bytes;
    /* Count loads that missed L1 and waited for L2, or for memory, along the longest chain of
     * warps. In a chain each warp starts when another has left its place on the SM. */
    int64_t longest_l2_waits, longest_dram_waits;
} counters;

/* One instruction of the source: a line of it, what it does, with how many bytes a lane. */
typedef struct line_profile {
    char where[160]; /* "labs/02_warp_per_row/lab.cu:33" */
    enum access_kind kind;
    int size;
    access_counters n;
} line_profile;

typedef struct kernel_profile {
    char name[64];   /* as the launch spells it */
    char where[160]; /* file:line of its first launch */
    bool in_prepare; /* launched by prepare, not by run */
    unsigned grid[3], block[3];
    size_t dynamic_shared_bytes;
    double sampled; /* the share of its blocks that was traced */
    counters total;
    line_profile *lines; /* by source line */
    size_t num_lines;
} kernel_profile;

/* ---- what is predicted ----------------------------------------------------------------------- */

/* A roofline estimate of one run, never a measurement: the time each resource would take, in ms. */
enum resource {
    LIMIT_DRAM,
    LIMIT_L2,
    LIMIT_L1, /* global sectors and shared wavefronts through the data stage of the SMs */
    LIMIT_ISSUE,
    LIMIT_ATOMICS,
    LIMIT_LONGEST_WARP, /* the one with most to wait for: latency, not bandwidth */
    LIMIT_LAUNCH,
    RESOURCES
};
extern const char *const RESOURCE_NAMES[RESOURCES];

typedef struct prediction {
    double ms; /* not always that of one resource: see predict.c */
    double resource_ms[RESOURCES];
    enum resource limit; /* the largest of them, launches aside unless they are */
} prediction;

/* ---- what is found --------------------------------------------------------------------------- */

typedef struct finding {
    char kind[32];   /* "race", "out of bounds", "uninitialised read", ... */
    char text[512];  /* one sentence: who does what to which element of which array */
    char where[160]; /* file:line */
    char other[160]; /* the other line of a race; "" if there is none */
    char kernel[64];
    unsigned block[3], thread[3]; /* of the first occurrence */
    char advice[256];             /* the fix to think of */
    int64_t count; /* how often it was seen; 0: it is no thread's, but the launch's as a whole */
} finding;

/* Traces of an access that show afterwards: that kernels or copies have read the bytes, or stored them; or that
 * those or a fill, as cudaMemset's, have written them. */
enum sight { SEEN_READ, SEEN_STORED, SEEN_WRITTEN };

/* ---- what is recorded ------------------------------------------------------------------------ */

/* One instruction of a warp: what its lanes did together. */
typedef struct recorded_step {
    int line; /* of the recording's lines */
    unsigned warp;
    int kind; /* an access_kind, or ACCESS_KINDS + a warp_operation */
    int size; /* bytes a lane */
    uint32_t lanes;
    int64_t barrier;   /* number of the __syncthreads in its block, from 1; 0: no such */
    access_counters n; /* this request's share of the counters; zero for operations */
    /* Places of an access: where the i-th lowest lane's bytes lie. Global memory counts from its start.
     * Shared memory counts from the start of the static variables, or from DYNAMIC_SHARED_AT. */
    int64_t at[32];
} recorded_step;
enum { DYNAMIC_SHARED_AT = 1 << 24 };

/* A named range of memory that a recorded step touches. */
typedef struct recorded_array {
    char name[64];
    bool shared;
    int64_t start, bytes; /* as in recorded_step.at */
    int64_t element;      /* bytes of one; 0: not known */
} recorded_array;

/* A finding, as number of the list of findings, and its two steps in the recording; -1: not in it. */
typedef struct recorded_finding {
    size_t finding;
    long step, other_step;
    int lane, other_lane; /* in their warps */
} recorded_finding;

/* One block of a launch: the instructions of its warps, in the order in which this machine ran them. */
typedef struct recording {
    char kernel[64];
    bool in_prepare;
    unsigned grid[3], block[3], at[3]; /* at: blockIdx of the recorded one, ... */
    uint64_t number;                   /* ... which is its number in the grid */
    char why[96];                      /* this block and warp: "the first block" */
    unsigned warps, warp;              /* of the block; the one to look at first */
    recorded_step *steps;
    size_t num_steps;
    int64_t left_out; /* steps of the block that there was no room for */
    char (*lines)[160];
    size_t num_lines;
    recorded_array *arrays;
    size_t num_arrays;
    recorded_finding *findings;
    size_t num_findings;
} recording;

void recordings_free(recording *all, size_t count); /* NULL is fine */

/* ---- the instruments ------------------------------------------------------------------------- */

enum {
    INSTRUMENT_COUNTERS = 1,
    INSTRUMENT_MEMCHECK = 2,
    INSTRUMENT_RACECHECK = 4,
    INSTRUMENT_TRACE = 8 /* record a block of each kernel */
};

/* Which warp to record: of the given block, or the first; with most sectors a request; the longest. */
enum trace_pick { TRACE_GIVEN, TRACE_WORST, TRACE_LONGEST };

typedef struct instrument_settings {
    int which;         /* INSTRUMENT_* ored */
    const char *model; /* the GPU whose caches are modelled, "h200" */
    double sample;     /* the share of the blocks of each launch of `run` to trace; 1: all */
    enum trace_pick pick;
    int64_t trace_block, trace_warp; /* of TRACE_GIVEN; -1: not given */
} instrument_settings;

typedef struct instruments {
    /* Once, before anything else. STATUS_USAGE for a model that does not exist (the message names the
     * nearest), STATUS_MEMORY if there is no room. */
    enum status (*open)(const instrument_settings *settings, error_text *error);

    /* Gives a range of device memory the name that findings call it by. `element` is the size of one
     * element in bytes. A read-only array must not be written by a kernel. */
    void (*name_array)(const void *start, size_t bytes, size_t element, const char *name,
                       bool read_only);
    void (*forget_names)(void);
    /* Makes a range count as never written, whatever the host filled it with: a kernel that reads it
     * before it has written it is in error. May be NULL. */
    void (*forget_contents)(const void *start, size_t bytes);

    /* Traces all launches between begin and end. `progress` (may be NULL) is called now and
     * then with the share of the current launch that is done, 0 to 1. */
    void (*begin)(bool in_prepare, void (*progress)(const char *kernel, double done));
    void (*end)(void);

    /* Profiles of the kernels traced since the last `reset`, in order of their first launch, one for
     * each kernel and phase. They stay the instruments'. */
    size_t (*profiles)(const kernel_profile **all);
    size_t (*findings)(const finding **all);
    /* Hands over what was recorded since the last `reset`, one for each kernel and phase. The caller
     * frees it. NULL without memory, or without a recording. May be NULL. Later contenders are
     * recorded where they load the value of A that the first one loaded first. */
    recording *(*recordings)(size_t *count);
    /* Bytes of a named range that were seen to be accessed so since the last `reset` or
     * forget_contents. May be NULL. And whether the host has handed the device any data between
     * begin and end since the reset: then inputs may have come that way. May be NULL. */
    int64_t (*seen)(const void *start, size_t bytes, enum sight what);
    bool (*handed)(void);
    /* Adds a finding, "hidden accesses", at the launch of the last kernel. */
    void (*note_hidden)(const char *text);
    /* The estimate for one run on the chosen model: kernels in_prepare do not count. */
    void (*predict)(prediction *p);
    void (*reset)(void);

    /* Names the chosen model: "NVIDIA H200", and its cache model in one line. */
    const char *(*model_name)(void);
    const char *(*model_text)(void);
} instruments;

/* NULL in a program that is not traced. */
const instruments *instruments_here(void);
/* Called before main() by what provides them. */
void instruments_install(const instruments *all);

/* Adds one set of counters to another: launches that follow each other. The longest warp and block
 * are the longest of both; what the busiest SM does, and the waits of the longest warp, add up. */
void counters_add(counters *to, const counters *from);
void access_counters_add(access_counters *to, const access_counters *from);

#ifdef __cplusplus
}
#endif
#endif
