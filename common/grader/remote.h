/*
 * remote.h - the grader's end of the channel: a runner in confinement, asked one thing at a time.
 */
#ifndef GRADER_REMOTE_H
#define GRADER_REMOTE_H

#include "grader/channel.h"
#include "grader/confine.h"

typedef struct remote {
    confined process;
    int fd;
    double until;  /* by wall_ms(): when its time is over */
    char why[400]; /* the first thing that went wrong; "" while nothing has */
} remote;

/* Starts the runner at `program`; `instruments` (INSTRUMENT_* ored) for a traced one. Its output goes
 * to the file `log`. All that follows must be done in `seconds` of processor time; r->process.out_of_time says
 * whether that was not enough. */
bool remote_open(remote *r, const char *program, int instruments, const char *log, double seconds);
/* Kills it, whatever it is doing. */
void remote_close(remote *r);

/* Each asks and waits for the answer; false, with r->why, if that is late, malformed or a refusal.
 * After that every further question fails at once. */
bool remote_put(remote *r, int array, const void *image, size_t bytes, const char *name,
                size_t element, bool read_only);
bool remote_get(remote *r, int array, void *image, size_t bytes);
bool remote_prepare(remote *r, const prepare_request *request, const csr_matrix *A,
                    const char *settings);
/* *ms is how long the answer took by this process's clock. One of *seen and *report is NULL: the latter is what
 * a traced runner answers. */
bool remote_run(remote *r, const run_step *steps, int count, uint64_t key, double *ms, look *seen,
                trace_report *report);
/* The fingerprints alone, without a run. */
bool remote_look(remote *r, const run_step *steps, int count, uint64_t key, double *ms, look *seen);

/* Text from a runner, fit to be shown: one line of printable characters. */
void remote_clean(char *text);

#endif
