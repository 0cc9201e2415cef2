/*
 * arrays.h - a network's arrays on the device: made one by one, freed together.
 */
#ifndef TRAINING_ARRAYS_H
#define TRAINING_ARRAYS_H

#include "matrix/status.h"

#include <stddef.h>

/* Zeros: none yet. */
typedef struct device_arrays {
    void **at;
    int count;
} device_arrays;

/* Makes an array of `count` floats or ints, and puts its address into *array. All its bits are set: as floats NaN, so that
 * no number is right that nobody wrote. */
enum status arrays_allocate(device_arrays *own, void *array, size_t count, error_text *error);

/* The same, filled from the host. */
enum status arrays_upload(device_arrays *own, void *array, const void *from, size_t count,
                          error_text *error);

void arrays_free(device_arrays *own);

/* Adds up `count` floats of the device, on the host and in fp64. */
enum status array_sum(const float *d_array, int count, double *sum, error_text *error);

#endif
