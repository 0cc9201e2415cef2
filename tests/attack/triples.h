/*
 * triples.h - a matrix as the attack knows it: rows, columns and entries, plain and slow.
 */
#ifndef ATTACK_TRIPLES_H
#define ATTACK_TRIPLES_H

#include "attack.h"
#include "matrix/csr.h"

typedef struct triple {
    int64_t row, col;
    float value;
} triple;

typedef struct triples {
    int64_t rows, cols;
    bool with_values;
    triple *entry; /* from malloc */
    int64_t count, capacity;
} triples;

void triples_add(triples *m, int64_t row, int64_t col, float value);
void triples_free(triples *m);

/* Sorts by row, column and value; equal matrices have equal lists then. */
void triples_sort(triples *m);

/* Notes a finding if A breaks an invariant of csr.h, or claims what a file of `bytes` cannot support. */
void check_invariants(attempt *t, const csr_matrix *A, int64_t bytes);

/* Notes a finding if A is not m, whose entries are sorted on the way. */
void check_equal(attempt *t, const csr_matrix *A, triples *m);

/* Reads a text again, by other code: simple, with no care for speed or messages. False where it makes
 * no sense of it. `format` is "mtx", "edges", "smtx", "blocks" or "graph", whose counts are m->rows and
 * m->count on entry. */
bool reread(const char *format, const bytes *text, triples *m);

#endif
