#include "matrix/text.h"

#include "matrix/foreign.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_BYTES = 1 << 18 }; /* within the second-level cache: the digits are read twice */

/* Keeps the unread bytes and fills the rest of the buffer. */
static void refill(text_input *in)
{
    size_t kept = (size_t)(in->end - in->at), got = 0;
    memmove(in->buffer, in->at, kept);
    in->stream_status =
        stream_read(in->stream, in->buffer + kept, WINDOW_BYTES - kept, &got, &in->stream_error);
    in->last_window = in->stream_status != STATUS_OK || got < WINDOW_BYTES - kept;
    in->at = in->buffer;
    in->end = in->buffer + kept + got;
    in->buffer[kept + got] = 0;
}

static enum status open_window(text_input *in, error_text *error)
{
    in->buffer = malloc(WINDOW_BYTES + 1);
    if (!in->buffer) return fail(error, STATUS_MEMORY, "no memory to read a file");
    in->at = in->end = in->buffer;
    in->line = 1;
    refill(in);
    const char *foreign = foreign_content(in->at, (size_t)(in->end - in->at));
    if (foreign) return fail(error, STATUS_DATASET, "%s: %s", in->name, foreign);
    in->at += utf8_mark(in->at, (size_t)(in->end - in->at));
    if (in->at != in->end) return STATUS_OK;
    if (in->stream_status != STATUS_OK) return text_fail(in, error, "unreadable");
    return fail(error, STATUS_DATASET, "%s: the file is empty", in->name);
}

enum status text_open(text_input *in, const char *path, error_text *error)
{
    *in = (text_input){0};
    snprintf(in->name, sizeof in->name, "%s", path);
    enum status status = stream_open(&in->stream, path, error);
    if (status == STATUS_OK) status = open_window(in, error);
    if (status != STATUS_OK) text_close(in);
    return status;
}

enum status text_open_in_tar(text_input *in, const char *path, const char *suffix,
                             error_text *error)
{
    *in = (text_input){0};
    char member[256];
    enum status status = stream_open(&in->stream, path, error);
    if (status == STATUS_OK)
        status = stream_enter_tar(in->stream, suffix, member, sizeof member, error);
    if (status == STATUS_OK) {
        snprintf(in->name, sizeof in->name, "%.700s:%s", path, member);
        status = open_window(in, error);
    }
    if (status != STATUS_OK) text_close(in);
    return status;
}

void text_close(text_input *in)
{
    stream_close(in->stream);
    free(in->buffer);
    *in = (text_input){0};
}

enum status text_fail(text_input *in, error_text *error, const char *format, ...)
{
    if (in->stream_status != STATUS_OK)
        return fail(error, in->stream_status, "%s", in->stream_error.text);
    char reason[512];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return fail(error, STATUS_DATASET, "%.450s:%" PRId64 ": %s", in->name, in->line, reason);
}

/* Describes the text at `at`, fit for a message: a word in quotes, with bytes that do not print in hex. */
static void describe(const text_input *in, char *text, size_t capacity)
{
    enum { LONGEST = 24 };
    if (text_at_end(in)) {
        snprintf(text, capacity, "the end of the file");
        return;
    }
    if (*in->at == '\n') {
        snprintf(text, capacity, "the end of the line");
        return;
    }
    const char *p = in->at;
    size_t n = (size_t)snprintf(text, capacity, "'");
    for (; p < in->end && !isspace((unsigned char)*p) && p - in->at < LONGEST; p++)
        n += (size_t)snprintf(text + n, capacity - n, isprint((unsigned char)*p) ? "%c" : "\\x%02x",
                              (unsigned char)*p);
    snprintf(text + n, capacity - n, p - in->at < LONGEST ? "'" : "...'");
}

enum status text_expected(text_input *in, const char *wanted, error_text *error)
{
    char found[128];
    describe(in, found, sizeof found);
    return text_fail(in, error, "expected %s, found %s", wanted, found);
}

enum status text_check_promise(text_input *in, int64_t count, const char *what, error_text *error)
{
    /* A digit and a separator each; the last one needs no separator. */
    int64_t most = stream_most_bytes(in->stream) / 2 + 1;
    if (count <= most) return STATUS_OK;
    return text_fail(in, error,
                     "%" PRId64 " %s are promised, but the file can hold %" PRId64 " at most",
                     count, what, most);
}

void text_move_window(text_input *in)
{
    while (in->end - in->at < TEXT_LOOKAHEAD && !in->last_window) {
        refill(in);
        while (text_is_blank(*in->at))
            in->at++;
    }
}

void text_skip_line(text_input *in)
{
    for (;;) {
        const char *newline = memchr(in->at, '\n', (size_t)(in->end - in->at));
        in->at = newline ? newline + 1 : in->end;
        if (newline) in->line++;
        if (newline || in->last_window) return;
        refill(in);
    }
}

enum status text_end_line(text_input *in, error_text *error)
{
    text_skip_blanks(in);
    if (!text_at_line_end(in)) return text_expected(in, "the end of the line", error);
    if (!text_at_end(in)) {
        in->at++;
        in->line++;
    }
    return STATUS_OK;
}

enum status text_finish(text_input *in, const char *last, error_text *error)
{
    char wanted[128];
    snprintf(wanted, sizeof wanted, "nothing after %s", last);
    if (text_skip_space(in)) return text_expected(in, wanted, error);
    if (in->stream_status != STATUS_OK) return text_fail(in, error, "unreadable");
    return STATUS_OK;
}

void text_word(text_input *in, char *word, size_t capacity)
{
    text_skip_blanks(in);
    size_t n = 0;
    for (; in->at < in->end && !text_ends_number(*in->at); in->at++) {
        if (n + 1 < capacity) word[n++] = (char)tolower((unsigned char)*in->at);
    }
    word[n] = 0;
}
