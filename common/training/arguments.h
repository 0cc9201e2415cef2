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

/* Options that all programs have: `to` is where the value goes. */
#define ARGUMENT_SEED(to, what)                                    \
    {                                                              \
        "seed", ARGUMENT_WHOLE, to, 0, 2147483647, "S", what, NULL \
    }
#define ARGUMENT_CHECK_ONLY(to, what)                           \
    {                                                           \
        "check-only", ARGUMENT_FLAG, to, 0, 0, NULL, what, NULL \
    }
#define ARGUMENT_CSV(to, what)                                                        \
    {                                                                                 \
        "csv", ARGUMENT_TEXT, to, 0, 0, "FILE", what " (- for standard output)", NULL \
    }
#define ARGUMENT_DATA_DIR(to)                                    \
    {                                                            \
        "data-dir", ARGUMENT_TEXT, to, 0, 0, "DIR",              \
            "look for datasets here before $SPMM_DATA_DIR", NULL \
    }
#define ARGUMENT_DEVICE(to)                                                  \
    {                                                                        \
        "device", ARGUMENT_WHOLE, to, 0, 1023, "I", "use GPU number I", NULL \
    }
#define ARGUMENT_HELP(to)                                             \
    {                                                                 \
        "help", ARGUMENT_FLAG, to, 0, 0, NULL, "show this text", NULL \
    }

/* Reads argv[1] and on. *positional gets the word without a dash, or stays as it is; NULL: there is none.
 * STATUS_USAGE, with the nearest option's name. */
enum status arguments_read(int argc, char **argv, const argument *table, int count,
                           const char **positional, error_text *error);

/* Prints a line for each option, with its default. */
void arguments_print(FILE *out, const argument *table, int count);

#endif
