/*
 * generated_sets.h - the sets of problems that follow a rule, and are therefore not spelled out in
 * datasets/registry.tsv: set:rnn, set:dlmc-like, set:llm, set:sweep, set:cov.
 *
 * Each problem is a registry entry like any other, with a generator as its stand-in: it is found,
 * listed, opened and labelled as one. datasets/README.md says where shapes and row lengths come from.
 */
#ifndef MATRIX_GENERATED_SETS_H
#define MATRIX_GENERATED_SETS_H

#include "matrix/registry.h"

typedef struct generated_set {
    const char *name;    /* "rnn" */
    const char *members; /* how its names are made, for --list */
    const char *widths;  /* the N that belong to it, for people: "32,128" */
    void (*make)(registry *r);
} generated_set;

/* All of them, in the order of --list. */
const generated_set *generated_sets(size_t *count);

/* Rows and columns of the layers of language models on which SpInfer was measured: *count pairs. set:llm is made of them. */
const int (*generated_llm_shapes(size_t *count))[2];

/* Appends the entries of all sets to the registry, which owns their names. STATUS_MEMORY. */
enum status generated_sets_append(registry *r, error_text *error);

#endif
