/*
 * arguments.h - the command line.
 */
#ifndef GAT_ARGUMENTS_H
#define GAT_ARGUMENTS_H

#include "model.h"

#include <stdio.h>

typedef struct arguments {
    const char *dataset, *data_dir,
        *csv_path; /* NULL: the sample, none, none; "-": standard output */
    enum model_kind kind;
    int layers, heads, hidden, features, classes;
    int steps, runs;
    double rate;
    uint64_t seed;
    const char *rival; /* "none"; or "best", "default" and SpMMs by name, with commas */
    bool check_only, help;
    int device;
} arguments;

/* Parses argv. On STATUS_USAGE the message names the word that was wrong. */
enum status arguments_parse(int argc, char **argv, arguments *o, error_text *error);

void arguments_help(FILE *out, const char *program);

#endif
