/*
 * times.h - how long a decoder takes: tokens a second of a whole generation, one step, its parts, a pass over a prompt. Every
 * time is that of a CUDA graph, between two events.
 */
#ifndef LLM_DECODE_TIMES_H
#define LLM_DECODE_TIMES_H

#include "decoder.h"

#include <math.h>

enum { MOST_RUNS = 1000 }; /* of any measurement */

/* NAN: not measured. */
typedef struct decoder_times {
    double tokens_per_s; /* of all sequences, while they generate; the prompt is not counted */
    double step_ms, step_iqr_ms; /* one step at the mean context */
    double stream_ms;            /* the same without a graph: kernel by kernel */
    double part_ms[NUM_PARTS];   /* of all layers, at that context */
    double pass_ms;              /* of a pass over a prompt: see times_of_pass */
} decoder_times;

/* Times where nothing is measured. */
decoder_times times_none(void);

/* The sum of the parts. */
double times_sum(const decoder_times *t);

/* Measures a decoder of one token a sequence; `runs` generations and steps, of which the median counts. The runs of a
 * generation must choose the same tokens, else STATUS_WRONG. */
enum status times_of_decoding(decoder *d, int runs, decoder_times *t, error_text *error);

/* Measures the step alone, at the mean context: for choosing between layouts. */
enum status times_of_step(decoder *d, int runs, double *median_ms, double *iqr_ms,
                          error_text *error);

/* Measures a pass over the first tokens of all sequences. */
enum status times_of_pass(decoder *d, int runs, double *median_ms, error_text *error);

#endif
