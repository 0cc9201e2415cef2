/*
 * room.h - will a problem fit? Counted before anything of it is made, and said with the number of devices that would hold it.
 */
#ifndef HARNESS_ROOM_H
#define HARNESS_ROOM_H

#include "harness/options.h"
#include "matrix/dataset.h"

/* The fewest devices, each with `room` free bytes, that hold `need` bytes if each has `on_each` of them and the rest is
 * shared; 0 if no number does. 0 <= on_each <= need. */
int64_t devices_needed(double need, double on_each, double room);

/* STATUS_MEMORY where `need` bytes exceed the free memory of the device. `on_each`: those that every one of several devices
 * would hold, as B of SpMM; negative: nothing is known of several. `width` names what to make smaller. */
enum status room_on_device(double need, double on_each, const char *width, error_text *error);

/* Returns STATUS_MEMORY where the problems of a dataset take more than the device or this machine has, even at the least
 * width asked for. The registry must know the dataset's counts. Nothing is made or read. Other datasets, and operations
 * without a footprint, are counted when they are made. */
enum status room_ahead(const dataset *d, const options *o, enum precision precision,
                       error_text *error);

#endif
