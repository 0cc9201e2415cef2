/*
 * parts.h - how the time of a step is shared: events on the device between its parts.
 */
#ifndef TRAINING_PARTS_H
#define TRAINING_PARTS_H

#include <cuda_runtime_api.h>

/* Parts of a step that linear layers make. OTHER is activations, biases and the loss. */
enum part_of_layers {
    PART_FORWARD,
    PART_INPUT_GRADIENT, /* the values' way to the transpose is in it */
    PART_WEIGHT_GRADIENT,
    PART_UPDATE,
    PART_OTHER
};

/* Their names, "forward", "input_gradient" ..., ended by NULL. */
extern const char *const PARTS_OF_LAYERS[];

enum { MAX_PARTS = 8, MAX_MARKS = 1024 };

/* A stopwatch. Zeroed, it has no events; parts_free frees them. */
typedef struct parts {
    cudaEvent_t events[MAX_MARKS];
    int ended[MAX_MARKS]; /* which part ended there */
    int count, made;
} parts;

/* Begins a step; notes that a part has ended. NULL does nothing. Marks beyond MAX_MARKS: cudaErrorInvalidValue. */
cudaError_t parts_begin(parts *p);
cudaError_t parts_mark(parts *p, int ended);

/* Waits for the step, and adds its parts' milliseconds to ms[MAX_PARTS]. */
cudaError_t parts_add(const parts *p, double *ms);

void parts_free(parts *p);

#endif
