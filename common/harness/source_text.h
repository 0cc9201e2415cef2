/*
 * source_text.h - lines of the labs' sources, to be shown beside what is said of them.
 */
#ifndef HARNESS_SOURCE_TEXT_H
#define HARNESS_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Copies line `number` (from 1) of a file to `text`, without the blanks around it. The file's name
 * is the first `length` characters of `file`, relative to the project's folder. False if it cannot
 * be read, or if it has been edited since this program was built: the line may be another now. */
bool source_text(const char *file, int length, int number, char *text, size_t bytes);

/* All of that file, under the same conditions; the caller frees it. NULL: it cannot be read, or has been
 * edited. */
char *source_whole(const char *file, int length);

#endif
