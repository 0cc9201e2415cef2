/*
 * registry.h - datasets/registry.tsv, the one list of datasets, as the programs see it, followed by
 * the sets that a rule makes (generated_sets.h).
 *
 * datasets/fetch reads the same file for what concerns downloads; its header explains every column.
 */
#ifndef MATRIX_REGISTRY_H
#define MATRIX_REGISTRY_H

#include "matrix/paths.h"
#include "matrix/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct registry_entry {
    const char *name;        /* "arxiv" */
    const char *set;         /* "graphs": a member of set:graphs */
    int64_t rows, cols, nnz; /* exact */
    bool decoded;         /* weights that decoding a token reads once: few columns, cold caches */
    const char *stand_in; /* a generator ("weights:...") or a table's path beside the registry */
} registry_entry;

typedef struct registry {
    registry_entry *entry;        /* in the file's order, then those made by rules */
    size_t count, listed;         /* entries; and how many of them are the file's */
    char *text;                   /* the file, which the names point into */
    struct registry_texts *texts; /* and those of the others */
    char folder[PATH_BYTES];      /* where it lies; empty without a project */
} registry;

/* Reads $SPMM_REGISTRY, or datasets/registry.tsv of the project. Without a project around the
 * program only the generated sets are there. STATUS_DATASET with file and line if it is malformed. */
enum status registry_load(registry *r, error_text *error);
void registry_free(registry *r);

/* NULL if there is no such name. A name of the file hides one that a rule makes. */
const registry_entry *registry_find(const registry *r, const char *name);

#endif
