/*
 * stream.h - the bytes of a file as its writer meant them: plain, gunzipped, or one member of a tar
 * archive. What gzip promises is checked: data that is cut short or does not match its checksum is
 * an error, not a shorter file. Members of gzip that were joined are one file, as for gunzip.
 */
#ifndef MATRIX_STREAM_H
#define MATRIX_STREAM_H

#include "matrix/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct byte_stream byte_stream;

/* Opens a regular file; gzip is told by its first bytes, not by its name. The path must outlive the
 * stream. STATUS_DATASET if it does not exist, is a directory, or may not be read. */
enum status stream_open(byte_stream **stream, const char *path, error_text *error);
void stream_close(byte_stream *stream);

/* Enters the archive's member <x>/<x><suffix>, or <x><suffix> without a folder, for any x: the way
 * SuiteSparse ships <x>.mtx among its companions. Copies the member's name to name[0 ..
 * capacity-1]. STATUS_DATASET if the stream is no tar archive or has no such member. */
enum status stream_enter_tar(byte_stream *stream, const char *suffix, char *name, size_t capacity,
                             error_text *error);

/* Reads up to `capacity` bytes; fewer only at the end of the data. */
enum status stream_read(byte_stream *stream, void *buffer, size_t capacity, size_t *got,
                        error_text *error);

/* Limit of the bytes that a packed file of `packed` bytes may unpack to, in gzip and zip: deflate can make 1032
 * times as much of it, but text and arrays of real matrices stay below a tenth of this ratio. 64 MB
 * are added, so that a small file of nothing but zeros is read, too. */
enum { MOST_EXPANSION = 100 };
int64_t stream_most_unpacked(int64_t packed);

/* No stream of this file yields more bytes than this: what a header promises beyond is a lie. */
int64_t stream_most_bytes(const byte_stream *stream);

/* The first bytes of the file, at most `capacity`, as stream_open and stream_read would give. */
enum status stream_head(const char *path, char *head, size_t capacity, size_t *got,
                        error_text *error);

/* Whether a file that begins so is a tar archive. */
bool stream_is_tar(const char *head, size_t bytes);

#endif
