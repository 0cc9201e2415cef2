/*
 * status.h - how every library function of the suite reports failure.
 *
 * A function that can fail returns an `enum status` and, when it is not STATUS_OK, leaves one line
 * in the `error_text` its caller passed. Nothing below main() prints or exits.
 */
#ifndef MATRIX_STATUS_H
#define MATRIX_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* The values are the exit codes of the programs, so that main() returns a status as it is. */
enum status {
    STATUS_OK = 0,
    STATUS_WRONG = 1,   /* a result was outside its error bound */
    STATUS_USAGE = 2,   /* the command line makes no sense */
    STATUS_DATASET = 3, /* a matrix could not be found, read or made */
    STATUS_RUNTIME =
        4,             /* the device, its driver or its runtime failed, or a file is not writable */
    STATUS_MEMORY = 5, /* does not fit in host or device memory */
    STATUS_SKIPPED = 77 /* needs a GPU, or a newer one (77 is what automake's harness uses) */
};

/* One line for the user: what failed, where (file:line or row), what to do next. */
typedef struct error_text {
    char text[1024];
} error_text;

/* Formats the message into `error` (which may be NULL) and returns `status`:
 *     return fail(error, STATUS_DATASET, "%s: row %ld: ...", path, row);
 * A message too long for the buffer is cut. */
enum status fail(error_text *error, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif
