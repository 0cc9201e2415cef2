/*
 * foreign.h - files that hold a matrix in a wrapping which is not read here, told by their first
 * bytes: other compressions, other encodings of text, old line ends.
 */
#ifndef MATRIX_FOREIGN_H
#define MATRIX_FOREIGN_H

#include <stddef.h>

/* Says what a file that begins with these bytes is, and what to do with it: "bzip2 data; unpack it
 * first (bunzip2)". NULL for text of one byte a letter, and for what nobody knows. */
const char *foreign_content(const char *head, size_t bytes);

/* The bytes of UTF-8's mark at the beginning of a text: 3 or 0. Editors on Windows write it. */
size_t utf8_mark(const char *head, size_t bytes);

#endif
