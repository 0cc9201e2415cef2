/*
 * terminal.h - colours, and numbers that people compare at a glance.
 */
#ifndef HARNESS_TERMINAL_H
#define HARNESS_TERMINAL_H

#include <stdint.h>
#include <stdio.h>

/* Tables of counters and findings keep to this. */
enum { TERMINAL_WIDTH = 100 };

enum colour { PLAIN, GREEN, RED, YELLOW, CYAN, BOLD };

/* The escape sequence of a colour; "" unless `out` is a terminal and NO_COLOR does not object. */
const char *paint(FILE *out, enum colour c);

/* Room for one number as text. */
typedef struct amount_text {
    char text[32];
} amount_text;

/* A count with three digits and a unit: "3.84 M", "1.20 k", "12  ", right-aligned the digits line up.
 * "-" for NAN. */
amount_text amount(double value);
/* The same of bytes, "31.3 MB", and of a count in a sentence: no blanks to line up. */
amount_text bytes_in_words(double value);
amount_text in_words(double value);

/* "84 %", "0.4 %", "-" for NAN. */
amount_text percent(double share);

/* "3.21 x", "410 x", "-" for NAN. */
amount_text times(double ratio);

/* Text in lines of TERMINAL_WIDTH, each behind `indent` blanks. */
void print_folded(FILE *out, int indent, const char *text);

#endif
