/*
 * arguments.h - the command line of sparse_transformer.
 */
#ifndef SPARSE_TRANSFORMER_ARGUMENTS_H
#define SPARSE_TRANSFORMER_ARGUMENTS_H

#include "model.h"

#include <stdio.h>

enum variant { BOTH, SPARSE, DENSE };

typedef struct arguments {
    const char *mask;      /* a dataset of the suite: square, and each row has a column */
    const char *attention; /* contender of the operation attention, by name */
    int layers, heads, hidden, filter, runs, device;
    uint64_t seed;
    int variant;   /* enum variant */
    int precision; /* enum precision, fp32 or fp16: of attention */
    bool in_place, check_only, sweep, help;
    const char *csv, *picture, *rivals; /* files; NULL: none */
} arguments;

/* Reads the command line. STATUS_USAGE, with the nearest name, where it makes no sense. */
enum status arguments_read(int argc, char **argv, arguments *o, error_text *error);

void arguments_print_help(FILE *out);

/* The contender that o->attention names, in a precision. STATUS_USAGE: this program has none. */
enum status arguments_find_attention(const arguments *o, enum precision precision,
                                     const attention_contender **found, error_text *error);

#endif
