/*
 * json.h - JSON by RFC 8259.
 */
#ifndef RESULTS_JSON_H
#define RESULTS_JSON_H

#include "harness/inspect.h"

#include <stdio.h>

/* A string in quotes. Bytes that are not UTF-8 become U+FFFD. */
void json_text(FILE *out, const char *text);

/* The members of a row's object that a table has no room for, each after a comma: "kernels" with their
 * counters and lines, "prediction", "findings". */
void json_inspection(FILE *out, const inspection *i);

#endif
