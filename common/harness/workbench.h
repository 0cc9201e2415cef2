/*
 * workbench.h - one problem laid out on the device, and contenders evaluated on it.
 */
#ifndef HARNESS_WORKBENCH_H
#define HARNESS_WORKBENCH_H

#include "harness/device.h"
#include "harness/inspect.h"
#include "harness/options.h"
#include "harness/timing.h"
#include "harness/verify.h"

/* A second problem on the same matrix: other inputs, which are whole numbers. */
typedef struct probe {
    problem problem;
    reference reference;
    bool made; /* not for every operation, matrix and precision there is one */
} probe;

typedef struct workbench {
    const options *options;
    const device_info *device;
    const problem *problem;
    reference reference;
    probe probe;
    guarded_array input[MAX_OPERANDS], output[MAX_OUTPUTS];
    uint64_t input_hash[MAX_OPERANDS]; /* of the contents as uploaded last */
    float *host_output[MAX_OUTPUTS];
    void *host_image; /* room for an output as it is on the device, where that is not fp32 */
} workbench;

/* Outcome of one contender. */
typedef struct outcome {
    enum status status; /* STATUS_OK; or why there is no time: WRONG, MEMORY, RUNTIME, SKIPPED */
    char message[256];  /* one sentence where status is not OK */
    int tuning[MAX_TUNABLES]; /* the settings that ran: prepare may have narrowed those asked for */
    char settings[224];       /* the same as text, and those of contenders that do its work */
    double prepare_ms;        /* NAN under simt */
    least_work least;         /* what a run cannot do without; all 0 where nothing is known */
    timing timing;            /* NANs unless timed */
    const char *untimed;      /* the contender's */
    comparison comparison;    /* the comparison that decided; elements == 0 if none was made */
    inspection *inspection;   /* what instruments say, the caller's to free; NULL without them */
    long host_calls;          /* of the last checked run, beside launches: device_host_calls */
    bool prepared_anew;       /* for new values, where update_values could not */
    bool unwritten; /* wrong, of a lab before the own one that still has its TODO: SKIPPED */
} outcome;

/* Uploads the problem and computes its oracle. STATUS_MEMORY where the device has too little room,
 * with the need and the room in the message. On failure nothing is left allocated. */
enum status workbench_create(workbench *w, const options *o, const device_info *device,
                             const problem *p, error_text *error);
void workbench_destroy(workbench *w);

/* Prepares, checks, times and checks again, by the contracts of the design: the output is filled
 * with NaN before the checked and before the timed runs, guards and inputs are inspected after
 * both. Under simt, which keeps no time, one more run takes the place of the timed ones. The last
 * run is that of the probe: other values, which update_values or a new prepare makes known, and
 * other dense inputs, at the same addresses. What was kept of the first ones is wrong then. */
void workbench_evaluate(workbench *w, const contender *c, const int *tuning, outcome *out);

/* Prepares and runs once under the instruments. Their counters and findings are in the outcome. It
 * checks the result, unless only a sample of that was made. A finding makes a contender wrong. A
 * device that failed is reset; false means that it is lost, and nothing can follow. */
bool workbench_inspect(workbench *w, const contender *c, const int *tuning, outcome *out);

/* Fills every output with NaN. */
cudaError_t workbench_poison(workbench *w);
/* The outputs where run wants them: an address each. */
void workbench_outputs(const workbench *w, void **d_outputs);
/* Brings the outputs to host_output, as floats. */
cudaError_t workbench_fetch(workbench *w);

#endif
