/*
 * text.h - scanning numbers out of large text files, at the speed of the digits.
 *
 * The text passes through a window of a buffer. The scanners rely on two guarantees instead of
 * testing every character: a NUL stands behind the last byte of the window, and after
 * text_skip_blanks() the window holds at least TEXT_LOOKAHEAD bytes or all there are. Tokens longer
 * than that are no numbers, and comments and blanks of any length are stepped over in pieces.
 *
 * Every message is "path:line: what is wrong". A file that cannot be read on (a corrupt .gz) looks
 * like a file that ends there. The next failure or text_finish() tells the true reason.
 */
#ifndef MATRIX_TEXT_H
#define MATRIX_TEXT_H

#include "matrix/status.h"
#include "matrix/stream.h"

#include <stdbool.h>
#include <stdint.h>

enum { TEXT_LOOKAHEAD = 256 };

typedef struct text_input {
    const char *at, *end; /* the unread part of the window; *end == 0 */
    int64_t line;         /* the line `at` stands in, from 1 */
    bool last_window;     /* nothing lies behind `end` */

    byte_stream *stream;
    char *buffer;
    char name[1024];           /* for messages: the path, with the archive member's behind it */
    enum status stream_status; /* why the window cannot move on ... */
    error_text stream_error;   /* ... if it is not the end of the file */
} text_input;

/* Opens a text file, plain or gzipped, and passes over UTF-8's mark at its beginning. An empty file
 * is refused, and so is foreign content (foreign.h). On success the caller closes it. */
enum status text_open(text_input *in, const char *path, error_text *error);

/* The same for a member of a tar archive, as stream_enter_tar chooses it. */
enum status text_open_in_tar(text_input *in, const char *path, const char *suffix,
                             error_text *error);
void text_close(text_input *in);

/* Leaves "name:line: ..." in `error`, or the stream's own failure if there was one. */
enum status text_fail(text_input *in, error_text *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As text_fail, with what stands at `at` in place of what was wanted:
 * "x.mtx:7: expected a row number, found 'abc'". */
enum status text_expected(text_input *in, const char *wanted, error_text *error);

/* Refuses a count that cannot be true: `count` numbers, each with a separator, take more bytes than
 * the file can hold. Comes before any allocation of that size. */
enum status text_check_promise(text_input *in, int64_t count, const char *what, error_text *error);

/* ---- moving ---------------------------------------------------------------------------------- */

/* The slow half of text_skip_blanks: moves the window on, and skips what blanks come in. */
void text_move_window(text_input *in);

static inline bool text_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Skips blanks inside a line; afterwards the lookahead is guaranteed. */
static inline void text_skip_blanks(text_input *in)
{
    while (text_is_blank(*in->at))
        in->at++;
    if (in->end - in->at < TEXT_LOOKAHEAD && !in->last_window) text_move_window(in);
}

/* Skips blanks, and one comma among them if there is one: "1, 2", "1,2", "1 2". */
static inline void text_skip_separator(text_input *in)
{
    text_skip_blanks(in);
    if (*in->at != ',') return;
    in->at++;
    text_skip_blanks(in);
}

/* Whether all text is read, or all of the line. To be asked after skipping blanks. */
static inline bool text_at_end(const text_input *in)
{
    return in->at == in->end;
}
static inline bool text_at_line_end(const text_input *in)
{
    return *in->at == '\n' || text_at_end(in);
}

/* Skips blanks and line ends. False at the end of the text. */
static inline bool text_skip_space(text_input *in)
{
    text_skip_blanks(in);
    while (*in->at == '\n') {
        in->line++;
        in->at++;
        text_skip_blanks(in);
    }
    return !text_at_end(in);
}

/* Skips the rest of the line and its end. */
void text_skip_line(text_input *in);

/* Moves to the first character of the next line that is neither blank nor a comment, one whose
 * first character is `comment` or `other_comment`. False at the end of the text. */
static inline bool text_next_entry(text_input *in, char comment, char other_comment)
{
    while (text_skip_space(in)) {
        if (*in->at != comment && *in->at != other_comment) return true;
        text_skip_line(in);
    }
    return false;
}

/* Steps over the end of the line; anything else before it is refused. */
enum status text_end_line(text_input *in, error_text *error);

/* Ends the reading, when all is read: anything left but blank lines is refused, and so is a stream that
 * failed. `last` names what came last ("the last entry"). */
enum status text_finish(text_input *in, const char *last, error_text *error);

/* ---- words and numbers ----------------------------------------------------------------------- */

/* Copies the word at the cursor to `word`, in lower case, cut at capacity - 1 letters. A blank, a
 * comma or the line's end ends it. `word` is empty if there is none. */
void text_word(text_input *in, char *word, size_t capacity);

/* The general case of text_int: signs, leading zeros, and every failure. */
enum status text_int_general(text_input *in, const char *what, int64_t least, int64_t most,
                             int64_t *value, error_text *error);

/* Whether c may follow a number. (NUL is the end of the window, or binary garbage that whoever
 * looks next will refuse.) */
static inline bool text_ends_number(char c)
{
    return (unsigned char)c <= ' ' || c == ',';
}

/* Reads an integer of least .. most from the current line, after blanks. `what` names it in
 * messages ("a row number"). */
static inline enum status text_int(text_input *in, const char *what, int64_t least, int64_t most,
                                   int64_t *value, error_text *error)
{
    enum { ALWAYS_FITS = 18 }; /* digits of an int64_t */
    text_skip_blanks(in);
    const char *p = in->at;
    int64_t number = 0;
    for (unsigned digit; (digit = (unsigned)*p - '0') < 10 && p - in->at < ALWAYS_FITS; p++)
        number = number * 10 + digit;
    if (p == in->at || !text_ends_number(*p) || number < least || number > most)
        return text_int_general(in, what, least, most, value, error);
    in->at = p;
    *value = number;
    return STATUS_OK;
}

/* Reads a decimal number from the current line, after blanks ("1.5", "-2e3", Fortran's "1D+05"): the
 * nearest fp32 number to what is written, or what "inf" and "nan" name. A number beyond fp32 ("1e39") is refused. */
enum status text_float(text_input *in, const char *what, float *value, error_text *error);

#endif
