/*
 * arguments.h - command lines of programs that train: a table of options, their values, and one line for what is wrong.
 */
#ifndef TRAINING_ARGUMENTS_H
#define TRAINING_ARGUMENTS_H

#include "matrix/status.h"

#include <stdbool.h>
#include <stdio.h>

enum argument_kind { ARGUMENT_WHOLE, ARGUMENT_NUMBER, ARGUMENT_TEXT, ARGUMENT_FLAG };

/* An option. Where its value goes: an int, a double, a const char * or a bool. Values stand there as defaults before. */
typedef struct argument {
    const char *name; /* "batch" */
    enum argument_kind kind;
    void *to;
    double least, most;        /* of numbers */
    const char *letter, *help; /* "N", "columns of a step" */
    const char *const *words;  /* of a text: the only ones, ended by NULL; NULL: any */
} argument;

/* Reads argv[1] and on. *positional gets the word without a dash, or stays as it is; NULL: there is none.
 * STATUS_USAGE, with the nearest option's name. */
enum status arguments_read(int argc, char **argv, const argument *table, int count,
                           const char **positional, error_text *error);

/* Prints a line for each option, with its default. */
void arguments_print(FILE *out, const argument *table, int count);

#endif
