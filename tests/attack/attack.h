/*
 * attack.h - the standing attack: classes of random tries, and what they share.
 *
 * A try draws all its choices from a seed that the run's seed, the class and its number make, so that
 * these three reproduce it. It works in a folder of its own, which is kept if it finds something. A
 * try that crashes, or that a sanitizer ends, is a finding, too: the driver (main.c) runs tries in
 * children.
 */
#ifndef ATTACK_H
#define ATTACK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct attempt {
    uint64_t seed, draws; /* the stream of choices, and how many were made */
    char folder[160];     /* empty at first */
    char finding[1500];   /* what was found; empty: nothing */
} attempt;

typedef struct attack {
    const char *name;
    const char *what; /* for people */
    void (*run)(attempt *t);
    int share; /* of the time of a run, beside the other shares */
    int quick; /* tries of a short run */
} attack;

extern const attack attack_readers, attack_recipes, attack_options, attack_tables, attack_soak,
    attack_starved, attack_killed;

/* Where the programs under attack lie ("build/simt"), as an absolute path. */
extern const char *attack_programs;

/* Draws a whole number of 0 .. below - 1. */
uint64_t draw(attempt *t, uint64_t below);
/* Draws an element of an array. */
#define PICK(t, list) ((list)[draw(t, sizeof(list) / sizeof *(list))])
/* Draws true once in n. */
bool once_in(attempt *t, uint64_t n);

/* Notes a finding; the first one of a try counts. */
void found(attempt *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- texts and files (bytes.c) --------------------------------------------------------------- */

typedef struct bytes {
    char *at; /* from malloc, with a NUL behind the last */
    size_t count;
} bytes;

/* The path of `name` in the try's folder; valid until the fourth call after this one. */
const char *attempt_path(const attempt *t, const char *name);
void write_file(const attempt *t, const char *name, const bytes *b);
bytes read_file(const char *path);

/* Changes the text in 1 to 4 places, at random: bits, letters, numbers, lines; cut or doubled. */
void mutate(attempt *t, bytes *b);

/* Packs by gzip, in 1 to 3 members. */
bytes pack_gzip(attempt *t, const bytes *b);

#endif
