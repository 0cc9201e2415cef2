/*
 * failure.h - how functions of the library fail, and how they take turns.
 */
#ifndef LIBRARY_FAILURE_H
#define LIBRARY_FAILURE_H

#include "library/sparse_plan.h"
#include "matrix/status.h"

/* Writes this thread's error text, and returns `status`. */
enum sparse_status refuse(enum sparse_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same of an error of the suite, whose text says what it was; of one of the runtime, in `doing`. */
enum sparse_status refuse_status(enum status status, const error_text *error);
enum sparse_status refuse_cuda(cudaError_t error, const char *doing);

/* Between them no other thread is in the library: registries and facts of the device are found on first use. */
void library_enter(void);
void library_leave(void);

#endif
