/*
 * memory.h - will it fit? Asked before every large allocation.
 *
 * Linux grants nearly any malloc and kills the process when the pages are touched; a course machine
 * is better served by one line that says how much is missing.
 */
#ifndef MATRIX_MEMORY_H
#define MATRIX_MEMORY_H

#include "matrix/status.h"

#include <stdint.h>

/* Bytes that this process can still touch without swapping: the kernel's MemAvailable, or less
 * where a control group (a container's, a batch job's; versions 1 and 2), or one above it, sets a
 * limit. INT64_MAX where neither is told. */
int64_t memory_available(void);

/* The same by what stands under other folders than /proc and /sys/fs/cgroup: for tests. */
int64_t memory_available_by(const char *proc, const char *cgroup);

/* STATUS_MEMORY, with both numbers in the message, if `bytes` exceed what is available. `what`
 * names the thing that needs them ("the matrix"). */
enum status memory_check(int64_t bytes, const char *what, error_text *error);

#endif
