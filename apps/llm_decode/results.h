/*
 * results.h - results of llm_decode as a table, as CSV and as JSON.
 */
#ifndef LLM_DECODE_RESULTS_H
#define LLM_DECODE_RESULTS_H

#include "check.h"
#include "harness/device.h"
#include "times.h"

#include <stdio.h>

/* One decoder: checked, and perhaps timed. */
typedef struct result {
    decoder_settings settings;
    verdict v;
    agreement with_first; /* logits beside those of the first decoder; rows = 0: there was none */
    decoder_times times;
    int prefill;         /* columns of the pass over a prompt; 0: none */
    memory_count count;  /* by formula */
    double weight_bytes; /* as they are; NAN: not made */
    double making_s, checking_s,
        timing_s;    /* how long we wait for it; NAN: a time that means nothing */
    double bound_ms; /* of a step at the mean context; NAN: the device's rates are unknown */
    int runs;
    enum status status;
    error_text error;
} result;

/* The largest error over its bound in all parts. */
double result_worst(const result *r);

void results_print(const result *results, int count);

/* Writes them all: `path` may be "-". */
enum status results_write_csv(const char *path, const device_info *device, const result *results,
                              int count, error_text *error);
enum status results_write_json(const char *path, const device_info *device, const result *results,
                               int count, error_text *error);

#endif
