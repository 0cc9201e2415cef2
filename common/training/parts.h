/*
 * parts.h - how the time of a step is shared: events on the device between its parts.
 */
#ifndef TRAINING_PARTS_H
#define TRAINING_PARTS_H

#include <cuda_runtime_api.h>

/* The parts of a training step. OTHER is activations, biases and the loss. */
enum part_of_step {
    PART_FORWARD,
    PART_INPUT_GRADIENT, /* the values' way to the transpose is in it */
    PART_WEIGHT_GRADIENT,
    PART_UPDATE,
    PART_OTHER,
    NUM_PARTS
};

/* "forward", "input_gradient" ... */
const char *part_name(enum part_of_step part);

enum { MAX_MARKS = 1024 };

/* A stopwatch. Zeroed, it has no events; parts_free frees them. */
typedef struct parts {
    cudaEvent_t events[MAX_MARKS];
    enum part_of_step ended[MAX_MARKS]; /* which part ended there */
    int count, made;
} parts;

/* Begins a step; notes that a part has ended. NULL does nothing. Marks beyond MAX_MARKS: cudaErrorInvalidValue. */
cudaError_t parts_begin(parts *p);
cudaError_t parts_mark(parts *p, enum part_of_step ended);

/* Waits for the step, and adds its parts' milliseconds to ms[NUM_PARTS]. */
cudaError_t parts_add(const parts *p, double *ms);

void parts_free(parts *p);

#endif
