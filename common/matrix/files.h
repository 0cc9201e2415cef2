/*
 * files.h - writing files so that nothing is ever lost or half-written, and where caches live.
 */
#ifndef MATRIX_FILES_H
#define MATRIX_FILES_H

#include "matrix/status.h"

#include <stdbool.h>
#include <stdio.h>

/* A file being written. What is written goes to a temporary file in the same folder. Then
 * output_close renames it over `path`, so a reader sees the old contents or the new. A path that
 * exists and is no regular file (/dev/stdout, a pipe) is written directly. */
typedef struct output_file {
    FILE *stream;
    char path[4096];
    char temporary[4096]; /* empty: written directly */
} output_file;

/* STATUS_RUNTIME, with the reason, if `path` cannot be written. */
enum status output_open(output_file *f, const char *path, error_text *error);

/* Closes and renames. On any failure, also of an earlier write, the old file stays as it was. */
enum status output_close(output_file *f, error_text *error);

/* Gives up: removes the temporary file. */
void output_discard(output_file *f);

/* Lets write(out, arg) fill the file at `path`; "-" is standard output, which is flushed; NULL: nothing is written. */
enum status output_write(const char *path, void (*write)(FILE *out, const void *arg),
                         const void *arg, error_text *error);

/* Flushes standard output. A failure is reported once, by the call that finds it. */
enum status output_flush(error_text *error);

/* Ends a program: flushes standard output, then says on standard error in one line what failed, if anything did.
 * Returns the status that main returns. */
enum status output_end(const char *program, enum status status, error_text *error);

/* Whether `path` exists and is no regular file: what was written there cannot be replaced. */
bool output_is_stream(const char *path);

/* Finds out whether `path` can be written, leaving it as it is. Opens no stream: the reader of a
 * named pipe would take the closing for the end. */
enum status output_check(const char *path, error_text *error);

/* Whether two outputs would be one: the same regular file, there already or not, or the same word. */
bool output_is_same(const char *a, const char *b);

/* The path of `name` in the suite's cache folder, $XDG_CACHE_HOME/spmm-lab (default
 * ~/.cache/spmm-lab), which is made if need be. STATUS_RUNTIME if there is no such place. */
enum status cache_path(const char *name, char *path, size_t bytes, error_text *error);

#endif
