/*
 * bench.h - one matrix, several right-hand sides, and slots on a runner's device to multiply them in.
 *
 * Every run is told which slot to work on, and what each slot holds is renewed between runs: another
 * right-hand side at the same address, the outputs filled with NaN, guards of secret bytes around them.
 * So a result that is kept, skipped or made elsewhere shows.
 */
#ifndef GRADER_BENCH_H
#define GRADER_BENCH_H

#include "grader/remote.h"
#include "harness/verify.h"

enum { MAX_SIDES = MAX_STEPS };

typedef struct bench {
    const operation *operation;
    csr_matrix A;
    row_stats stats;
    int width;
    enum precision precision;
    bool whole;  /* of whole numbers: see problem.whole */
    bool turned; /* the problem's knobs are any, by the secret; else their initial values */
    int num_sides;
    problem sides[MAX_SIDES];        /* alike but for their dense inputs */
    reference references[MAX_SIDES]; /* computed when first needed */
    bool varies[MAX_OPERANDS];       /* the input is another one on each side */
    unsigned char *image;            /* room for the largest array with its guards */
    float *results[MAX_OUTPUTS];     /* what a slot's outputs held when they were fetched */
    uint64_t secret;
    int held[MAX_SIDES]; /* which side each slot holds */
    /* With which key the slot was fingerprinted after its last run, and what came of it; 0: it was not. */
    uint64_t keys[MAX_SIDES];
    fingerprint said[MAX_SIDES][MAX_OUTPUTS];
} bench;

/* Takes A over, also on failure. */
enum status bench_open(bench *b, const operation *op, csr_matrix *A, int width,
                       enum precision precision, int num_sides, uint64_t secret, error_text *error);
/* The same with knobs that nobody can foresee. */
enum status bench_open_turned(bench *b, const operation *op, csr_matrix *A, int width,
                              enum precision precision, int num_sides, uint64_t secret,
                              error_text *error);
/* The same of one side, of whole numbers. STATUS_SKIPPED: there is no such problem. */
enum status bench_open_whole(bench *b, const operation *op, csr_matrix *A, int width,
                             enum precision precision, uint64_t secret, error_text *error);
void bench_close(bench *b);

/* Bytes of what a slot has of its own: inputs that vary, and outputs. Of two sides or more. */
size_t bench_slot_bytes(const bench *b);
/* Adds sides, to num_sides of them or MAX_SIDES, whichever is less. */
enum status bench_widen(bench *b, size_t num_sides, error_text *error);

/* The rest returns false with r->why: where the text begins with "the submission" or speaks of
 * elements, it is the submission's fault. */

/* Sends what all sides share and prepares the contender of `lab`. */
bool bench_prepare(bench *b, remote *r, int lab, const char *settings);
/* Puts a side into a slot, with fresh outputs. */
bool bench_load(bench *b, remote *r, int slot, int side);
/* Runs the slots in this order; *ms is how long it took until the fingerprints of the results were here. A report
 * is what a traced runner gives in their place. */
bool bench_run(bench *b, remote *r, const int *slots, int count, double *ms, trace_report *report);
/* How long fingerprints of these slots take by themselves. */
bool bench_look(bench *b, remote *r, const int *slots, int count, double *ms);
/* Compares what the slot's outputs hold now: all of it, or of each `sample` rows that nobody can have
 * known before. The guards must be whole, and the outputs be those that the fingerprints were of. */
bool bench_check(bench *b, remote *r, int slot, int sample);
/* The inputs of a slot are what they were. */
bool bench_check_inputs(bench *b, remote *r, int slot);

#endif
